"""The bodies of requests to the engine, and the replies to a submit and its preview."""

from __future__ import annotations

import hashlib
import json
import os
import re
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..core.errors import SpecError
from ..core.field_errors import validation_errors
from ..jobs import names as job_name
from ..jobs.job import Job, JobStatus
from ..jobs.limits import MOST_LABELS
from ..jobs.spec import JobSpec, parse_spec

M = TypeVar("M", bound=BaseModel)

# A URI, an absolute path, or the result of a workflow's step.
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|/|\{\{")
_CHANNELS = ("inputs", "outputs")


class SubmitRequest(BaseModel):
    """A spec, and the options of its submit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    spec: JobSpec
    backend: str = Field("", max_length=200, description="Use this backend's default profile.")
    python: str = Field("", description="The Python interpreter of the kernel or command line.")
    key: str = Field("", max_length=200, description="Requests with the same key create one job.")
    attach: bool = Field(False, description="Attach to an existing job of the same spec if it is running or succeeded.")
    confirmed: bool = Field(False, description="The user has confirmed the cost.")
    anyway: bool = Field(False, description="Submit although the script will reject its hyperparameters or arguments.")
    script_if_needed: bool = Field(
        False,
        description="Send the code of a notebook as a script if the platform does not run notebooks.",
    )
    staged: str = Field("", max_length=200, description="The id of the transfer that staged the inputs, if any.")
    notebook: str = Field(
        "",
        max_length=4096,
        description="The notebook that submits: its absolute path, or its path below the folder that JupyterLab shows.",
    )
    form: str = Field(
        "",
        max_length=4096,
        description="The script or folder whose form submits, as the form returned it.",
    )

    @property
    def attach_key(self) -> str:
        """The digest of the spec without its name, which contains the time. Empty without `attach`."""
        if not self.attach:
            return ""
        text = json.dumps(self.spec.model_dump(mode="json", exclude={"name"}), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


class Rerun(BaseModel):
    """A job once more: its spec with `changes`, its code unless `changes` has a source.

    `changes` is a merge patch (RFC 7396): tables are merged by name, null removes a name or resets a field, all else
    replaces.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str = Field("", max_length=200, description="Requests with the same key create one job.")
    changes: dict[str, Any] = Field({}, description="Changes to the spec of the job.")
    backend: str = Field("", max_length=200, description="Use this backend's default profile.")
    resume: bool = Field(False, description="The job's checkpoints become the input channel `checkpoints`.")
    confirmed: bool = Field(False, description="The user has confirmed the cost.")
    anyway: bool = Field(False, description="Submit although the script will reject its hyperparameters or arguments.")


class Prune(BaseModel):
    """Criteria of the jobs to delete. Only jobs that have ended, meet all criteria, and are neither pinned nor in use
    are deleted."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    older_than: float | None = Field(None, ge=0, description="Minimum time since the job's end, in seconds.")
    larger_than: int | None = Field(None, ge=0, description="Size in bytes that the job exceeds.")
    keep: int | None = Field(None, ge=0, description="Number of the newest matching jobs to keep.")
    status: tuple[JobStatus, ...] = Field((), description="Allowed statuses.")
    labels: dict[str, str] = Field({}, max_length=MOST_LABELS, description="Required labels.")
    environments: bool = Field(False, description="Also delete environments that are not in use.")
    dry_run: bool = Field(False, description="Only report candidates; delete nothing.")
    only_jobs: tuple[str, ...] | None = Field(None, description="Restrict the jobs to these.")
    only_environments: tuple[str, ...] | None = Field(None, description="Restrict the environments to these.")

    @property
    def names_jobs(self) -> bool:
        """True if any criterion is set. Without one, no job is deleted."""
        return {self.older_than, self.larger_than, self.keep} != {None} or bool(self.status or self.labels)


class Submitted(BaseModel):
    """The answer to a submit. `attached`: the job was there before."""

    job: Job
    attached: bool = False


def parse(model: type[M], body: object) -> M:
    """Parse the body of a request.

    Raises:
        SpecError: naming each invalid field.
    """
    try:
        return model.model_validate(body)
    except ValidationError as error:
        faults = validation_errors(error, fields=model.model_fields)
        lines = [f"{field}: {message}" if field else message for field, message in faults.items()]
        raise SpecError("\n".join(lines), faults=faults) from None


def submit_request(body: object) -> SubmitRequest:
    """Parse the body of a submit. A spec without a name gets a generated one, and relative paths of inputs and outputs
    start at the folder of the code, as in the form.

    Raises:
        SpecError: naming each invalid field.
    """
    if isinstance(body, dict) and "spec" in body:
        spec, notebook = body["spec"], body.get("notebook")
        if isinstance(spec, dict) and spec.get("name") in (None, ""):
            spec = spec | {"name": job_name.default_name(spec, notebook if isinstance(notebook, str) else "")}
        body = body | {"spec": with_absolute_paths(parse_spec(spec))}
    return parse(SubmitRequest, body)


def with_absolute_paths(spec: JobSpec) -> JobSpec:
    """Return a spec whose relative paths of inputs and outputs start at the folder of its code."""

    def absolute(uri: str) -> str:
        if not uri.strip() or _URI.match(uri) or not spec.source.folder:
            return uri
        path = os.path.normpath(os.path.join(spec.source.folder, os.path.expanduser(uri)))
        return path + "/" * (uri.endswith("/") and path != "/")

    channels = {field: {name: absolute(uri) for name, uri in getattr(spec, field).items()} for field in _CHANNELS}
    return spec.model_copy(update={**channels, "output_path": absolute(spec.output_path)})
