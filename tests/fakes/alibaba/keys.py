"""Access keys: users, expiry and permissions."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from .clock import Clock

__all__ = ["Key", "Keyring"]

# Actions denied to a role of the workspace, as `service:action`.
_FORBIDDEN = {
    "PAI.WorkspaceOwner": (),
    "PAI.WorkspaceAdmin": (),
    "PAI.AlgoDeveloper": (),
    "PAI.WorkspaceGuest": ("*:Create*", "*:Stop*", "*:Delete*", "*:Update*", "*:Start*", "oss:Put*", "oss:Delete*"),
    "": ("paistudio:*", "dlc:*", "aiworkspace:*"),
}


@dataclass
class Key:
    """An access key; with a token and a time (seconds since 1970) at which it ends, if it is of STS."""

    id: str
    secret: str
    token: str = ""
    expires: float | None = None
    role: str = "PAI.WorkspaceOwner"
    # Patterns of `service:action` that are refused on top of what the role refuses.
    denied: list[str] = field(default_factory=list)
    active: bool = True
    # Secrets never reach the signed-up list of requests.
    user_id: str = "200000000000000001"

    def may(self, action: str) -> bool:
        """Return whether `service:action` is allowed."""
        return not any(fnmatchcase(action, pattern) for pattern in [*_FORBIDDEN[self.role], *self.denied])


class Keyring:
    """All keys there are."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._keys: dict[str, Key] = {}

    def make(self, role: str = "PAI.WorkspaceOwner", denied: list[str] | None = None) -> Key:
        """A key that does not expire."""
        return self._add(Key(f"LTAI5t{secrets.token_hex(9)}", secrets.token_hex(15), role=role, denied=denied or []))

    def sts(self, seconds: float, role: str = "PAI.WorkspaceOwner", denied: list[str] | None = None) -> Key:
        """A key of STS, with its token."""
        token = f"CAIS{secrets.token_urlsafe(48)}+/=="
        end = self._clock.now() + seconds
        key = Key(f"STS.{secrets.token_hex(12)}", secrets.token_hex(22), token, end, role, denied or [])
        return self._add(key)

    def find(self, key_id: str) -> Key | None:
        """The key of an id."""
        return self._keys.get(key_id)

    def expired(self, key: Key) -> bool:
        """Return whether the key has expired."""
        return key.expires is not None and key.expires <= self._clock.now()

    def __iter__(self) -> Iterator[Key]:
        return iter(self._keys.values())

    def _add(self, key: Key) -> Key:
        self._keys[key.id] = key
        return key
