"""Conditions of steps: comparisons of results and literals, with `and`, `or`, `not` and parentheses.

    train.test-accuracy > 0.90 and not (train.metrics.loss >= 1 or prepare.kind == 'empty')

No Python is evaluated. A name may contain `-` and `.`, so an operator has blanks around it.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from ...core.errors import SpecError
from ...core.i18n import _
from .references import CHANNEL, Reference

__all__ = ["Condition", "parse_condition"]

_OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
_TOKEN = re.compile(r"\s*('[^']*'|\"[^\"]*\"|[()]|[^\s()'\"]+|['\"])")
# Parentheses and `not` within each other. A deeper condition would exceed Python's stack.
_DEEPEST = 50

Operand = Reference | float | str


@dataclass(frozen=True)
class Condition:
    """A parsed condition. `evaluate` decides it by the values of its `references`."""

    text: str
    tree: _Node

    @property
    def references(self) -> list[Reference]:
        """The results that the condition compares, in their order, each once."""
        return list(dict.fromkeys(self.tree.references()))

    @property
    def comparison(self) -> tuple[Operand, str, Operand] | None:
        """The sides and the operator of a condition that is one comparison; None for any other."""
        tree = self.tree
        return (tree.left, tree.sign, tree.right) if isinstance(tree, _Comparison) else None

    def evaluate(self, values: Mapping[Reference, str | float]) -> bool:
        """Return whether the condition holds. `values` has the value of every reference: a text is compared as a
        number if it spells one.

        Raises:
            SpecError: if a text is compared with a number, or by another operator than `==` and `!=`.
        """
        return self.tree.evaluate(values)


class _Node:
    def references(self) -> Iterator[Reference]:
        raise NotImplementedError

    def evaluate(self, values: Mapping[Reference, str | float]) -> bool:
        raise NotImplementedError


@dataclass(frozen=True)
class _Comparison(_Node):
    left: Operand
    sign: str
    right: Operand

    def __str__(self) -> str:
        return f"{_shown(self.left)} {self.sign} {_shown(self.right)}"

    def references(self) -> Iterator[Reference]:
        yield from (side for side in (self.left, self.right) if isinstance(side, Reference))

    def evaluate(self, values: Mapping[Reference, str | float]) -> bool:
        left, right = (values[side] if isinstance(side, Reference) else side for side in (self.left, self.right))
        # A quoted literal is a text, also if it spells a number.
        if not any(isinstance(side, str) for side in (self.left, self.right)):
            numbers = _number(left), _number(right)
            if numbers[0] is not None and numbers[1] is not None:
                return _OPERATORS[self.sign](numbers[0], numbers[1])
            if any(isinstance(side, float) for side in (self.left, self.right)):
                text = left if numbers[0] is None else right
                raise _type_error(self, str(text))
        if self.sign not in ("==", "!="):
            raise _order_error(self)
        return (str(left).strip() == str(right).strip()) is (self.sign == "==")


@dataclass(frozen=True)
class _Not(_Node):
    part: _Node

    def references(self) -> Iterator[Reference]:
        yield from self.part.references()

    def evaluate(self, values: Mapping[Reference, str | float]) -> bool:
        return not self.part.evaluate(values)


@dataclass(frozen=True)
class _All(_Node):
    """All parts, or with `any` at least one of them."""

    parts: tuple[_Node, ...]
    any: bool

    def references(self) -> Iterator[Reference]:
        for part in self.parts:
            yield from part.references()

    def evaluate(self, values: Mapping[Reference, str | float]) -> bool:
        return (any if self.any else all)(part.evaluate(values) for part in self.parts)


@cache
def parse_condition(text: str) -> Condition:
    """Parse a condition.

    Raises:
        SpecError: naming the place of the error.
    """
    parser = _Parser(text)
    tree = parser.either(0)
    if word := parser.next:
        raise parser.error(_("unexpected `{word}`").format(word=word))
    return Condition(text, tree)


class _Parser:
    """A recursive descent over the words of a condition."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = [(match[1], match.start(1)) for match in _TOKEN.finditer(text)]
        self.at = 0

    @property
    def next(self) -> str:
        """The next word; empty at the end."""
        return self.words[self.at][0] if self.at < len(self.words) else ""

    def take(self) -> str:
        word = self.next
        self.at += 1
        return word

    def error(self, what: str) -> SpecError:
        place = self.words[self.at][1] + 1 if self.at < len(self.words) else len(self.text) + 1
        return SpecError(
            _("The condition `{text}` is not valid at character {place}: {what}.").format(
                text=self.text, place=place, what=what
            ),
            fix=_("Write STEP.NAME > 0.9, with blanks around the operator. Join comparisons by: and, or, not, ( )."),
        )

    def either(self, depth: int) -> _Node:
        return self._joined("or", depth, lambda: self._joined("and", depth, lambda: self._part(depth), False), True)

    def _joined(self, word: str, depth: int, part: Callable[[], _Node], any_of: bool) -> _Node:
        parts = [part()]
        while self.next == word:
            self.take()
            parts.append(part())
        return parts[0] if len(parts) == 1 else _All(tuple(parts), any_of)

    def _part(self, depth: int) -> _Node:
        if depth > _DEEPEST:
            raise self.error(_("more than {n} nested parentheses").format(n=_DEEPEST))
        if self.next == "not":
            self.take()
            return _Not(self._part(depth + 1))
        if self.next == "(":
            self.take()
            node = self.either(depth + 1)
            if self.next != ")":
                raise self.error(_("`)` is missing"))
            self.take()
            return node
        return self._comparison()

    def _comparison(self) -> _Node:
        left, sign = self._operand(), self.next
        if sign not in _OPERATORS:
            raise self.error(_("expected one of {words}").format(words=" ".join(_OPERATORS)))
        self.take()
        node = _Comparison(left, sign, self._operand())
        if not list(node.references()):
            self.at -= 3
            raise self.error(_("no result of a step is compared"))
        if any(isinstance(side, str) for side in (node.left, node.right)) and sign not in ("==", "!="):
            raise _order_error(node)
        return node

    def _operand(self) -> Operand:
        word = self.next
        if not word or word in "()" or word in _OPERATORS or word in ("and", "or", "not", "'", '"'):
            raise self.error(_("expected a result of a step, a number, or a text in quotes"))
        if word[0] in "'\"":
            self.take()
            return word[1:-1]
        if _NUMBER.fullmatch(word):
            self.take()
            return float(word)
        try:
            reference = Reference.parse(word)
        except SpecError:
            raise self.error(
                _("`{word}` is neither a result of a step, STEP.NAME, nor a number, nor a text in quotes").format(
                    word=word
                )
            ) from None
        if reference.kind == CHANNEL:
            raise self.error(_("`{word}` is a folder, which cannot be compared").format(word=word))
        self.take()
        return reference


def _number(value: str | float) -> float | None:
    """Return a value as a number; None if it is a text that spells none. `nan` and `inf` are numbers."""
    if isinstance(value, float):
        return value
    text = str(value).strip()
    return float(text) if _NUMBER.fullmatch(text) or re.fullmatch(r"[-+]?(nan|inf|infinity)", text.lower()) else None


def _shown(operand: Operand) -> str:
    if isinstance(operand, str):
        return f"'{operand}'"
    return f"{operand:g}" if isinstance(operand, float) else str(operand)


def _order_error(comparison: _Comparison) -> SpecError:
    return SpecError(
        _("The condition `{text}` compares texts, which have no order.").format(text=comparison),
        fix=_("Use == or != for texts."),
    )


def _type_error(comparison: _Comparison, text: str) -> SpecError:
    return SpecError(
        _("The condition `{text}` needs a number, but the value is the text `{value}`.").format(
            text=comparison, value=text[:80]
        ),
        fix=_("Write a number into the output parameter, or compare with a text in quotes."),
    )
