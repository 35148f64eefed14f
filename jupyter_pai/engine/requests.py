"""What is asked of the engine in one call: to submit, or to look at what would be submitted."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, RootModel, ValidationError

from ..core.errors import SpecError
from ..core.field_errors import validation_errors
from ..core.i18n import _
from ..jobs import names as job_name
from ..jobs.job import Job, JobStatus
from ..jobs.spec import JobSpec, parse_spec
from ..source.hyperparameters import Hyperparameter

__all__ = [
    "Adopt",
    "DataCopy",
    "DataMove",
    "DataPlace",
    "Download",
    "Labels",
    "PlatformBoardRequest",
    "Preview",
    "Prune",
    "Rerun",
    "SubmitRequest",
    "Submitted",
    "TensorBoardRequest",
    "TutorialPlace",
    "Upload",
    "parse",
    "submit_request",
]

M = TypeVar("M", bound=BaseModel)
# Jobs that one TensorBoard shows.
_MOST_JOBS = 20


class SubmitRequest(BaseModel):
    """A spec, and what is not part of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    spec: JobSpec
    backend: str = Field("", description="Use this backend's default profile.")
    python: str = Field("", description="The interpreter of the kernel or command line that submits.")
    key: str = Field("", max_length=200, description="A submit that is repeated with the same key makes no second job.")
    attach: bool = Field(False, description="Attach to a job of the same spec that runs or has succeeded.")
    confirmed: bool = Field(False, description="The user knows what it costs; else that is asked about first.")
    script_if_needed: bool = Field(
        False,
        description="Where the platform runs no notebooks, cell by cell, the code goes as a plain script.",
    )
    staged: str = Field("", max_length=200, description="The id of the transfer that staged the inputs, if any.")
    notebook: str = Field(
        "",
        max_length=4096,
        description="The notebook that submits: its absolute path, or its path below the folder that JupyterLab shows.",
    )

    @property
    def attach_key(self) -> str:
        """What makes two submits of a cell the same: all of the spec but the name, which has the time in it."""
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

    key: str = Field("", max_length=200, description="A rerun that is repeated with the same key makes no second job.")
    changes: dict[str, Any] = Field({}, description="What is not as it was: a part of a spec.")
    backend: str = Field("", description="Use this backend's default profile.")
    resume: bool = Field(False, description="The job's checkpoints become the input channel `checkpoints`.")
    confirmed: bool = Field(False, description="The user knows what it costs; else that is asked about first.")


def _check_label(name: str) -> str:
    if not name.strip() or "=" in name or not name.isprintable():
        raise ValueError(_("a label needs a name, without `=` and control characters."))
    return name


class Labels(RootModel[dict[Annotated[str, Field(max_length=200), AfterValidator(_check_label)], str | None]]):
    """Labels to give a job: name to value; null takes one away."""

    model_config = ConfigDict(frozen=True)


class Prune(BaseModel):
    """Which jobs that have ended may go: those that meet all of these, and are neither pinned nor in use."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    older_than: float | None = Field(None, ge=0, description="Ended longer ago than so many seconds.")
    larger_than: int | None = Field(None, ge=0, description="Takes more than so many bytes.")
    keep: int | None = Field(None, ge=0, description="Of those, pass over so many of the newest.")
    status: tuple[JobStatus, ...] = Field((), description="Has one of these statuses.")
    labels: dict[str, str] = Field({}, description="Has these labels.")
    environments: bool = Field(False, description="Environments too, all that are not in use.")
    dry_run: bool = Field(False, description="Only tell what would go.")
    only_jobs: tuple[str, ...] | None = Field(None, description="Of the jobs that may go, only these.")
    only_environments: tuple[str, ...] | None = Field(None, description="Of the environments, only these.")


class Download(BaseModel):
    """Copy files of an output channel."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    channel: str = "model"
    folder: str = Field(
        description="An absolute path on the machine of the engine, or one below the folder that JupyterLab shows."
    )
    files: list[str] | None = Field(None, description="Only these, by their paths in the channel.")
    overwrite: bool = Field(False, description="Replace files that are there.")


class DataCopy(BaseModel):
    """Copy files between a storage and a place on the machine of the engine."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    uri: str = Field(min_length=1, max_length=4096, description="A file, or a folder if it ends with a slash.")
    path: str = Field(
        max_length=4096,
        description="What is put, or the folder for what is got: an absolute path, or one below the folder that "
        "JupyterLab shows.",
    )
    name: str = Field(
        "", max_length=1024, description="What is put has this name in the folder `uri`, as it is called; a folder too."
    )
    overwrite: bool = Field(False, description="Replace files that are there.")
    profile: str = Field("", description="The profile whose account is used; else the first that has one for it.")


class DataPlace(BaseModel):
    """A folder to make: that of the URI, or one at a path below it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    uri: str = Field(min_length=1, max_length=4096)
    path: str = Field("", max_length=4096, description="Below the URI, as it is called: not spelt as in URIs.")
    profile: str = Field("", description="The profile whose account is used; else the first that has one for it.")


