"""The user's secrets, stored in the desktop's keyring, or in a file if there is none, as on servers.

The file lies beside the settings and is readable only by its user. Only names are ever listed; values are read only for
jobs.

Credentials of profiles (`credentials`) are stored the same way under a separate prefix, so that their names do not
collide.
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

SERVICE = "jupyter-pai"
NAME = "jupyter_pai_secrets.json"
# Shorter values cannot be masked, because they occur in ordinary text.
_SHORTEST = 4
# Linux limits an environment variable to 128 KiB.
_LONGEST = 1 << 16
# Separates the prefix from the name. Not allowed in names.
_DOOR = ":"
_changing = threading.Lock()


class SecretStore:
    """The stored secrets. `path` is the file with the names of all secrets, and the values of those outside the
    keyring.

    `room` is the prefix of the names; empty for secrets named by the user.
    """

    def __init__(self, path: Path | None = None, room: str = "") -> None:
        self.path = path or _default()
        self._room = f"{room}{_DOOR}" if room else ""

    def places(self) -> dict[str, str]:
        """Return the location of each secret by name: ``keyring`` or ``file``."""
        in_keyring, in_file = self._read()
        return dict(sorted([(name, "keyring") for name in in_keyring] + [(name, "file") for name in in_file]))

    def keep(self, name: str, secret: Secret) -> None:
        """Store a secret, replacing an earlier one of the same name.

        Raises:
            BadInput: if the name or the value is invalid.
            StateError: if it cannot be stored.
        """
        if not is_secret_name(name):
            raise BadInput(
                _("Invalid name of a secret."),
                fix=_("Use a name such as HF_TOKEN. Enter the value at the prompt: %pai secret set NAME"),
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
        """Delete a secret.

        Raises:
            NotFound: if it does not exist.
        """
        with _changing:
            in_keyring, in_file = self._read()
            if name not in in_keyring and name not in in_file:
                raise NotFound(_("Unknown secret `{name}`.").format(name=name), fix=self._known())
            full = self._room + name
            if name in in_keyring:
                require("keyring", "keyring")
            with _asking(self.path):
                if name in in_keyring and (backend := _keyring()) and backend.get_password(SERVICE, full) is not None:
                    backend.delete_password(SERVICE, full)
            in_file.pop(name, None)
            in_keyring.discard(name)
            self._write(in_keyring, in_file)

    def open(self, names: Mapping[str, str]) -> dict[str, Secret]:
        """Return the secrets of a job by variable. `names` maps variables to names of secrets.

        Raises:
            BadInput: naming a missing secret.
            StateError: if the keyring does not respond.
        """
        in_keyring, in_file = self._read()
        values: dict[str, Secret] = {}
        for variable, name in names.items():
            value = self._from_keyring(name) if name in in_keyring else in_file.get(name)
            if value is None:
                error = BadInput(_("Unknown secret `{name}`.").format(name=name), fix=self._fix(name))
                raise error.at(f"secrets.{variable}")
            values[variable] = Secret(value)
        return values

    def _from_keyring(self, name: str) -> str | None:
        require("keyring", "keyring")  # It was installed when the secret was stored.
        with _asking(self.path):
            backend = _keyring()
            return backend.get_password(SERVICE, self._room + name) if backend else None

    def _fix(self, name: str) -> str:
        if near := get_close_matches(name, self.places(), 1):
            return _("Did you mean `{name}`?").format(name=near[0])
        return _("Store it first: %pai secret set {name}").format(name=name)

    def _known(self) -> str:
        names = ", ".join(f"`{name}`" for name in self.places())
        return _("Known: {names}.").format(names=names) if names else ""

    def _read(self) -> tuple[set[str], dict[str, str]]:
        """Return the names in the keyring, and the values in the file, with this store's prefix."""
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
                content = json.loads(file.read())
            in_keyring, in_file = set(content["keyring"]), dict(content["file"])
        except FileNotFoundError:
            return set(), {}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StateError(
                _("Cannot read the secrets file {path} ({error}).").format(path=self.path, error=type(error).__name__),
                fix=_("Move it away and store the secrets again: %pai secret set NAME"),
            ) from None
        if in_file and mode & 0o077:
            raise StateError(
                _("The secrets file {path} is readable by other users.").format(path=self.path),
                fix=_("Restrict its permissions: chmod 600 {path}").format(path=self.path),
            )
        return in_keyring, in_file

    def _write(self, in_keyring: set[str], in_file: Mapping[str, str]) -> None:
        """Replace the entries with this store's prefix."""
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
            _("The value of `{name}` is too short to be masked in logs.").format(name=name),
            fix=_("Secrets must have at least {n} characters.").format(n=_SHORTEST),
        )
    if "\0" in value or size > _LONGEST:
        raise BadInput(
            _("The value of `{name}` cannot become an environment variable.").format(name=name),
            fix=_("Use text without NUL, of at most {n} bytes.").format(n=_LONGEST),
        )


def _keyring() -> KeyringBackend | None:
    """Return the keyring, or None if it is missing or `keyring` is not installed."""
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
    """Turn errors of a keyring into a StateError without their text, which may quote secrets."""
    try:
        yield
    except PaiError:
        raise
    except Exception as error:
        raise _no_keyring(type(error).__name__, path) from None


def _no_keyring(error: str, path: Path) -> StateError:
    return StateError(
        _("The keyring failed ({error}).").format(error=error),
        fix=_(
            "Unlock it. To store secrets in {path} instead, set "
            "PYTHON_KEYRING_BACKEND=keyring.backends.null.Keyring in the server's environment."
        ).format(path=path),
    )
