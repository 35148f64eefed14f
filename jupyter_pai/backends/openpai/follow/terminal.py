"""A terminal in an instance: SSH to its container, for jobs that run an SSH server."""

from __future__ import annotations

from ....core.errors import NotFound, Refused
from ....core.i18n import _
from ...terminals import TerminalCommand
from .job_documents import JobDocument
from .reporting import Task

__all__ = ["command_of"]


def command_of(task: Task | None, document: JobDocument) -> TerminalCommand:
    """Return the command that opens a terminal in an instance.

    Raises:
        Refused: if the job runs no SSH server.
        NotFound: if the instance does not run.
    """
    if not document.has_ssh:
        raise Refused(
            _("The job runs no SSH server."),
            fix=_("Submit it with --option ssh=true. The portal has your SSH keys."),
        )
    if not (address := task.address("ssh") if task else None):
        raise NotFound(_("The instance does not run."), fix=_("See why it waits in the events of the job."))
    host, port = address
    return TerminalCommand(("ssh", "-p", str(port), f"root@{host}"))
