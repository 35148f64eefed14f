"""Results of steps in Python code: `train.outputs["accuracy"] > 0.9` is a condition."""

from __future__ import annotations

from ...core.i18n import _
from .references import Reference

__all__ = ["ConditionText", "Results", "StepResult"]


class ConditionText:
    """The text of a condition. `&`, `|` and `~` join conditions."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"ConditionText({self.text!r})"

    def __and__(self, other: object) -> ConditionText:
        return ConditionText(f"({self}) and ({other})")

    def __or__(self, other: object) -> ConditionText:
        return ConditionText(f"({self}) or ({other})")

    def __invert__(self) -> ConditionText:
        return ConditionText(f"not ({self})")

    def __bool__(self) -> bool:
        raise TypeError(_("A condition is decided when the workflow runs. Join conditions by &, | and ~."))


class StepResult:
    """An output parameter, a metric or a channel of a step. A comparison is a condition, and `str` is the reference as
    a value of a spec: `{{train.outputs.accuracy}}`."""

    def __init__(self, reference: Reference) -> None:
        self.reference = reference

    def __str__(self) -> str:
        return f"{{{{{self.reference}}}}}"

    def __repr__(self) -> str:
        return f"StepResult({str(self.reference)!r})"

    def _compared(self, sign: str, other: object) -> ConditionText:
        return ConditionText(f"{self.reference} {sign} {_operand(other)}")

    def __lt__(self, other: object) -> ConditionText:
        return self._compared("<", other)

    def __le__(self, other: object) -> ConditionText:
        return self._compared("<=", other)

    def __gt__(self, other: object) -> ConditionText:
        return self._compared(">", other)

    def __ge__(self, other: object) -> ConditionText:
        return self._compared(">=", other)

    def __eq__(self, other: object) -> ConditionText:  # type: ignore[override]  # A comparison is a condition.
        return self._compared("==", other)

    def __ne__(self, other: object) -> ConditionText:  # type: ignore[override]  # As above.
        return self._compared("!=", other)

    __hash__ = None  # type: ignore[assignment]  # Equality is no identity here.


class Results:
    """The results of a step of one kind by their names: `step.outputs["accuracy"]`. `kind` is that of a
    `Reference`."""

    def __init__(self, step: str, kind: str) -> None:
        self.step = step
        self.kind = kind

    def __getitem__(self, name: str) -> StepResult:
        return StepResult(Reference(self.step, self.kind, name))


def _operand(value: object) -> str:
    if isinstance(value, StepResult):
        return str(value.reference)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        text = str(value)
        return f'"{text}"' if "'" in text else f"'{text}'"
    return repr(value)
