"""Audit log: one line of JSON for each submit, rerun, import, stop and delete of a job, and for each change of data,
secrets and credentials.

    {"time": "2026-01-31T09:30:00.123456+00:00", "user": "ada", "hub_user": "ada", "host": "jupyter-ada", "verb":
     "submit", "job": "k3v9q2xa", "name": "train", "backend": "local", "profile": "team", "instance_type": "",
     "count": 1, "result": "ok"}

Lines go through Python's `logging`, to the logger `jupyter_pai.audit`, and to the file that the policy names. They
contain no commands, hyperparameters or environment variables. The engine runs as its user, so a modified engine can
write other lines.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import logging
import os
import pwd
import re
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable

from ..config.policy import Policy
from ..core import host
from ..core.errors import NotAllowed, PaiError
from ..core.i18n import _
from ..jobs.job import Job, now
from ..jobs.spec import JobSpec

logger = logging.getLogger("jupyter_pai.audit")
_USER_INFO = re.compile("://[^/]*@")
# Lines kept in memory while the file cannot be written.
_MOST = 1000
# The longest name of a job, and the longest URI or path, in a line.
_LONGEST = 200
_LONGEST_URI = 1000


class AuditEntry:
    """The fields of one action, filled in as they become known."""

    def __init__(self, verb: str, word: str) -> None:
        self.fields: dict[str, object] = {
            "time": now().isoformat(),
            "user": _user(),
            "hub_user": os.environ.get("JUPYTERHUB_USER", ""),
            "host": host.name(),
            "verb": verb,
            "job": word[:_LONGEST],
            "name": "",
            "backend": "",
            "profile": "",
            "instance_type": "",
            "count": 0,
            "result": "ok",
        }

    def of_spec(self, spec: JobSpec, backend: str = "", profile: str = "") -> None:
        """Add the fields of a request."""
        self.fields |= {
            "name": spec.name,
            "backend": backend,
            "profile": profile or spec.profile,
            "instance_type": spec.instance_type,
            "count": spec.instance_count,
        }

    def of_data(self, uri: str, path: str = "") -> None:
        """Add a URI, without user and password, and a path: the other end of a copy, or the rest of the place."""
        self.fields["uri"] = _USER_INFO.sub("://", uri)[:_LONGEST_URI]
        if path:
            self.fields["path"] = _USER_INFO.sub("://", path)[:_LONGEST_URI]

    def of_job(self, job: Job, result: str = "ok") -> None:
        """Add the fields of the job."""
        self.of_spec(job.spec, job.backend, job.profile)
        self.fields |= {"job": job.id, "result": result}


class Audit:
    """Writes the log of the policy."""

    def __init__(self, policy: Callable[[], Policy]) -> None:
        self._policy = policy
        self._lock = threading.Lock()
        self._waiting: deque[bytes] = deque(maxlen=_MOST)

    @contextlib.asynccontextmanager
    async def entry(self, verb: str, word: str = "", *, starts: bool = False) -> AsyncIterator[AuditEntry]:
        """Write an entry when the block ends, also with an error.

        Raises:
            NotAllowed: if the block `starts` a job, and the policy requires a log that cannot be written.
        """
        entry = AuditEntry(verb, word)
        try:
            policy = self._policy() if starts else None
            if policy and policy.rules.audit_required and (why := await asyncio.to_thread(self.trouble)):
                text = _("The audit log is required, and {file} cannot be written: {error}.")
                raise policy.refusal("audit_required", text.format(file=policy.rules.audit_file, error=why))
            yield entry
        except BaseException as error:
            entry.fields["result"] = error.code if isinstance(error, PaiError) else type(error).__name__
            if isinstance(error, NotAllowed):
                entry.fields["rule"] = error.details.get("rule", "")
            raise
        finally:
            line = json.dumps(entry.fields)
            logger.info("%s", line)
            with contextlib.suppress(PaiError):  # Invalid settings are reported elsewhere.
                if path := self._policy().rules.audit_file:
                    await asyncio.to_thread(self._write, path, line)

    def trouble(self) -> str:
        """Return why the file cannot be written; empty if it can, or there is none. Blocks."""
        try:
            if path := self._policy().rules.audit_file:
                self._flush(path)
        except OSError as error:
            return error.strerror or str(error)
        return ""

    def _write(self, path: str, line: str) -> None:
        with self._lock:
            self._waiting.append(line.encode() + b"\n")
        try:
            self._flush(path)
        except OSError as error:
            logger.warning("%s cannot be written: %s", path, error.strerror or error)

    def _flush(self, path: str) -> None:
        """Append all waiting lines to the file, each in one write. Open it even if there are none.

        Raises:
            OSError: if the file cannot be written; the rest of the lines stay.
        """
        with self._lock:
            # Non-blocking: a pipe may have no reader.
            file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK, 0o600)
            try:
                while self._waiting:
                    line = self._waiting[0]
                    if os.write(file, line) < len(line):
                        self._waiting[0] = b"\n" + line.lstrip(b"\n")  # End the incomplete line.
                        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                    self._waiting.popleft()
            finally:
                os.close(file)


def _user() -> str:
    """Return the system's user. Environment variables are not trusted."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
