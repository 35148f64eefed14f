"""JSON with comments and trailing commas, as Visual Studio Code writes it."""

from __future__ import annotations

import json
import re

from ....core.errors import BadInput
from ....core.i18n import _

__all__ = ["parse_jsonc"]

_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING = re.compile(r'"(?:\\.|[^"\\])*"|,(?=\s*[}\]])', re.DOTALL)


def parse_jsonc(text: str) -> object:
    """Return the value of a text.

    Raises `BadInput` with the line of an error. `details["line"]` has it too.
    """

    def blank(match: re.Match[str]) -> str:
        return match[0] if match[0].startswith('"') else re.sub(r"[^\n]", " ", match[0])

    try:
        return json.loads(_TRAILING.sub(blank, _TOKEN.sub(blank, text.removeprefix("\ufeff"))))
    except json.JSONDecodeError as error:
        message = _("Invalid JSON in line {line}: {reason}").format(line=error.lineno, reason=error.msg)
        raise BadInput(message, fix=_("Check quotes, commas and brackets near this line."), line=error.lineno) from None
    except RecursionError:
        raise BadInput(_("The JSON is nested too deeply."), fix=_("Write the lists on fewer levels.")) from None
