"""Writing a job document as YAML that the server, and `reader`, read back exactly."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping

import yaml

from .scalars import Value, plain

__all__ = ["write"]

# Texts that a literal block keeps: YAML takes some other characters for ends of lines.
_BLOCK = re.compile(r"[^\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]*")


class _Dumper(yaml.SafeDumper):
    """Writes aliases as copies, and indents lists."""

    def ignore_aliases(self, data: object) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None
    if not _BLOCK.fullmatch(text):
        style = '"'
    elif "\n" in text:
        style = "|"
    elif not isinstance(plain(text), str):  # Read as a number, date or boolean without quotes.
        style = "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def write(document: Mapping[str, Value]) -> str:
    """Return a document as YAML, with texts of several lines as literal blocks, and with keys in the given order."""
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=sys.maxsize)
