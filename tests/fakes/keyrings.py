"""Keyrings as a desktop has them, chosen like any other by PYTHON_KEYRING_BACKEND."""

from __future__ import annotations

import json
import os
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked

__all__ = ["Kept", "Locked"]


class Kept(KeyringBackend):
    """Keeps passwords in the file that TEST_KEYRING names."""

    priority = 1

    @property
    def path(self) -> Path:
        return Path(os.environ["TEST_KEYRING"])

    def _all(self) -> dict[str, str]:
        return dict(json.loads(self.path.read_text())) if self.path.exists() else {}

    def get_password(self, service: str, username: str) -> str | None:
        return self._all().get(f"{service} {username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        self.path.write_text(json.dumps(self._all() | {f"{service} {username}": password}))

    def delete_password(self, service: str, username: str) -> None:
        self.path.write_text(json.dumps({k: v for k, v in self._all().items() if k != f"{service} {username}"}))


class Locked(KeyringBackend):
    """A locked keyring, whose errors contain everything."""

    priority = 1

    def get_password(self, service: str, username: str) -> str | None:
        raise KeyringLocked("locked")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise KeyringLocked(f"cannot store {password}")

    def delete_password(self, service: str, username: str) -> None:
        raise KeyringLocked("locked")
