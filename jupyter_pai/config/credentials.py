"""Credentials: what a profile logs in with, where it has some of its own.

They are kept as secrets are (`secret_store`), in a room of their own: in the keyring, or in a file that only its user
can read. The profile names them by the key `own_credentials`, with a reference that is new at each login. So a profile
that is renamed by hand takes them along, one of the same name in another settings file does not find them, and whoever
holds a key need not look whether it has changed. What a platform wants is its backend's `credentials_model`.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from ..core.errors import CredentialsError, NotFound, SpecError
from ..core.field_errors import validation_errors
from ..core.i18n import _
from ..core.secret import Secret
from .secret_store import SecretStore

__all__ = ["Credentials", "StoredCredentials", "own_credentials"]

M = TypeVar("M", bound=BaseModel)
_ROOM = "profile"
# Of a name this long so many letters are shown at either end; of a shorter one, the first two.
_LONG, _SHOWN = 12, 4
_SHORTEST = 3


class StoredCredentials(NamedTuple):
    """Where credentials are kept, ``keyring`` or ``file``, and enough of them to tell them apart: ``LTAI…x3Ve``."""

    place: str
    hint: str


class Credentials:
    """The credentials of all profiles. All methods may block."""

    def __init__(self) -> None:
        self._store = SecretStore(room=_ROOM)

    @property
    def file(self) -> str:
        """The file in which they are kept where there is no keyring."""
        return str(self._store.path)

    def keep(self, model: type[BaseModel], body: object) -> str:
        """Keep new ones; the reference to them.

        Raises:
            SpecError: naming each field that is wrong, without what was given.
            StateError: if keyring or file do not take them.
        """
        _check(model, body)
        reference = _reference(model, body)
        self._store.keep(reference, Secret(json.dumps(body)))
        return reference

    def forget(self, reference: str) -> None:
        """Forget some; nothing happens if they are not kept.

        Raises:
            StateError: if the keyring does not answer.
        """
        try:
            self._store.forget(reference)
        except NotFound:
            pass

    def kept(self) -> dict[str, StoredCredentials]:
        """What is kept, by reference."""
        return {
            reference: StoredCredentials(place, _hint(reference)) for reference, place in self._store.places().items()
        }

    def open(self, reference: str, model: type[M]) -> M:
        """What is kept under a reference.

        Raises:
            CredentialsError: if nothing is, or nothing that the platform can use any more.
            StateError: if the keyring does not answer.
        """
        if reference in self._store.places():
            text = self._store.open({"": reference})[""].open()
            try:
                return _check(model, json.loads(text))
            except (ValueError, SpecError):
                pass
        raise CredentialsError(
            _("The credentials of its own that the profile names (`{name}`) are not kept here.").format(name=reference),
            fix=_("Log in again: %pai profile login NAME"),
        )


def own_credentials(settings: Any, model: type[M]) -> M | None:
    """The credentials of a profile with these settings; None if it has none of its own. For backends, each time that
    they log in. May block.

    Raises:
        CredentialsError: if it names some that are not kept here.
        StateError: if the keyring does not answer.
    """
    reference = getattr(settings, "own_credentials", "")
    return Credentials().open(reference, model) if reference else None


def _check(model: type[M], body: object) -> M:
    try:
        return model.model_validate(body)
    except ValidationError as error:
        found = validation_errors(error, fields=list(model.model_fields))
    said = {field: _masked(fault, body) for field, fault in found.items()}
    text = "\n".join(f"{field}: {fault}" if field else fault for field, fault in said.items())
    raise SpecError(text, faults=said)


def _masked(text: str, body: object) -> str:
    """A fault without what was given: a platform's own check may quote it."""
    values = body.values() if isinstance(body, Mapping) else [body]
    for value in map(str, values):
        text = text.replace(value, str(Secret(value))) if len(value) >= _SHORTEST else text
    return text


def _reference(model: type[BaseModel], body: object) -> str:
    """A new name, which begins with a hint for people: ``LTAI.x3Ve.5f0c2a91``."""
    given = body if isinstance(body, Mapping) else {}
    schema = model.model_json_schema()["properties"]
    names = [name for name, field in schema.items() if field.get("format") != "password"]
    shown = re.sub("[^A-Za-z0-9_-]", "", str(given.get(names[0], ""))) if names else ""
    ends = (shown[:_SHOWN], shown[-_SHOWN:]) if len(shown) >= _LONG else (shown[:2], "")
    return ".".join((*ends, secrets.token_hex(4))).lstrip(".-")


def _hint(reference: str) -> str:
    head, _dot, tail = reference.rpartition(".")[0].partition(".")
    return f"{head}…{tail}" if head else ""
