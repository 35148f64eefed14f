"""Keys of the account: those of users, and temporary ones of STS."""

from __future__ import annotations

import secrets
from collections.abc import Iterable

from ..alibaba.clock import Clock
from ..alibaba.keys import Key

__all__ = ["APP_ID", "Keys", "OWNER", "SUB_USER"]

OWNER, SUB_USER, APP_ID = "100000000001", "100000000002", "1250000000"


class Keys:
    """All keys there are. `denied` are patterns of `service:Action` that a key is refused."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._keys: dict[str, Key] = {}

    def make(self, denied: Iterable[str] = (), user: str = SUB_USER) -> Key:
        """Return a new key that does not expire."""
        return self.add(Key(f"AKID{secrets.token_hex(16)}", secrets.token_hex(16), denied=[*denied], user_id=user))

    def sts(self, seconds: float, denied: Iterable[str] = (), user: str = SUB_USER) -> Key:
        """Return a new key with a token, which ends after some seconds."""
        made = (f"AKID{secrets.token_urlsafe(42)}", secrets.token_hex(22), secrets.token_urlsafe(120))
        return self.add(Key(*made, expires=self._clock.now() + seconds, denied=[*denied], user_id=user))

    def add(self, key: Key) -> Key:
        """Make a key valid."""
        self._keys[key.id] = key
        return key

    def find(self, key_id: str) -> Key | None:
        """Return the key of an id."""
        return self._keys.get(key_id)

    def expired(self, key: Key) -> bool:
        """Return whether a temporary key has ended."""
        return key.expires is not None and key.expires <= self._clock.now()
