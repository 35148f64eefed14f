"""SecretStore: the user's secrets, kept in the keyring of the desktop or, where there is none, in a file of theirs.

Servers have no keyring. There, as other tools do, we keep secrets in a file that only its user can read, beside the
settings, and say so. Values go in, and come out for jobs only: names are all that is ever listed.

What profiles log in with (`credentials`) is kept alike, in a room of its own: no name here is a name there.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import BadInput, NotFound, PaiError, StateError
from ..core.extras import require
from ..core.filesystem import replace_file
from ..core.i18n import _
from ..core.secret import Secret, is_secret_name
from ..jobs.state_dir import state_errors

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

__all__ = ["SecretStore"]

SERVICE = "jupyter-pai"
NAME = "jupyter_pai_secrets.json"
# Shorter ones cannot be masked: they are everywhere.
_SHORTEST = 4
# Linux hands a process no longer variable than 128 KiB.
_LONGEST = 1 << 16
# Between a room and a name. It is in no name, so that rooms are apart.
_DOOR = ":"
_changing = threading.Lock()


class SecretStore:
    """`path` is the file: the names of all secrets, and the values of those that are in no keyring. `room` says which
    of them are meant: without one, those that the user has given names."""

    def __init__(self, path: Path | None = None, room: str = "") -> None:
        self.path = path or _default()
        self._room = f"{room}{_DOOR}" if room else ""

    def places(self) -> dict[str, str]:
        """Where each secret is kept, by name: ``keyring`` or ``file``."""
        in_keyring, in_file = self._read()
        return dict(sorted([(name, "keyring") for name in in_keyring] + [(name, "file") for name in in_file]))

    def keep(self, name: str, secret: Secret) -> None:
        """Keep a secret, in place of an older one of the name.

        Raises:
            BadInput: if the name or the value cannot be one.
            StateError: if the keyring or the file does not take it.
        """
        if not is_secret_name(name):
            raise BadInput(
                _("This is no name for a secret."),
                fix=_("A name is like HF_TOKEN; the value is asked for: %pai secret set NAME"),
            )
        _check_value(name, secret.open())
        with _changing:
            in_keyring, in_file = self._read()
            with _asking(self.path):
                backend = _keyring()
                if backend:
                    backend.set_password(SERVICE, self._room + name, secret.open())
                kept = backend is not None and backend.get_password(SERVICE, self._room + name) == secret.open()
            if backend and not kept:
                raise _no_keyring("NotKept", self.path)
            in_file.pop(name, None)
            in_keyring.discard(name)
            if backend:
                in_keyring.add(name)
            else:
                in_file[name] = secret.open()
            self._write(in_keyring, in_file)

    def forget(self, name: str) -> None:
        """Forget a secret.

        Raises:
            NotFound: if there is none of the name.
        """
        with _changing:
            in_keyring, in_file = self._read()
            if name not in in_keyring and name not in in_file:
                raise NotFound(_("There is no secret `{name}`.").format(name=name), fix=self._known())
            full = self._room + name
            if name in in_keyring:
                require("keyring", "keyring")
            with _asking(self.path):
                if name in in_keyring and (backend := _keyring()) and backend.get_password(SERVICE, full) is not None:
                    backend.delete_password(SERVICE, full)
            in_file.pop(name, None)
            in_keyring.discard(name)
            self._write(in_keyring, in_file)

    def open(self, wanted: Mapping[str, str]) -> dict[str, Secret]:
        """The secrets that a job asks for, by variable; `wanted` has their names.

        Raises:
            BadInput: naming the one that is missing.
            StateError: if the keyring does not answer.
        """
        in_keyring, in_file = self._read()
        found: dict[str, Secret] = {}
        for variable, name in wanted.items():
            value = self._from_keyring(name) if name in in_keyring else in_file.get(name)
            if value is None:
                error = BadInput(_("There is no secret `{name}`.").format(name=name), fix=self._fix(name))
                raise error.at(f"secrets.{variable}")
            found[variable] = Secret(value)
        return found

    def _from_keyring(self, name: str) -> str | None:
        require("keyring", "keyring")  # It was there when the secret was kept.
        with _asking(self.path):
            backend = _keyring()
            return backend.get_password(SERVICE, self._room + name) if backend else None

    def _fix(self, name: str) -> str:
        if near := get_close_matches(name, self.places(), 1):
            return _("Did you mean `{name}`?").format(name=near[0])
        return _("Store it first: %pai secret set {name}").format(name=name)

    def _known(self) -> str:
        names = ", ".join(f"`{name}`" for name in self.places())
        return _("Known are: {names}.").format(names=names) if names else ""

    def _read(self) -> tuple[set[str], dict[str, str]]:
        """The names that are in the keyring, and what is in the file itself, of this room."""
        in_keyring, in_file = self._read_all()
        cut = len(self._room)
        return (
            {name[cut:] for name in in_keyring if self._is_here(name)},
            {name[cut:]: value for name, value in in_file.items() if self._is_here(name)},
        )

    def _is_here(self, name: str) -> bool:
        return name.startswith(self._room) if self._room else _DOOR not in name

    def _read_all(self) -> tuple[set[str], dict[str, str]]:
        try:
            with open(self.path, "rb") as file:
                mode = os.fstat(file.fileno()).st_mode
                said = json.loads(file.read())
            in_keyring, in_file = set(said["keyring"]), dict(said["file"])
        except FileNotFoundError:
            return set(), {}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StateError(
                _("The file of secrets {path} cannot be read ({error}).").format(
                    path=self.path, error=type(error).__name__
                ),
                fix=_("Move it away, and store the secrets again: %pai secret set NAME"),
            ) from None
        if in_file and mode & 0o077:
            raise StateError(
                _("The file of secrets {path} is open to others.").format(path=self.path),
                fix=_("Close it: chmod 600 {path}").format(path=self.path),
            )
        return in_keyring, in_file

    def _write(self, in_keyring: set[str], in_file: Mapping[str, str]) -> None:
        """Put these in the place of what the room has; other rooms stay as they are."""
        others, texts = self._read_all()
        names = {name for name in others if not self._is_here(name)} | {self._room + name for name in in_keyring}
        values = {name: value for name, value in texts.items() if not self._is_here(name)}
        values |= {self._room + name: value for name, value in in_file.items()}
        with state_errors(self.path.parent):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with replace_file(self.path) as target:
                json.dump({"keyring": sorted(names), "file": dict(sorted(values.items()))}, target, indent=1)


def _default() -> Path:
    from jupyter_core.paths import jupyter_config_dir

    return Path(jupyter_config_dir()) / NAME


def _check_value(name: str, value: str) -> None:
    try:
        size = len(value.encode("utf-8"))
    except UnicodeEncodeError:
        size = _LONGEST + 1
    if len(value.strip()) < _SHORTEST:
        raise BadInput(
            _("The value of `{name}` is too short to be kept out of logs.").format(name=name),
            fix=_("A secret has at least {n} characters.").format(n=_SHORTEST),
        )
    if "\0" in value or size > _LONGEST:
        raise BadInput(
            _("The value of `{name}` cannot become an environment variable.").format(name=name),
            fix=_("It is text without NUL, of at most {n} bytes.").format(n=_LONGEST),
        )


def _keyring() -> KeyringBackend | None:
    """The keyring, if this machine has one that works, and what asks it is installed."""
    if find_spec("keyring") is None:
        return None
    import keyring
    from keyring.backends import chainer, fail, null

    backend = keyring.get_keyring()
    if isinstance(backend, (fail.Keyring, null.Keyring)):
        return None
    chained: Any = backend.backends if isinstance(backend, chainer.ChainerBackend) else True
    return backend if chained else None


@contextmanager
def _asking(path: Path) -> Iterator[None]:
    """Each keyring has errors of its own. What they say is not passed on: it may quote what they were given."""
    try:
        yield
    except PaiError:
        raise
    except Exception as error:
        raise _no_keyring(type(error).__name__, path) from None


def _no_keyring(error: str, path: Path) -> StateError:
    return StateError(
        _("The keyring does not work ({error}).").format(error=error),
        fix=_(
            "Unlock it, or do without: with PYTHON_KEYRING_BACKEND=keyring.backends.null.Keyring in the server's "
            "environment, secrets are kept in {path}."
        ).format(path=path),
    )