class DataMove(BaseModel):
    """A file or folder that is to be called otherwise, or lie elsewhere in its storage."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    uri: str = Field(min_length=1, max_length=4096, description="A file, or a folder if it ends with a slash.")
    name: str = Field("", max_length=1024, description="Its new name, in the folder where it is.")
    to: str = Field(
        "", max_length=4096, description="Or its new URI; of the folder for a file, if it ends with a slash."
    )
    profile: str = Field("", description="The profile whose account is used; else the first that has one for it.")


class Upload(BaseModel):
    """A file of a browser's that is to be sent piece by piece."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    uri: str = Field(min_length=1, max_length=4096, description="The folder for it.")
    path: str = Field(min_length=1, max_length=4096, description="Its path in that, as it is called.")
    bytes: int = Field(ge=0, lt=1 << 62, description="How many it has.")
    modified: float = Field(0.0, ge=0, lt=1 << 40, description="When it was written, in seconds since 1970.")
    overwrite: bool = Field(False, description="Replace a file that is there.")
    profile: str = Field("", description="The profile whose account is used; else the first that has one for it.")


class Adopt(BaseModel):
    """A job of a platform that is to be followed here from now on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    remote_id: str = Field(min_length=1, max_length=200, description="The platform's name for it.")
    profile: str = Field("", description="The profile whose account has it; the default one if empty.")
    backend: str = Field("", description="Or this backend's default profile.")


class Submitted(BaseModel):
    """The answer to a submit. `attached`: the job was there before; `changed` names files that changed since."""

    job: Job
    attached: bool = False
    changed: tuple[str, ...] = ()


class Preview(BaseModel):
    """What would be submitted and packed. A platform is asked only for what it has to settle: the instance type of a
    job that names sizes, the price of a spot machine."""

    spec: JobSpec
    backend: str
    profile: str
    command: str
    python: str
    notes: tuple[str, ...]
    questions: tuple[str, ...] = Field((), description="What is to be confirmed before it is submitted: what it costs.")
    cost: str = Field(
        "",
        description="On which machines it runs, what they cost and for how long; empty where nothing is to be paid. "
        "Where that is to be confirmed, it is one of the questions.",
    )
    hyperparameters: tuple[Hyperparameter, ...] = Field(description="Those that the code declares.")
    files: int
    bytes: int
    biggest: list[dict[str, Any]] = Field(description="The largest files: path and bytes.")
    left_out: list[dict[str, str]] = Field(description="What is not taken along: path and why.")
    leaks: list[dict[str, Any]] | None = Field(
        None,
        description="What looks like a key and goes along: path, line, cell (of a notebook, else 0), kind, and what "
        "that is in words. Null where nobody looked.",
    )


def parse(model: type[M], body: object) -> M:
    """A request's body as what it is to be.

    Raises:
        SpecError: naming each field that is wrong.
    """
    try:
        return model.model_validate(body)
    except ValidationError as error:
        faults = validation_errors(error, fields=model.model_fields)
        raise SpecError("\n".join(f"{place}: {said}" for place, said in faults.items()), faults=faults) from None


def submit_request(body: object) -> SubmitRequest:
    """The body of a submit. A spec that names its job not, or with an empty text, gets a name.

    Raises:
        SpecError: naming each field that is wrong.
    """
    if isinstance(body, dict) and "spec" in body:
        spec, notebook = body["spec"], body.get("notebook")
        if isinstance(spec, dict) and spec.get("name") in (None, ""):
            spec = spec | {"name": job_name.default_name(spec, notebook if isinstance(notebook, str) else "")}
        body = body | {"spec": parse_spec(spec)}
    return parse(SubmitRequest, body)


class TensorBoardRequest(BaseModel):
    """`jobs` are ids, beginnings of ids, names, or `last`."""

    model_config = ConfigDict(extra="forbid")
    jobs: list[str] = Field(min_length=1, max_length=_MOST_JOBS)


class PlatformBoardRequest(BaseModel):
    """`job` is an id, the beginning of one, a name, or `last`."""

    model_config = ConfigDict(extra="forbid")
    job: str


class TutorialPlace(BaseModel):
    """Where the tutorial notebooks are to go: into a folder of their own in this one."""

    model_config = ConfigDict(extra="forbid")

    folder: str = Field("", max_length=4096, description="Its path below the folder that JupyterLab shows.")
