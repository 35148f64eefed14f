"""Auth: how a request says who sends it. Signers are pure: they are given a key and a request, and ask nobody."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...core.secret import Secret

__all__ = ["AccessKey"]


@dataclass(frozen=True)
class AccessKey:
    """A key of a cloud account. `token` comes with one that is lent for some time (STS)."""

    id: str = field(repr=False)
    secret: Secret
    token: Secret | None = None

    def same(self, other: AccessKey) -> bool:
        """Whether this is the other key, and was lent by the same loan."""
        mine, others = ((key.id, key.secret.open(), key.token and key.token.open()) for key in (self, other))
        return mine == others

    def mask(self, text: str) -> str:
        """`text` without what nobody may read. Platforms quote a request that they refuse, with its headers."""
        from urllib.parse import quote

        for secret in filter(None, (self.secret, self.token)):
            for form in (secret.open(), quote(secret.open(), safe=""), quote(secret.open(), safe="~")):
                text = text.replace(form, str(secret)) if form else text
        return text
