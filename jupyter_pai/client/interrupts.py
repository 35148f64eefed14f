"""Interrupts of a submit: the user learns which job was submitted and how to stop it, or that there is none.

The callers raise the interrupt again. Its class stays the same, because Python's exit code depends on it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from ..core.errors import PaiError
from ..core.i18n import _
from . import summary
from .context import current_shell
from .parameters import options_shown, program
from .printing import print_line


def new_key() -> str:
    """Return a random idempotency key for a submit."""
    return os.urandom(16).hex()


def explain_wait(interrupt: KeyboardInterrupt, job: dict[str, Any], stop: str = "") -> None:
    """Print that a job continues although the wait for it was interrupted, and how to stop it.

    `stop` is the command or call that stops the job. Default: that of the caller.
    """
    ended = job["ended_at"] is not None
    _print(interrupt, summary.line(job) if ended else summary.still_running(job, stop or _command("stop", job["id"])))


def explain_submit(interrupt: KeyboardInterrupt, call: Callable[..., Any] | None, key: str) -> None:
    """Cancel the interrupted submit with this key, unless its job is stored, and print the outcome.

    `call` calls a verb of the engine; None before the connection. Does nothing for an interrupt that was explained
    before.
    """
    if "is_explained" in vars(interrupt):
        return
    try:
        job = call("cancel_submit", key=key)["job"] if call else None
    except (PaiError, KeyboardInterrupt):
        text = _("Interrupted. The engine does not respond: the job may have been submitted. To check: {command}")
        _print(interrupt, text.format(command=_command("list")))
        return
    if job:
        explain_wait(interrupt, job)
    else:
        _print(interrupt, _("Interrupted: no job was submitted."))


def explain_run(interrupt: KeyboardInterrupt, run: str, *, embedded: bool = False) -> None:
    """Print that a run of a workflow continues although the wait for it was interrupted, and how to stop it. `run` is
    empty if its start was interrupted. `embedded`: the engine that starts the steps ends with this process."""
    if "is_explained" in vars(interrupt):
        return
    in_python = not options_shown()
    if not run:
        command = "jupyter_pai.list_workflows()" if in_python else f"{program()} workflow list"
        text = _("Interrupted. The workflow may have been started. To check: {command}").format(command=command)
    else:
        command = f'jupyter_pai.get_workflow("{run}").stop()' if in_python else f"{program()} workflow stop {run}"
        text = _("Workflow {run} is still running. To stop it: {command}").format(run=run, command=command)
        if embedded and not current_shell():
            text += "\n" + _("Its next step waits for a Jupyter server, or for: {command}").format(
                command=f"jupyter pai workflow show {run} --wait"
            )
    _print(interrupt, text)


def _command(verb: str, job: str = "") -> str:
    """Return the command of a verb in the language of the caller: Python, a magic, or a command line."""
    if not options_shown():
        return f'jupyter_pai.get_job("{job}").{verb}()' if job else f"jupyter_pai.{verb}_jobs()"
    return f"{program()} {verb} {job}".rstrip()


def _print(interrupt: KeyboardInterrupt, text: str) -> None:
    """Print on standard error: standard output may be JSON. A notebook then shows no internal frames."""
    print_line("\n" + text, sys.stderr)
    sys.stderr.flush()
    vars(interrupt).update(is_explained=True, _render_traceback_=lambda: ["KeyboardInterrupt"])
