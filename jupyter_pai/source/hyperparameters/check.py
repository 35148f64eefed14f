"""What is wrong with the hyperparameters that a program is given, as far as its code tells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches

from ...core.i18n import _
from .model import Hyperparameter, one_line

__all__ = ["questions", "range_words"]

_NUMBERS: dict[str, Callable[[str], object]] = {"int": int, "float": float}
_MOST = 8


def questions(found: Sequence[Hyperparameter], given: Mapping[str, str], *, closed: bool) -> Iterator[str]:
    """A note for each name and value that will end the script with an error.

    `found` is all that is declared, `given` what the script is started with as ``--name value``; `closed` says that it
    takes no names but the declared ones: of a script that does, or may read values in another way, nothing is said.
    """
    if not closed:
        return
    line = [one for one in found if one.origin in ("argparse", "click", "typer")]
    for name, value in given.items():
        meant = [one for one in line if one.form == "option" and name in (one.name, *one.aliases)]
        if meant:
            doubts = [_value(name, value, one) for one in meant]
            if all(doubts):
                yield doubts[0]
        elif not _is_abbreviation(name, line):
            yield _unknown(name, value, line)


def _is_abbreviation(name: str, line: Sequence[Hyperparameter]) -> bool:
    """Whether argparse may take it for the beginning of an option's name."""
    names = (known for one in line if one.origin == "argparse" and one.form == "option" for known in _names(one))
    return any(known.startswith(name) for known in names)


def _names(one: Hyperparameter) -> tuple[str, ...]:
    return (one.name, *one.aliases)


def _value(name: str, value: str, one: Hyperparameter) -> str:
    """What is wrong with a value; empty if nothing is known to be."""
    convert = _NUMBERS.get(one.type, str)
    place = {"name": name, "value": one_line(value), "file": one.file, "line": one.line}
    try:
        read = convert(value)
    except ValueError:
        return _("`{name}`: `{value}` is no {type}, which {file}, line {line}, asks for.").format(
            type=one.type, **place
        )
    if one.choices and one.type in ("str", *_NUMBERS) and read not in list(map(convert, one.choices)):
        return _("`{name}`: `{value}` is none of the choices in {file}, line {line}: {choices}.").format(
            choices=", ".join(one.choices[:_MOST]) + (", …" if len(one.choices) > _MOST else ""), **place
        )
    if one.type in _NUMBERS and not _is_within(float(value), one):
        return _("`{name}`: `{value}` is out of the range in {file}, line {line}: {range}.").format(
            range=range_words(one.minimum, one.maximum), **place
        )
    return ""


def _is_within(value: float, one: Hyperparameter) -> bool:
    is_enough = one.minimum is None or value >= float(one.minimum)
    return is_enough and (one.maximum is None or value <= float(one.maximum))


def range_words(least: str | None, most: str | None) -> str:
    """Which numbers are allowed, for people; empty where all are."""
    if least is not None and most is not None:
        return _("{least} to {most}").format(least=least, most=most)
    if least is not None:
        return _("{least} or more").format(least=least)
    return "" if most is None else _("{most} or less").format(most=most)


def _unknown(name: str, value: str, line: Sequence[Hyperparameter]) -> str:
    """A name that no option has: what comes of it, and what was meant."""
    for one in line:
        if one.form != "option" and name in _names(one):
            return _other_form(name, value, one)
    known = {known for one in line if one.form == "option" for known in _names(one)}
    said = _("No option of the script is called `{name}`, and it will end with an error.").format(name=name)
    twin = next((other for other in sorted(known) if _plain(other) == _plain(name)), None)
    if twin:
        return said + " " + _("It is written `{name}`: `_`, `-` and capitals matter.").format(name=twin)
    if near := get_close_matches(name, sorted(known), 1, 0.5):
        return said + " " + _("Did you mean `{name}`?").format(name=near[0])
    if known:
        return said + " " + _("Known are: {names}.").format(names=", ".join(sorted(known)[:_MOST]))
    return said


def _other_form(name: str, value: str, one: Hyperparameter) -> str:
    place = {"name": name, "file": one.file, "line": one.line}
    if one.form == "flag":
        return _(
            "`{name}` is a flag in {file}, line {line}, and takes no value: `{value}` would be an argument of its own. "
            "Write --{name} into --command instead."
        ).format(value=one_line(value), **place)
    if one.form == "argument":
        return _(
            "`{name}` is an argument without a name in {file}, line {line}: write its value into --command instead."
        ).format(**place)
    return _(
        "`{name}` is called -{name} in {file}, line {line}, and is given as --{name}: write it into --command instead."
    ).format(**place)


def _plain(name: str) -> str:
    return name.replace("-", "_").casefold()
