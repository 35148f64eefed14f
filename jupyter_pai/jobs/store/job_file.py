"""The record of a job: all that its row in the database says, in a file beside its log.

The database is an index of these: where it is damaged or gone, it is made anew from them.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...core.filesystem import replacing
from ..job import Job
from ..spec import STORED, JobSpec
from ..state_dir import JobFolder

__all__ = ["Record", "records"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Record:
    """A job with the keys under which it is found again, and the ids of the jobs whose files it needs."""

    job: Job
    key: str
    attach_key: str
    uses: tuple[str, ...] = ()

    def write(self, folder: JobFolder) -> None:
        """Replace the record in a job's folder. The spec has a file of its own there."""
        values = {"key": self.key, "attach_key": self.attach_key, "uses": self.uses}
        job = self.job.model_dump(mode="json", exclude={"spec", "name"})
        with replacing(folder.record) as file:
            file.write(json.dumps(values | {"job": job}))

    @staticmethod
    def read(folder: JobFolder) -> Record:
        """The record in a job's folder.

        Raises:
            OSError: if there is none.
            ValueError: if it, or the spec, is not whole.
        """
        values = json.loads(folder.record.read_text("utf-8"))
        spec = JobSpec.model_validate_json(folder.spec.read_text("utf-8"), context=STORED)
        try:
            job = Job.model_validate(values["job"] | {"spec": spec}, context=STORED)
            return Record(job, values["key"], values["attach_key"], tuple(values["uses"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"{folder.record}: {error!r}") from None


def records(jobs: Path) -> Iterator[Record]:
    """The records of all jobs that have one, in the order in which they were submitted."""
    found = []
    for path in sorted(jobs.iterdir()) if jobs.is_dir() else ():
        try:
            found.append(Record.read(JobFolder(path)))
        except FileNotFoundError:
            continue  # Its submit was cut short before it was stored.
        except (OSError, ValueError) as error:
            _log.error("The job in %s cannot be taken into the database: %s", path, error)
    return iter(sorted(found, key=lambda record: record.job.submitted_at))
