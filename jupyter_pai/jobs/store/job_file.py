"""The record of a job: the values of its database row, in a file beside its log.

The database is an index of these files. A damaged or missing database is rebuilt from them.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...core.filesystem import replace_file
from ..job import Job
from ..spec import STORED, JobSpec
from ..state_dir import JobFolder

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class JobRecord:
    """A job with its submit key, its attach key, and the ids of the jobs whose files it needs."""

    job: Job
    key: str
    attach_key: str
    uses: tuple[str, ...] = ()

    def write(self, folder: JobFolder) -> None:
        """Replace the record in a job's folder. The spec is in a separate file there."""
        values = {"key": self.key, "attach_key": self.attach_key, "uses": self.uses}
        job = self.job.model_dump(mode="json", exclude={"spec", "name"})
        with replace_file(folder.record) as file:
            file.write(json.dumps(values | {"job": job}))

    @staticmethod
    def read(folder: JobFolder) -> JobRecord:
        """Read the record in a job's folder.

        Raises:
            OSError: if it cannot be read.
            ValueError: if it, or the spec, is incomplete.
        """
        values = json.loads(folder.record.read_text("utf-8"))
        spec = JobSpec.model_validate_json(folder.spec.read_text("utf-8"), context=STORED)
        try:
            job = Job.model_validate(values["job"] | {"spec": spec}, context=STORED)
            return JobRecord(job, values["key"], values["attach_key"], tuple(values["uses"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"{folder.record}: {error!r}") from None


def read_records(jobs: Path) -> Iterator[JobRecord]:
    """Read the records of all jobs that have one, in the order of their submission."""
    records = []
    for path in sorted(jobs.iterdir()) if jobs.is_dir() else ():
        try:
            records.append(JobRecord.read(JobFolder(path)))
        except FileNotFoundError:
            continue  # Its submit was interrupted before the job was stored.
        except (OSError, ValueError) as error:
            _log.error("Cannot add the job in %s to the database: %s", path, error)
    return iter(sorted(records, key=lambda record: record.job.submitted_at))
