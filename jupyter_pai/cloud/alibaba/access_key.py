"""Access keys for signing requests. Signers are pure functions of a key and a request."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...core.secret import Secret


@dataclass(frozen=True)
class AccessKey:
    """An access key of a cloud account. `token` is set for temporary credentials (STS)."""

    id: str = field(repr=False)
    secret: Secret
    token: Secret | None = None

    def same(self, other: AccessKey) -> bool:
        """Return whether two keys are equal, including their tokens."""
        mine, others = ((key.id, key.secret.open(), key.token and key.token.open()) for key in (self, other))
        return mine == others

    def mask(self, text: str) -> str:
        """Mask the secret parts of the key in `text`. Error responses may quote the headers of a request."""
        from urllib.parse import quote

        for secret in filter(None, (self.secret, self.token)):
            for form in (secret.open(), quote(secret.open(), safe=""), quote(secret.open(), safe="~")):
                text = text.replace(form, str(secret)) if form else text
        return text
