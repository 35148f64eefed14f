"""Users and their tokens: JSON web tokens (HS256), which a list of the server's own can revoke."""

from __future__ import annotations

import hashlib
import hmac
import json
from base64 import b64decode, urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from typing import Any

from ..alibaba.clock import Clock
from ..alibaba.service_errors import Refusal

__all__ = ["Account", "Accounts"]

_LIFE = 7 * 24 * 3600


@dataclass
class Account:
    """A user of the site."""

    name: str
    password: str
    admin: bool
    virtual_clusters: list[str]
    storages: list[str]
    ssh_key: str
    tokens: list[str] = field(default_factory=list)


class Accounts:
    """All users. Tokens are signed with a secret of this server."""

    def __init__(self, clock: Clock, secret: bytes) -> None:
        self._clock, self._secret = clock, secret
        self.users: dict[str, Account] = {}
        self._count = 0

    def login(self, name: str, password: str) -> str:
        """Return a token that lives 7 days. Raises Refusal (400)."""
        account = self.find(name, 400)
        if account.password != password:
            raise Refusal(400, "IncorrectPasswordError", "Password is incorrect.")
        return self.issue(account, application=False)

    def find(self, name: str, status: int = 404) -> Account:
        """Return a user. Raises Refusal."""
        if name not in self.users:
            raise Refusal(status, "NoUserError", f"User {name} is not found.")
        return self.users[name]

    def issue(self, account: Account, application: bool, seconds: float = _LIFE) -> str:
        """Return a new token; an application's never expires."""
        self._count += 1
        now = int(self._clock.now())
        claims: dict[str, Any] = {"username": account.name, "application": application, "jobSpecific": False}
        claims |= {"encodedFrameworkName": "", "iat": now} | ({} if application else {"exp": now + int(seconds)})
        # Two tokens of one second differ, so that one of them can be revoked.
        head = _encoded({"alg": "HS256", "typ": "JWT", "n": self._count})
        token = f"{head}.{_encoded(claims)}"
        token = f"{token}.{self._signature(token)}"
        account.tokens.append(token)
        return token

    def revoke(self, token: str) -> None:
        """Make a token invalid."""
        for account in self.users.values():
            if token in account.tokens:
                account.tokens.remove(token)

    def authenticate(self, header: str) -> tuple[Account, str, dict[str, Any]]:
        """Return user, token and claims, from `Bearer TOKEN` or `Basic USER:TOKEN`. Raises Refusal (401)."""
        kind, _, value = header.partition(" ")
        if not value:
            raise Refusal(401, "UnauthorizedUserError", "Guest is not allowed to do this operation.")
        invalid = Refusal(401, "UnauthorizedUserError", "Your token is invalid.")
        try:
            token = b64decode(value).decode().partition(":")[2] if kind.lower() == "basic" else value.strip()
            head, _, signature = token.rpartition(".")
            payload = head.split(".")[1]
            claims: dict[str, Any] = json.loads(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        except (ValueError, IndexError) as error:
            raise invalid from error
        account = self.users.get(str(claims.get("username")))
        if not hmac.compare_digest(signature.encode(), self._signature(head).encode()) or account is None:
            raise invalid
        if token not in account.tokens or claims.get("exp", self._clock.now() + 1) <= self._clock.now():
            raise invalid
        return account, token, claims

    def _signature(self, text: str) -> str:
        digest = hmac.new(self._secret, text.encode(), hashlib.sha256).digest()
        return urlsafe_b64encode(digest).decode().rstrip("=")


def _encoded(value: dict[str, Any]) -> str:
    return urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")
