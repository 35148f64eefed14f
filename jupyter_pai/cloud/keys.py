"""Access keys of a cloud account, kept for a short time and fetched again when they end or their source changes."""

from __future__ import annotations

import asyncio
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import quote

from ..core.i18n import _
from ..core.secret import Secret

__all__ = ["REUSED_FOR", "AccessKey", "KeyChain", "check_key_text"]

# Seconds for which a key is reused. Shortly before the end of a key, a library sends a request at each call, which
# upload threads would make for each part.
REUSED_FOR = 2.0
_DROPPED_EVERY = 60.0


@dataclass(frozen=True)
class AccessKey:
    """An access key of a cloud account. `token` is set for temporary keys."""

    id: str = field(repr=False)
    secret: Secret
    token: Secret | None = None

    @classmethod
    def of(cls, key_id: str, secret: str, token: str | None = "") -> AccessKey:
        """Return a key of plain texts. `token` is empty for a key that is not temporary."""
        return cls(key_id, Secret(secret), Secret(token) if token else None)

    def same(self, other: AccessKey) -> bool:
        """Return whether two keys are equal, including their tokens."""
        mine, others = ((key.id, key.secret.open(), key.token and key.token.open()) for key in (self, other))
        return mine == others

    def mask(self, text: str) -> str:
        """Mask the secret parts of the key in `text`. Error responses may quote the headers of a request."""
        for secret in filter(None, (self.secret, self.token)):
            for form in (secret.open(), quote(secret.open(), safe=""), quote(secret.open(), safe="~")):
                text = text.replace(form, str(secret)) if form else text
        return text


def check_key_text(text: str) -> None:
    """Check a part of a key that a user typed.

    Raises:
        ValueError: if a header cannot have it.
    """
    if not all("!" <= letter <= "~" for letter in text):
        raise ValueError(_("Keys consist of ASCII letters, digits and punctuation, without spaces."))


class KeyChain(ABC):
    """The sources of the keys of one account. Thread-safe.

    `own` returns a fixed key to use instead of a search. It is called once. A key is reused for `reused_for` seconds.
    """

    def __init__(self, own: Callable[[], AccessKey] | None = None, reused_for: float = REUSED_FOR) -> None:
        self._own = own
        self._reused_for = reused_for
        self._kept: AccessKey | None = None
        self._lock = threading.Lock()
        self._seen: object = None
        self._held: tuple[float, AccessKey] | None = None
        self._dropped = -_DROPPED_EVERY

    def held(self) -> AccessKey | None:
        """Return the cached key if it is still valid. Does not block."""
        if self._own:
            return self._kept
        if given := self.given():
            return given
        held = self._held
        fresh = held and time.monotonic() - held[0] < self._reused_for and self._seen == self.surroundings()
        return held[1] if held and fresh else None

    async def current(self) -> AccessKey:
        """Return a valid key, fetched in a thread. Raises like `now`."""
        held = self.held()
        return held if held else await asyncio.to_thread(self.now)

    def now(self) -> AccessKey:
        """Return a valid key. May block while fetching a new one.

        Raises:
            CredentialsError: if no key is available, or its source fails.
        """
        with self._lock:
            if held := self.held():
                return held
            if self._own:
                self._kept = self._own()
                return self._kept
            surroundings = self.surroundings()
            if self._seen != surroundings:
                self.forget()
                self._held, self._seen = None, surroundings
            key = self.find()
            self._held = time.monotonic(), key
            return key

    def drop(self, key: AccessKey) -> None:
        """Discard a rejected key, so that the next call fetches a new one. Sources of temporary keys are opened again
        at most once a minute; changes of files are detected anyway."""
        with self._lock:
            if self._held and self._held[1].same(key):
                self._held = None
                if key.token and time.monotonic() - self._dropped > _DROPPED_EVERY:
                    self._dropped = time.monotonic()
                    self.forget()

    def given(self) -> AccessKey | None:
        """Return the key that the program has set for all accounts, if any."""
        return None

    @abstractmethod
    def surroundings(self) -> object:
        """Return a snapshot of the variables and files that hold keys. A change triggers a new search."""

    @abstractmethod
    def find(self) -> AccessKey:
        """Search for a key. May block.

        Raises:
            CredentialsError: if no key is available, or its source fails.
        """

    @abstractmethod
    def forget(self) -> None:
        """Close the opened sources, so that the next search opens them again."""
