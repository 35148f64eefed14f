"""Every address of the server needs a login, except one."""

from __future__ import annotations

import inspect
from types import ModuleType

import pytest
from tornado.web import RequestHandler

from jupyter_pai.server import handlers, tensorboard_proxy

METHODS = ("get", "head", "post", "put", "delete", "patch", "options")
# The address where the server proves its identity to its kernels. It takes a random text and returns an HMAC.
WITHOUT_LOGIN = {"ProofHandler.get"}


def methods(module: ModuleType) -> dict[str, bool]:
    """Return the methods of a module's handlers, and whether they need no login."""
    kinds = [kind for _name, kind in inspect.getmembers(module, inspect.isclass) if kind.__module__ == module.__name__]
    return {
        f"{kind.__name__}.{name}": getattr(vars(kind)[name], "__allow_unauthenticated", False)
        for kind in kinds
        if issubclass(kind, RequestHandler)
        for name in METHODS
        if name in vars(kind)
    }


@pytest.mark.parametrize("module", [handlers, tensorboard_proxy])
def test_only_the_proof_needs_no_login(module: ModuleType) -> None:
    found = methods(module)
    assert found
    assert {name for name, is_open in found.items() if is_open} == WITHOUT_LOGIN & found.keys()
