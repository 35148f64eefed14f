"""The access key that a profile stores."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, SecretStr, field_validator

from .keys import check_key_text

__all__ = ["StoredKey"]


class StoredKey(BaseModel):
    """An access key stored for a profile. A subclass has the fields, with the names of its cloud."""

    model_config = ConfigDict(
        defer_build=True, frozen=True, extra="forbid", str_strip_whitespace=True, hide_input_in_errors=True
    )

    @field_validator("*")
    @classmethod
    def _check_letters(cls, value: Any) -> Any:
        check_key_text(value.get_secret_value() if isinstance(value, SecretStr) else value)
        return value
