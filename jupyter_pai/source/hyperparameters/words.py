"""Options that take several words, such as those of argparse with `nargs="+"`, and the faults of their values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ...core.contract import words_of
from ...core.i18n import _, ngettext
from .values import Hyperparameter, names_of, one_line


def nargs_of(scripts: Iterable[Sequence[Hyperparameter]]) -> dict[str, str]:
    """Return the names of the options that take several words in each script that has them, with their number."""
    found: dict[str, set[str]] = {}
    for one in (one for declared in scripts for one in declared):
        for name in names_of(one):
            found.setdefault(name, set()).add(one.nargs if one.form == "option" else "")
    return {name: numbers.pop() for name, numbers in found.items() if len(numbers) == 1 and "" not in numbers}


def fault_of_words(value: str, one: Hyperparameter) -> str:
    """Return the fault of a value as a list of words; empty if it has none."""
    blanks = {"name": one.name, "value": one_line(value), "file": one.place, "line": one.line}
    try:
        n = len(words_of(value, one.nargs))
    except ValueError:
        fault = _("`{name}`: `{value}` is not a list of words ({file}, line {line}).").format(**blanks)
        return fault + " " + _form(one)
    if one.nargs.isdecimal() and n != int(one.nargs):
        fault = ngettext(
            "`{name}` takes {n} word ({file}, line {line}), not: {value}",
            "`{name}` takes {n} words ({file}, line {line}), not: {value}",
            int(one.nargs),
        ).format(n=int(one.nargs), **blanks)
        return fault + " " + _form(one)
    if one.nargs == "+" and not n:
        return _("`{name}` takes at least one word ({file}, line {line}).").format(**blanks) + " " + _form(one)
    return ""


def items_of(value: str, one: Hyperparameter) -> list[tuple[str, Hyperparameter]]:
    """Return each word of a valid value, with an option that takes this word only."""
    return [(word, replace(one, type=one.item, nargs="")) for word in words_of(value, one.nargs)]


def _form(one: Hyperparameter) -> str:
    words = " ".join("ABCDEFGH"[: int(one.nargs)]) if one.nargs.isdecimal() else "A B"
    return _("Separate the words by blanks, or pass a list: {words}").format(words=words)
