"""The official SDK in an environment of its own: it pins numpy below 2, and is imported by no test."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from ..support.own_environments import python_with, run_script
from .alibaba import AccessKey, StandIn

__all__ = ["PYTHON_TOO_NEW", "python_of_alipai", "run_alipai", "session_of"]

PYTHON_TOO_NEW = "alipai is not made for this Python"


def python_of_alipai() -> Path:
    """The interpreter that has alipai. Skips the test where there can be none."""
    if sys.version_info >= (3, 13):
        pytest.skip(PYTHON_TOO_NEW)
    return python_with("alipai")


def session_of(pai: StandIn) -> str:
    """Lines of Python that set up the SDK's session, as `session`: what its documents say, and the way in."""
    values = {name: value for name, value in pai.settings().items() if name != "endpoint"}
    return dedent(f"""
        import os
        from alibabacloud_tea_util.models import RuntimeOptions
        from pai.common.consts import Network
        from pai.session import setup_default_session
        runtime = RuntimeOptions(ca=os.environ["SSL_CERT_FILE"])
        session = setup_default_session(**{values!r}, network=Network.PUBLIC, runtime=runtime)
    """)


def run_alipai(pai: StandIn, script: str, key: AccessKey | None = None, /, **arguments: str) -> dict[str, Any]:
    """Run a script with `session`: see `run_script`. Default: the key of the stand-in."""
    variables = pai.environment(key) | pai.proxy_environment()
    text = session_of(pai) + dedent(script)
    return run_script(python_of_alipai(), text, arguments, pai.folder / "home", **variables)
