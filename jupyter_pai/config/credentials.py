"""Credentials of profiles that have their own.

They are stored like secrets (`secret_store`), under a separate prefix: in the keyring, or in a file readable only by
its user. The key `own_credentials` of a profile holds a reference, new at each login. Therefore a renamed profile keeps
its credentials, a profile of the same name in another settings file does not get them, and cached credentials never
change. The model is the backend's `credentials_model`; what users type is of its `login_model`, if it has one.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, SecretStr, ValidationError
from pydantic_core import to_jsonable_python

from ..core.errors import DAMAGED, CredentialsError, EngineError, NotFound, PaiError, SpecError
from ..core.field_errors import validation_errors
from ..core.i18n import _
from ..core.secret import Secret
from .secret_store import SecretStore

__all__ = ["Credentials", "StoredCredentials", "login_errors", "own_credentials", "parse_login"]

M = TypeVar("M", bound=BaseModel)
_PREFIX = "profile"
# From this length, the first and last letters are shown; of shorter names, the first two letters.
_LONG, _SHOWN = 12, 4
_SHORTEST = 3


class StoredCredentials(NamedTuple):
    """The location of stored credentials, ``keyring`` or ``file``, and a hint to identify them: ``LTAI…x3Ve``."""

    place: str
    hint: str


class Credentials:
    """The credentials of all profiles. All methods may block."""

    def __init__(self) -> None:
        self._store = SecretStore(prefix=_PREFIX)

    @property
    def file(self) -> str:
        """Path of the file used if the keyring is unavailable."""
        return str(self._store.path)

    def keep(self, credentials: BaseModel) -> str:
        """Store new credentials. Returns the reference to them.

        Raises:
            StateError: if they cannot be stored.
        """
        reference = _reference(credentials)
        self._store.keep(reference, Secret(json.dumps(credentials.model_dump(), default=_plain)))
        return reference

    def forget(self, reference: str) -> None:
        """Delete credentials. Does nothing if they do not exist.

        Raises:
            StateError: if the keyring does not respond.
        """
        with suppress(NotFound):
            self._store.forget(reference)

    def kept(self) -> dict[str, StoredCredentials]:
        """Return all stored credentials by reference."""
        stored = {}
        for reference, place in self._store.places().items():
            head, _dot, tail = reference.rpartition(".")[0].partition(".")
            stored[reference] = StoredCredentials(place, f"{head}…{tail}" if head else "")
        return stored

    def open(self, reference: str, model: type[M]) -> M:
        """Return the credentials for a reference.

        Raises:
            CredentialsError: if they do not exist, or are no longer valid for the platform.
            StateError: if the keyring does not respond.
        """
        if reference in self._store.places():
            text = self._store.open({"": reference})[""].open()
            with suppress(SpecError, *DAMAGED):
                return parse_login(model, json.loads(text))
        raise CredentialsError(
            _("The credentials of the profile (`{name}`) are not stored on this machine.").format(name=reference),
            fix=_("Log in again: %pai profile login NAME"),
        )


def own_credentials(settings: Any, model: type[M]) -> M | None:
    """Return the credentials of a profile, or None if it does not have its own. Backends call this at each login. May
    block.

    Raises:
        CredentialsError: if they are not stored on this machine.
        StateError: if the keyring does not respond.
    """
    reference = getattr(settings, "own_credentials", "")
    return Credentials().open(reference, model) if reference else None


def parse_login(model: type[M], body: object) -> M:
    """Parse credentials.

    Raises:
        SpecError: naming each invalid field, without its value.
    """
    try:
        return model.model_validate(body)
    except ValidationError as error:
        messages = validation_errors(error, fields=list(model.model_fields))
    # A platform's validator may quote the values.
    values = [*map(str, body.values() if isinstance(body, Mapping) else [body])]
    faults = {field: _masked(fault, values) for field, fault in messages.items()}
    text = "\n".join(f"{field}: {fault}" if field else fault for field, fault in faults.items())
    raise SpecError(text, faults=faults)


@contextmanager
def login_errors(login: BaseModel) -> Iterator[None]:
    """Mask the passwords of a login in any error raised in the block, because a platform may quote them.

    Raises:
        EngineError: in place of errors of other kinds.
    """
    values = [value.get_secret_value() for value in dict(login).values() if isinstance(value, SecretStr)]
    try:
        yield
    except PaiError as error:
        details = json.loads(_masked(json.dumps(to_jsonable_python(error.details, fallback=str)), values))
        raise type(error)(_masked(error.message, values), fix=_masked(error.fix, values), **details) from None
    except Exception as error:  # A plug-in may raise any error.
        raise EngineError(_masked(f"{type(error).__name__}: {error}", values)) from None


def _masked(text: str, values: Iterable[str]) -> str:
    for value in values:
        text = text.replace(value, str(Secret(value))) if len(value) >= _SHORTEST else text
    return text


def _plain(value: object) -> object:
    """Return a value of a model for JSON, with its secrets."""
    return value.get_secret_value() if isinstance(value, SecretStr) else to_jsonable_python(value)


def _reference(credentials: BaseModel) -> str:
    """Return a new reference that begins with a readable hint: ``LTAI.x3Ve.5f0c2a91``."""
    schema = type(credentials).model_json_schema()["properties"]
    names = [name for name, field in schema.items() if field.get("format") != "password"]
    shown = re.sub("[^A-Za-z0-9_-]", "", str(getattr(credentials, names[0]))) if names else ""
    ends = (shown[:_SHOWN], shown[-_SHOWN:]) if len(shown) >= _LONG else (shown[:2], "")
    return ".".join((*ends, secrets.token_hex(4))).lstrip(".-")
