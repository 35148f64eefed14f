"""Reason and fix of a failed job, from its exit code, the specification of the code and the messages of the runtime.

A code of 220 or more, and a negative one, is the platform's own. Source: `k8s-job-exit-spec` of OpenPAI 1.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ....core.i18n import N_, _, join
from ..names import RETRIED

__all__ = ["STOPPED", "Cause", "cause_of", "command_code", "is_stop", "never_ran", "number"]

STOPPED = -210
"""The code of a job that a user stopped."""

# That of an instance, or of an attempt, that was stopped with its job.
_ENDED = -220
# The first code of a container that is the platform's: the command failed, without a more exact code.
_COMMAND_FAILED = 220
_NO_IMAGE, _NOT_CREATED = 254, range(-1199, -1099)

# What a code means if the reply has no specification of it. The first range that includes the code counts.
_GENERAL = {
    range(-1200, -1199): (
        N_("The container used more memory than it had."),
        N_("Request more memory with --memory, or use less."),
    ),
    _NOT_CREATED: (N_("The cluster could not create a container."), N_("Check the image and the sizes.")),
    range(-1099, -999): (
        N_("The container was lost with its node, or removed for another job."),
        N_("Submit the job again."),
    ),
    range(251, 252): (
        N_("The cluster did not start all instances in time."),
        N_("Request fewer instances or smaller ones, or submit the job again later."),
    ),
    range(253, 254): (N_("A port of the job is in use on its node."), N_("Submit the job again.")),
    range(_NO_IMAGE, _NO_IMAGE + 1): (
        N_("The cluster does not find the image."),
        N_("Check the name of the image, and its registry."),
    ),
    range(220, 257): (N_("The command, or the platform's runtime, failed."), N_("See the log of the job.")),
}


class Cause(NamedTuple):
    """Why a job failed. `is_general`: the fix is one for any failed command."""

    reason: str
    fix: str
    is_general: bool = False


def is_stop(code: int | None) -> bool:
    """Return whether a code is that of a stopped job or instance."""
    return code in (STOPPED, _ENDED)


def never_ran(code: int | None) -> bool:
    """Return whether a code is one of instances that may never have run: stopped, not created, or without image."""
    return is_stop(code) or code == _NO_IMAGE or code in _NOT_CREATED


def command_code(code: int | None, original: int | None = None) -> int | None:
    """Return the exit code of a user's command; None if the platform ended it, or if only the log has the code.

    `original` is the command's code that the runtime reports.
    """
    if code is None or code < 0 or RETRIED in (code, original):
        return None
    if original is not None and 0 <= original < 256:
        return original
    return code if code < _COMMAND_FAILED else None


def cause_of(result: Mapping[str, Any]) -> Cause:
    """Return why a job failed, from the fields `appExit…` of its detail."""
    code = number(result.get("appExitCode"))
    spec, runtime = _mapping(result.get("appExitSpec")), _mapping(_messages(result).get("runtime"))
    errors = _mapping(runtime.get("errorLogs"))
    last = _last_line(errors.get("user")) or _last_line(errors.get("platform"))
    about, fix = _of_spec(code, spec) if spec else _of_code(code)
    if _is_command(code, number(runtime.get("originUserExitCode"))):
        return Cause(last, fix, is_general=True)
    return Cause(join(" ", filter(None, [about, last])), fix)


def _is_command(code: int | None, original: int | None) -> bool:
    """Return whether a command failed by itself: then its log shows why."""
    return code is not None and code > 0 and (bool(original) or code <= _COMMAND_FAILED)


def _messages(result: Mapping[str, Any]) -> Mapping[str, Any]:
    return _mapping(result.get("appExitMessages"))


def _of_spec(code: int | None, spec: Mapping[str, Any]) -> tuple[str, str]:
    """Return reason and fix in the words of the platform."""
    phrase = str(spec.get("phrase") or "")
    mark = ", ".join(filter(None, [phrase, str(code)]))
    solution = spec.get("solution")
    steps = [str(step).strip() for step in solution] if isinstance(solution, list) else [str(solution or "")]
    return f"{str(spec.get('reason') or '').strip()} ({mark})".strip(), " ".join(filter(None, steps))


def _of_code(code: int | None) -> tuple[str, str]:
    text, fix = next((texts for codes, texts in _GENERAL.items() if code in codes), ("", ""))
    about = _(text) if text else _("OpenPAI ended the job.")
    return f"{about} ({code})", _(fix) if fix else _("See the log and the events of the job.")


def _last_line(text: object) -> str:
    """Return the last line with text, such as the message of a traceback."""
    lines = [line.strip() for line in text.splitlines()] if isinstance(text, str) else []
    return next((line for line in reversed(lines) if line), "")


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def number(value: object) -> int | None:
    """Return an integer of a reply, also one written as text; None for other values."""
    if isinstance(value, bool):
        return None
    try:
        return int(str(value))
    except ValueError:
        return None
