"""Statuses of the PAI SDK."""

from __future__ import annotations

__all__ = ["SdkStatus", "status_by"]


class SdkStatus(str):
    """A status by PAI's word. It equals the word of this product, `here`, too."""

    def __new__(cls, word: str, here: str = "") -> SdkStatus:
        status = super().__new__(cls, word)
        status.here = here
        return status

    here: str

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) is True or (not isinstance(other, SdkStatus) and self.here == other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


def status_by(kind: type, here: str, word: str = "") -> SdkStatus:
    """Return a status of this product as one of a class of the SDK: the one by PAI's `word`, if that means the same,
    else the first."""
    known = [one for one in vars(kind).values() if isinstance(one, SdkStatus) and one.here == here]
    return next((one for one in known if str.__eq__(one, word)), known[0] if known else SdkStatus(here, here))
