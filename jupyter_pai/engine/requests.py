"""What is asked of the engine in one call: to submit, or to look at what would be submitted."""

from __future__ import annotations

import hashlib
import json
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..core.errors import SpecError
from ..core.field_errors import validation_errors
from ..jobs import names as job_name
from ..jobs.job import Job
from ..jobs.spec import JobSpec, parse_spec
from ..source.hyperparameters import Hyperparameter

__all__ = [
    "Preview",
    "Rerun",
    "SubmitRequest",
    "Submitted",
    "parse",
    "submit_request",
]

M = TypeVar("M", bound=BaseModel)


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
