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

from ..core.errors import DAMAGED, BadInput, NotFound, PaiError, StateError
from ..core.filesystem import replace_file
from ..core.i18n import _
from ..core.plugins import require
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
_SEPARATOR = ":"
_changing = threading.Lock()


class SecretStore:
    """The stored secrets. `path` is the file with the names of all secrets, and the values of those outside the
    keyring.

    `prefix` is the prefix of the names; empty for secrets named by the user.
    """

    def __init__(self, path: Path | None = None, prefix: str = "") -> None:
        from jupyter_core.paths import jupyter_config_dir

        self.path = path or Path(jupyter_config_dir()) / NAME
        self._prefix = f"{prefix}{_SEPARATOR}" if prefix else ""

    def places(self) -> dict[str, str]:
        """Return the location of each secret by name: ``keyring`` or ``file``."""
        return {name: "keyring" if value is None else "file" for name, value in sorted(self._read().items())}

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
            entries = self._read()
            with _keyring_errors(self.path):
                if backend := _keyring():
                    backend.set_password(SERVICE, self._prefix + name, secret.open())
                    if backend.get_password(SERVICE, self._prefix + name) != secret.open():
                        raise _no_keyring("NotKept", self.path)
            entries[name] = None if backend else secret.open()
            self._write(entries)

    def forget(self, name: str) -> None:
        """Delete a secret.

        Raises:
            NotFound: if it does not exist.
        """
        with _changing:
            entries = self._read()
            if name not in entries:
                names = ", ".join(f"`{one}`" for one in sorted(entries))
                fix = _("Known: {names}.").format(names=names) if names else ""
                raise NotFound(_("Unknown secret `{name}`.").format(name=name), fix=fix)
            if entries.pop(name) is None:
                require("keyring", "keyring")
                with _keyring_errors(self.path):
                    backend = _keyring()
                    if backend and backend.get_password(SERVICE, self._prefix + name) is not None:
                        backend.delete_password(SERVICE, self._prefix + name)
            self._write(entries)

    def open(self, names: Mapping[str, str]) -> dict[str, Secret]:
        """Return the secrets of a job by variable. `names` maps variables to names of secrets.

        Raises:
            BadInput: naming a missing secret.
            StateError: if the keyring does not respond.
        """
        entries, values = self._read(), {}
        for variable, name in names.items():
            value = entries.get(name)
            if name in entries and value is None:
                require("keyring", "keyring")  # It was installed when the secret was stored.
                with _keyring_errors(self.path):
                    backend = _keyring()
                    value = backend.get_password(SERVICE, self._prefix + name) if backend else None
            if value is None:
                near = get_close_matches(name, sorted(entries), 1)
                fix = _("Did you mean `{name}`?") if near else _("Store it first: %pai secret set {name}")
                error = BadInput(
                    _("Unknown secret `{name}`.").format(name=name), fix=fix.format(name=near[0] if near else name)
                )
                raise error.at(f"secrets.{variable}")
            values[variable] = Secret(value)
        return values

    def _read(self) -> dict[str, str | None]:
        """Return the entries with this store's prefix: name to value, None for one in the keyring."""
        return {
            name.removeprefix(self._prefix): value for name, value in self._read_all().items() if self._is_here(name)
        }

    def _is_here(self, name: str) -> bool:
        return name.startswith(self._prefix) if self._prefix else _SEPARATOR not in name

    def _read_all(self) -> dict[str, str | None]:
        try:
            with open(self.path, "rb") as file:
                mode = os.fstat(file.fileno()).st_mode
                content = json.loads(file.read())
            entries = {**content["file"], **dict.fromkeys(content["keyring"])}
        except FileNotFoundError:
            return {}
        except DAMAGED as error:
            raise StateError(
                _("Cannot read the secrets file {path} ({error}).").format(path=self.path, error=type(error).__name__),
                fix=_("Move it away and store the secrets again: %pai secret set NAME"),
            ) from None
        if content["file"] and mode & 0o077:
            raise StateError(
                _("The secrets file {path} is readable by other users.").format(path=self.path),
                fix=_("Restrict its permissions: chmod 600 {path}").format(path=self.path),
            )
        return entries

    def _write(self, entries: Mapping[str, str | None]) -> None:
        """Replace the entries with this store's prefix."""
        merged = {name: value for name, value in self._read_all().items() if not self._is_here(name)}
        merged |= {self._prefix + name: value for name, value in entries.items()}
        in_keyring = sorted(name for name, value in merged.items() if value is None)
        in_file = {name: value for name, value in sorted(merged.items()) if value is not None}
        with state_errors(self.path.parent):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with replace_file(self.path) as target:
                json.dump({"keyring": in_keyring, "file": in_file}, target, indent=1)


def _check_value(name: str, value: str) -> None:
    if len(value.strip()) < _SHORTEST:
        raise BadInput(
            _("The value of `{name}` is too short to be masked in logs.").format(name=name),
            fix=_("Secrets must have at least {n} characters.").format(n=_SHORTEST),
        )
    is_text = value == value.encode("utf-8", "replace").decode()
    if "\0" in value or not is_text or len(value.encode()) > _LONGEST:
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
def _keyring_errors(path: Path) -> Iterator[None]:
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
