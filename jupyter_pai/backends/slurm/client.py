"""The commands of Slurm, run here or on a login node by OpenSSH, and the errors for their messages."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...core.errors import (
    BackendError,
    CredentialsError,
    NotFound,
    PaiError,
    PermissionDenied,
    QuotaExceeded,
    Refused,
    ReplyLost,
    Unreachable,
)
from ...core.i18n import _

__all__ = ["Client"]

_TIMEOUT = 60.0
# Variables of this process that the commands get. `sbatch` passes its environment on to the job, so tokens and keys of
# this process must not be among them.
_PASSED = re.compile(r"HOME|LANG|LC_\w+|LOGNAME|PATH|SHELL|TZ|USER|SLURM_CONF|SLURM_CLUSTERS|MODULEPATH|MODULESHOME")
_SSH_PASSED = re.compile(r"SSH_AUTH_SOCK|SSH_AGENT_PID|XDG_RUNTIME_DIR")
# The exit code of OpenSSH for its own errors.
_SSH_FAILED = 255


class Client:
    """The commands of one cluster. An empty `host` is this machine."""

    def __init__(self, host: str = "", control: Path | None = None) -> None:
        self.host = host
        # Folder for the sockets of shared SSH connections.
        self._control = control
        self._user = ""

    async def run(self, *words: str, stdin: Path | None = None, timeout: float = _TIMEOUT) -> str:
        """Run a command and return its output. `stdin` is a file that it reads.

        The command survives the end of this process, so that a submit is not interrupted.

        Raises:
            Unreachable: if the command, the controller or the login node cannot be reached.
            ReplyLost: if it is unknown whether a submit was received.
            PaiError: if Slurm refuses.
        """
        environment = {name: value for name, value in os.environ.items() if self._passes(name)}
        command = self._remote(words) if self.host else words
        file = open(stdin, "rb") if stdin else None
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=file or asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=environment | {"SLURM_TIME_FORMAT": "%s"},
                start_new_session=True,
            )
        except FileNotFoundError:
            raise _missing(command[0], "") from None
        except OSError as error:
            raise Unreachable(_("Cannot run `{command}`: {error}.").format(command=command[0], error=error)) from None
        finally:
            if file:
                file.close()
        try:
            output, errors = await asyncio.wait_for(process.communicate(), timeout)
        except TimeoutError:
            process.kill()
            await process.wait()
            raise _silent(words[0], timeout) from None
        if process.returncode:
            raise self._error(words[0], process.returncode, errors.decode("utf-8", "replace"))
        return output.decode("utf-8", "replace")

    async def user(self) -> str:
        """Return the name of the user who runs the commands."""
        if not self._user:
            self._user = (await self.run("id", "-un")).strip()
        return self._user

    async def json(self, *words: str) -> dict[str, Any]:
        """Run a command with JSON output.

        Raises:
            BackendError: if the output is not JSON, as without the plug-in of Slurm that writes it.
            Unreachable: if the controller does not respond.
        """
        text = await self.run(*words)
        try:
            value = await asyncio.to_thread(json.loads, text)
        except ValueError:
            raise BackendError(
                _("`{command}` does not write JSON.").format(command=" ".join(words)),
                fix=_("Slurm 21.08 or newer is required, with its plug-ins for JSON."),
            ) from None
        reply = value if isinstance(value, dict) else {}
        # `squeue` exits with 0 if the controller does not respond.
        for error in reply.get("errors") or ():
            text = (
                f"{error.get('source', '')}: {error.get('description', '')}" if isinstance(error, dict) else str(error)
            )
            raise _away(text)
        return reply

    def _passes(self, name: str) -> bool:
        return bool(_PASSED.fullmatch(name) or (self.host and _SSH_PASSED.fullmatch(name)))

    def _remote(self, words: Sequence[str]) -> Sequence[str]:
        """Return the command that runs `words` on the login node, over a connection that later ones share."""
        options = ["-o", "BatchMode=yes", "-o", "ConnectTimeout=10"]
        if self._control:
            options += ["-o", "ControlMaster=auto", "-o", f"ControlPath={self._control}/%C", "-o", "ControlPersist=60"]
        return ("ssh", *options, "--", self.host, f"SLURM_TIME_FORMAT=%s {shlex.join(words)}")

    def terminal(self, words: Sequence[str]) -> Sequence[str]:
        """Return a command with a terminal."""
        return ("ssh", "-t", "--", self.host, shlex.join(words)) if self.host else tuple(words)

    def _error(self, command: str, code: int, text: str) -> PaiError:
        # Lines such as `sbatch: error: Batch job submission failed: …`; warnings before them are of no use.
        lines = [re.sub(rf"^{command}: (error: )?", "", line) for line in text.splitlines() if line.strip()]
        message = lines[-1] if lines else _("exit code {code}").format(code=code)
        if self.host and code == _SSH_FAILED and not text.startswith(f"{command}: "):
            return _ssh_error(self.host, message)
        if self.host and code == 127:
            return _missing(command, self.host)
        return _slurm_error(command, message)


def _ssh_error(host: str, message: str) -> PaiError:
    if "Permission denied" in message:
        return CredentialsError(
            _("{host} refuses the login by SSH: {message}").format(host=host, message=message),
            fix=_(
                "Add a key for it to your SSH agent: ssh-add. Check it with: ssh -o BatchMode=yes {host} sinfo"
            ).format(host=host),
        )
    if "Host key verification failed" in message:
        return CredentialsError(
            _("The host key of {host} is not known: {message}").format(host=host, message=message),
            fix=_("Log in once by hand, and compare the key: ssh {host}").format(host=host),
        )
    return Unreachable(
        _("Cannot reach {host} by SSH: {message}").format(host=host, message=message),
        fix=_("Check the `host` of the profile with: ssh {host}").format(host=host),
    )


def _missing(command: str, host: str) -> Unreachable:
    if command == "ssh":
        return Unreachable(
            _("The command `ssh` was not found on this machine."), fix=_("Install the client of OpenSSH.")
        )
    return Unreachable(
        _("The command `{command}` was not found on {host}.").format(command=command, host=host)
        if host
        else _("The command `{command}` was not found on this machine.").format(command=command),
        fix=_("Install the commands of Slurm there, or set the `host` of the profile to a login node of the cluster."),
    )


def _silent(command: str, timeout: float) -> Unreachable:
    kind = ReplyLost if command == "sbatch" else Unreachable
    return kind(
        _("Slurm did not reply to `{command}` within {n:.0f} seconds.").format(command=command, n=timeout),
        fix=_("Check the controller: scontrol ping"),
    )


def _slurm_error(command: str, message: str) -> PaiError:
    """Return the error for a message of Slurm. The texts are those of its `slurm_errno.c`."""
    said = _("Slurm refuses `{command}`: {message}").format(command=command, message=message)
    if "Socket timed out" in message or "Zero Bytes were transmitted" in message:
        lost = ReplyLost if command == "sbatch" else Unreachable
        return lost(said, fix=_("The controller is busy or was restarted. Check it: scontrol ping"))
    if re.search(r"Unable to contact slurm controller|Connection refused|Could not establish a config", message, re.I):
        return _away(message)
    for pattern, kind, fix in _refusals():
        if re.search(pattern, message, re.I):
            return kind(said, fix=fix)
    return Refused(said, fix=_("Check the options of the job and of the profile."))


def _away(message: str) -> Unreachable:
    return Unreachable(
        _("The controller of Slurm does not respond: {message}").format(message=message),
        fix=_("Check it: scontrol ping. Jobs continue without it, and are shown when it is back."),
    )


def _refusals() -> list[tuple[str, type[PaiError], str]]:
    """Return patterns of messages, with the class and the fix of their error."""
    return [
        ("invalid partition", Refused, _("List the partitions: %pai instances")),
        (
            "invalid account",
            Refused,
            _("List your accounts: sacctmgr show assoc user=$USER. Set `account` of the profile or the job."),
        ),
        ("invalid qos", Refused, _("List the values: sacctmgr show qos. Set `qos` of the profile or the job.")),
        (
            "reservation",
            Refused,
            _("List the reservations: scontrol show reservation. Set `reservation` of the profile or the job."),
        ),
        ("feature", Refused, _("List the features of the nodes: sinfo -o '%N %f'. Correct `constraint`.")),
        ("generic resource|gres", Refused, _("List the resources of the nodes: sinfo -o '%N %G'. Correct `gres`.")),
        (
            "node configuration is not available|more processors|memory specification|node count",
            Refused,
            _("Request less, or another partition. List the sizes of the nodes: %pai instances"),
        ),
        ("time limit", Refused, _("Set a shorter --max-run-time, or another partition.")),
        ("violates accounting/qos policy|limit", QuotaExceeded, _("Wait until your other jobs have ended.")),
        ("permission|access denied|not permitted", PermissionDenied, _("Ask the administrators of the cluster.")),
        ("invalid job id", NotFound, _("List the jobs of the cluster: %pai adopt")),
    ]
