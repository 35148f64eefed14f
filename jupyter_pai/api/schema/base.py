"""What all answers have in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

__all__ = ["Reply"]


class Reply(BaseModel):
    """An answer, with these fields and no others."""

    model_config = ConfigDict(extra="forbid")
