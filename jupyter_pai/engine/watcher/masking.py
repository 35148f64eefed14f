"""Masks the secrets of a remote job in all that is fetched from its platform.

The values of the submit count. They are kept in memory only. Another process that continues to watch the job reads the
user's stored secrets, and those of the job file, and compares them with salted digests that the submit wrote into the
job's folder. If a value is missing or has changed, log, events and metrics are not fetched until it is there again.
"""

from __future__ import annotations

import asyncio
import copy
import hashlib
import json
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

from ...backends import load_backends
from ...backends.reports import LogPiece, Report
from ...config.secret_store import SecretStore
from ...core.errors import DAMAGED, BadInput, PaiError
from ...core.filesystem import replace_file
from ...core.i18n import Message, _
from ...core.secret import Secret
from ...core.secret_filter import SecretFilter
from ...jobs.events import PlatformEvent
from ...jobs.job import Job
from ...jobs.state_dir import JobFolder

# The digests detect a changed value. They are slow and short, so that a value cannot be found from its digest.
_ROUNDS, _BYTES = 100_000, 2


def note_secrets(folder: JobFolder, values: Mapping[str, Secret]) -> None:
    """Write the digests of a job's secrets at its submit. Slow."""
    salts = {name: os.urandom(16) for name in values}
    digests = {name: (salt.hex(), _digest(values[name], salt)) for name, salt in salts.items()}
    with replace_file(folder.secrets) as file:
        json.dump(digests, file)


def _digest(value: Secret, salt: bytes) -> str:
    return hashlib.pbkdf2_hmac("sha256", value.open().encode(), salt, _ROUNDS)[:_BYTES].hex()


def of_job_file(job: Job) -> Mapping[str, Secret]:
    """Return the secrets in the job file of a job. May block."""
    backend = load_backends().get(job.backend)
    return backend.job_file_secrets(job.spec) if backend else {}


class JobSecrets:
    """The secrets of one remote job. `names` maps variables to names in `store`; `of_file` returns those of its job
    file; `values` are all of its submit, if this process has submitted it."""

    def __init__(
        self,
        folder: JobFolder,
        names: Mapping[str, str] | None = None,
        store: SecretStore | None = None,
        values: Mapping[str, Secret] | None = None,
        of_file: Callable[[], Mapping[str, Secret]] | None = None,
    ) -> None:
        self.folder = folder
        self.names = names or {}
        self._of_file = of_file
        # The names of those in the job file: only the digests have them.
        self._file_names: Collection[str] = ()
        with suppress(*DAMAGED):  # A damaged file affects its job only.
            self._file_names = self._digests().keys() - self.names.keys() if of_file else ()
        self.store = store or SecretStore()
        self.problem: PaiError | None = None
        self._filter = _filter_of(values) if values else None
        # Stored values that are not those of the submit.
        self._rejected: dict[str, str] = {}

    async def load(self) -> bool:
        """Read the values, if they are needed and not known yet. Return whether everything can be masked; if not,
        `problem` tells why."""
        if self._exist and self._filter is None:
            await asyncio.to_thread(self._load)
        return not self._exist or self._filter is not None

    @property
    def _exist(self) -> bool:
        return bool(self.names or self._file_names or self._filter)

    def _load(self) -> None:
        try:
            of_file = self._of_file() if self._of_file and self._file_names else {}
            values = self.store.open(self.names) | {name: of_file.get(name, Secret("")) for name in self._file_names}
            opened = {variable: value.open() for variable, value in values.items()}
            if opened != self._rejected:
                self._rejected = opened
                self._check(values)
                self._filter, self.problem = _filter_of(values), None
        except PaiError as error:
            self.problem = error

    def _check(self, values: Mapping[str, Secret]) -> None:
        """Raise BadInput if a value is not the one of the submit. An imported job has no digests."""
        digests = self._digests()
        for variable, value in values.items() if digests else ():
            salt, digest = digests[variable]
            if _digest(value, bytes.fromhex(salt)) != digest:
                name = self.names.get(variable, variable)
                fix = _("Store the earlier value again: %pai secret set {name}").format(name=name)
                raise BadInput(
                    _("The secret `{name}` has another value than at the submit.").format(name=name),
                    fix=fix if variable in self.names else _("Write the earlier value into the job file again."),
                )

    def _digests(self) -> dict[str, tuple[str, str]]:
        try:
            return dict(json.loads(self.folder.secrets.read_text("utf-8")))
        except FileNotFoundError:
            return {}

    def new_filter(self) -> SecretFilter | None:
        """Return a filter for one log, after `load`; None for a job without secrets."""
        return copy.copy(self._filter)

    def text(self, text: str) -> str:
        """Return a text of the platform with its secrets masked; an empty one if the values are unknown."""
        if not self._exist:
            return text
        if self._filter is None:
            return ""
        return text.mapped(self._mask) if isinstance(text, Message) else self._mask(text)

    def _mask(self, text: str) -> str:
        secret_filter = self.new_filter()
        assert secret_filter
        if not text.endswith("…"):
            return secret_filter.mask(text)
        # The text may have been shortened within a secret.
        start = secret_filter.feed(text[:-1].encode("utf-8", "surrogatepass"))
        return (start + secret_filter.finish()).decode("utf-8", "surrogatepass") + "…"

    async def report(self, report: Report) -> Report:
        """Return a report with its secrets masked. Without their values, it has no texts of the platform but the
        problem."""
        if not self._exist:
            return report
        await self.load()
        if problem := self.problem:
            text = _("Its log, events and metrics are incomplete, because secrets in them cannot be masked: {error}")
            note = text.format(error=problem.message)
            bare = replace(report, platform_status="", reason="", fix="", notes=(), output_parameters={}, metrics={})
            return replace(bare, notes=(note,)) if report.status.ended else replace(bare, reason=note, fix=problem.fix)
        parameters = {self.text(name): self.text(value) for name, value in report.output_parameters.items()}
        return replace(
            report,
            platform_status=self.text(report.platform_status),
            reason=self.text(report.reason),
            fix=self.text(report.fix),
            notes=tuple(map(self.text, report.notes)),
            output_parameters=parameters,
            metrics={self.text(name): point._replace(name=self.text(name)) for name, point in report.metrics.items()},
        )

    def mask_error(self, error: PaiError) -> None:
        """Mask the texts of an error of the platform in place."""
        error.message, error.fix = self.text(error.message), self.text(error.fix)
        error.args = (error.message,)
        error.details = {name: self._value(value) for name, value in error.details.items()}

    def _value(self, value: object) -> object:
        """Return a JSON value with the secrets in its texts masked."""
        if isinstance(value, dict):
            return {self.text(str(name)): self._value(inner) for name, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self._value(inner) for inner in value]
        return self.text(value) if isinstance(value, str) else value

    def events(self, events: Sequence[PlatformEvent]) -> list[PlatformEvent]:
        """Return events with their secrets masked."""
        return [replace(event, text=self.text(event.text), key=self.text(event.key)) for event in events]


