"""Types of the values of a spec."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, ValidationInfo

from ..core import contract, file_uri
from ..core.errors import BadInput
from ..core.i18n import _
from ..core.shell_words import shell_words
from .limits import fault_of_text

__all__ = ["STORED", "Place", "Texts", "Words"]

# Validation context for stored values, which were checked when they were submitted.
STORED = object()


def _texts(value: object, info: ValidationInfo) -> object:
    """Convert the values of hyperparameters and labels to text (`contract.text`), and drop None."""
    if not isinstance(value, dict) or info.context is STORED:
        return value
    pairs = ((str(name), contract.text(item)) for name, item in value.items())
    return {name: text for name, text in pairs if text is not None}


Texts = Annotated[dict[str, str], BeforeValidator(_texts)]


def _words(value: object) -> object:
    """Split a text into words as a shell does, and convert numbers in a list to text."""
    if isinstance(value, str):
        if fault := fault_of_text("args", value):
            raise ValueError(fault)
        try:
            return shell_words(value)
        except ValueError as error:
            raise ValueError(_("cannot be split into words: {error}").format(error=error)) from None
    if isinstance(value, (list, tuple)):
        return [str(item) if isinstance(item, (int, float, Path)) else item for item in value]
    return value


Words = Annotated[tuple[str, ...], BeforeValidator(_words)]


def _place(text: str, info: ValidationInfo) -> str:
    """Return a file URI in the form that is checked and opened, and any other text unchanged."""
    try:
        return text if info.context is STORED else file_uri.canonical(text)
    except BadInput as error:
        raise ValueError(str(error)) from None


# A path or a URI.
Place = Annotated[str, AfterValidator(_place)]