def _filter_of(values: Mapping[str, Secret]) -> SecretFilter:
    return SecretFilter({variable: value.open().encode() for variable, value in values.items()})


class MaskedLog:
    """Masks one log that arrives in pieces, without writing any part of a secret.

    Bytes that may begin a secret are held back in memory until more arrive. `position` is where another process
    continues: the cursor before these bytes, and the number of bytes after it that were masked and returned already.
    """

    def __init__(self, secret_filter: SecretFilter | None, cursor: str = "", skip: int = 0) -> None:
        self.filter = secret_filter
        self.cursor = cursor  # Of the next piece.
        self._skip = skip
        # The cursor and the size of the pieces since the first held byte.
        self._pieces: list[tuple[str, int]] = []

    @property
    def position(self) -> tuple[str, int]:
        """The cursor and the number of bytes to skip after it."""
        held = len(self.filter.held) if self.filter else 0
        if not self._pieces:
            return self.cursor, self._skip
        return self._pieces[0][0], sum(size for _cursor, size in self._pieces) - held

    def feed(self, piece: LogPiece) -> tuple[bytes, list[tuple[int, float]]]:
        """Return the bytes that are certain after a piece, and their times."""
        data, times = b"", list[tuple[int, float]]()
        starts = [*(piece.times or [(0, time.time())]), (len(piece.data), 0.0)]
        for (start, moment), (end, _moment) in pairwise(starts):
            known = min(self._skip, end - start)
            self._skip -= known
            part = piece.data[start + known : end]
            if part := self.filter.feed(part) if self.filter else part:
                times.append((len(data), moment))
                data += part
        self._move(piece)
        return data, times

    def _move(self, piece: LogPiece) -> None:
        self._pieces.append((self.cursor, len(piece.data)))
        self.cursor = piece.cursor
        # Forget the pieces that are completely returned.
        held = len(self.filter.held) if self.filter else 0
        while self._pieces and sum(size for _cursor, size in self._pieces[1:]) >= held:
            del self._pieces[0]

    def finish(self) -> tuple[bytes, list[tuple[int, float]]]:
        """Return the bytes that were held back at the end of the log."""
        data = self.filter.finish() if self.filter else b""
        self._pieces.clear()
        return data, [(0, time.time())]
