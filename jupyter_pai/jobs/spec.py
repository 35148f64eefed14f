"""`JobSpec`, the request for a job, and its parts."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, ValidationInfo, model_validator

from ..core import contract
from ..core.errors import SpecError
from ..core.field_errors import FieldError, validation_errors
from ..core.i18n import N_, _
from ..core.secret import is_secret_name, is_variable

__all__ = ["SIZE", "STORED", "JobSpec", "MetricDefinition", "Source", "Texts", "Value", "parse_spec"]


# A number of bytes for people, or nothing.
SIZE = r"^(\d+(\.\d+)?\s*([KMGT]i?)?B?)?$"
# The context of a validation of what was checked when it came: it is only read again.
STORED = object()


class Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


class MetricDefinition(Value):
    """A metric to read from the log: `regex` has one capture group, whose match is the value (as on PAI)."""

    name: str = Field(min_length=1, max_length=200, title=N_("Name"), description=N_("What the metric is called."))
    regex: str = Field(
        min_length=1,
        title=N_("Pattern"),
        description=N_("A regular expression; what its one group finds in a line is the value."),
    )


class Source(Value):
    """The code of a job: a folder, and files that are laid into it."""

    folder: str = Field(
        "", title=N_("Folder"), description=N_("Absolute path of the folder to take along; empty for none.")
    )
    files: dict[str, str] = Field(
        {}, title=N_("Further files"), description=N_("Further files, path to text: the script made of a cell.")
    )
    include: tuple[str, ...] = Field(
        (), title=N_("Take only"), description=N_("Take only the files that match one of these globs.")
    )
    exclude: tuple[str, ...] = Field(
        (), title=N_("Leave out"), description=N_("Leave out what matches one of these globs.")
    )
    gitignore: bool = Field(True, title=N_("Honour .gitignore"), description=N_("Honour .gitignore files."))
    allow_secret: tuple[str, ...] = Field(
        (),
        title=N_("Files that may hold keys"),
        description=N_("Files that go along although they hold keys: each by its path in the folder."),
    )

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> Source:
        if info.context is STORED:
            return self
        if self.folder and not Path(self.folder).is_absolute():
            raise FieldError("folder", _("The folder `{folder}` is not an absolute path.").format(folder=self.folder))
        for name in self.files:
            path = Path(name)
            if path.is_absolute() or ".." in path.parts or not path.name or "\0" in name:
                raise FieldError("files", _("`{name}` is not a path inside the folder.").format(name=name))
        return self


def _texts(value: object, info: ValidationInfo) -> object:
    """Hyperparameters and labels from Python: values become text as the contract says, None is left out."""
    if not isinstance(value, dict) or info.context is STORED:
        return value
    pairs = ((str(name), contract.text(item)) for name, item in value.items())
    return {name: text for name, text in pairs if text is not None}


Texts = Annotated[dict[str, str], BeforeValidator(_texts)]


class JobSpec(Value):
    """What the user asks for. Immutable; the same on every backend."""

    name: str = Field(
        min_length=1, max_length=128, title=N_("Name"), description=N_("The job's name; need not be unique.")
    )
    profile: str = Field(
        "", title=N_("Profile"), description=N_("The settings profile to run with; empty for the default one.")
    )
    command: str = Field("", title=N_("Command"), description=N_("What to run, by a shell, in the folder of the code."))
    entry_point: str = Field(
        "", title=N_("Script or notebook"), description=N_("The script or notebook to run when there is no command.")
    )
    source: Source = Field(
        Source(), title=N_("Code"), description=N_("The folder of code, and what of it is taken along.")
    )
    layout: Literal["usercode", "code"] = Field(
        "usercode",
        title=N_("Layout"),
        description=N_("Name of the code folder below /ml: `code` is the layout of PAI's older CustomJob."),
    )
    python: str = Field(
        "",
        title=N_("Interpreter"),
        description=N_("The interpreter: a path, a kernel's or a conda environment's name."),
    )
    requirements: tuple[str, ...] = Field(
        (), title=N_("Packages"), description=N_("Packages to have, beside those of requirements.txt.")
    )
    image: str = Field("", title=N_("Image"), description=N_("The container image, on backends that run containers."))
    instance_type: str = Field("", title=N_("Instance type"), description=N_("The kind of machine."))
    instance_count: int = Field(1, ge=1, le=10_000, title=N_("Instances"), description=N_("How many machines."))
    cpu: float | None = Field(None, gt=0, title=N_("Cores"), description=N_("Cores that are needed."))
    gpu: int | None = Field(None, ge=0, title=N_("GPUs"), description=N_("GPUs that are needed."))
    memory: str = Field("", pattern=SIZE, title=N_("Memory"), description=N_("Memory needed: `16GiB`."))
    hyperparameters: Texts = Field(
        {}, title=N_("Hyperparameters"), description=N_("What the code is told: name to value.")
    )
    inputs: dict[str, str] = Field({}, title=N_("Inputs"), description=N_("Input channels: name to URI or local path."))
    outputs: dict[str, str] = Field(
        {}, title=N_("Outputs"), description=N_("Output channels that go to a place of their own: name to URI.")
    )
    output_path: str = Field(
        "", title=N_("Output folder"), description=N_("Where all output channels go: the URI that becomes /ml/output.")
    )
    environment: dict[str, str] = Field(
        {}, title=N_("Environment variables"), description=N_("Environment variables for the job.")
    )
    secrets: dict[str, str] = Field(
        {},
        title=N_("Secrets"),
        description=N_("Environment variables that hold secrets: name to the name under which the secret is kept."),
    )
    metric_definitions: tuple[MetricDefinition, ...] = Field(
        (), title=N_("Metrics"), description=N_("What is read from the log: each by a pattern with one group.")
    )
    max_run_time: int | None = Field(
        None, gt=0, title=N_("Maximum run time"), description=N_("Seconds after which the job is stopped.")
    )
    labels: Texts = Field({}, title=N_("Labels"), description=N_("To find the job by: name to value."))
    tty: bool = Field(False, title=N_("Terminal"), description=N_("Give the job a terminal."))
    options: dict[str, Any] = Field(
        {}, title=N_("Options of the platform"), description=N_("Options of the backend's own.")
    )

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> JobSpec:
        if info.context is STORED:
            return self
        if re.search(r"[\x00-\x1f\x7f]", self.name) or self.name != self.name.strip():
            raise FieldError("name", _("No control characters, no blanks at the ends."))
        if not self.command.strip() and not self.entry_point:
            raise FieldError("command", _("There is nothing to run: give a command or a script."))
        for name, value in self.hyperparameters.items():
            if bad := contract.check_name(name) or ("NUL" if "\0" in value else None):
                raise FieldError(
                    f"hyperparameters.{name}",
                    _("The hyperparameter `{name}` cannot be passed on: {bad} in it.").format(name=name, bad=bad),
                )
        for field, channel in [*(("inputs", name) for name in self.inputs), *(("outputs", n) for n in self.outputs)]:
            if bad := contract.check_channel(channel):
                raise FieldError(
                    f"{field}.{channel}",
                    _("The channel name `{name}` cannot become a folder: {bad}.").format(name=channel, bad=bad),
                )
            # An empty path would be the folder that the engine happens to run in.
            if not getattr(self, field)[channel].strip():
                raise FieldError(
                    f"{field}.{channel}", _("The channel `{name}` needs a path or a URI.").format(name=channel)
                )
        self._check_outputs()
        for name, value in self.environment.items():
            if not name or "=" in name or "\0" in name + value:
                raise FieldError(
                    f"environment.{name}", _("`{name}` is no name for an environment variable.").format(name=name)
                )
        self._check_secrets()
        twice = [name for name, n in Counter(m.name for m in self.metric_definitions).items() if n > 1]
        if twice:
            raise FieldError("metric_definitions", _("The metric `{name}` is defined twice.").format(name=twice[0]))
        return self

    def _check_secrets(self) -> None:
        """Says nothing of what is no name: who gave the secret itself shall not read it in a message."""
        for variable, name in self.secrets.items():
            if not is_variable(variable):
                raise FieldError(
                    "secrets",
                    _("A secret needs a name for an environment variable: NAME, or VARIABLE=NAME for another one."),
                )
            if not is_secret_name(name):
                raise FieldError(
                    f"secrets.{variable}",
                    _(
                        "What `{name}` asks for is no name of a secret. Keep its value first: %pai secret set NAME"
                    ).format(name=variable),
                )
            if variable in self.environment:
                raise FieldError(
                    f"secrets.{variable}", _("`{name}` is a secret and an environment variable.").format(name=variable)
                )

    def _check_outputs(self) -> None:
        for channel in self.outputs:
            for standard in (*self.channels, *contract.ALIASES, "output_parameters"):
                if channel != standard and channel.upper() == standard.upper():
                    raise FieldError(
                        f"outputs.{channel}",
                        _("The output channel `{name}` would hide `{standard}`.").format(
                            name=channel, standard=standard
                        ),
                    )

    @property
    def is_sized(self) -> bool:
        """Whether it says by sizes which machine it needs. That it needs no GPUs, alone, says too little of that."""
        return bool(self.cpu or self.gpu or self.memory)

    @property
    def runs_notebook(self) -> bool:
        """Whether a notebook is run, cell by cell."""
        return self.entry_point.endswith(".ipynb") and not self.command.strip()

    @property
    def notebook(self) -> str:
        """The path of the notebook that is run, if it is one of the folder of code."""
        if not self.runs_notebook or not self.source.folder or self.entry_point in self.source.files:
            return ""
        return os.path.normpath(os.path.join(os.path.realpath(self.source.folder), self.entry_point))

    @property
    def channels(self) -> tuple[str, ...]:
        """The output channels that the job has anyway."""
        return (*contract.CHANNELS, contract.NOTEBOOK) if self.runs_notebook else contract.CHANNELS

    @property
    def command_line(self) -> str:
        """What a shell is given: the command, or what runs the script, with ``$PAI_USER_ARGS`` put in."""
        if self.command.strip():
            return contract.expand_user_args(self.command, self.hyperparameters)
        return contract.launch_line(self.entry_point, self.hyperparameters)


def parse_spec(value: object) -> JobSpec:
    """The `JobSpec` in a JSON value.

    Raises:
        SpecError: naming each field that is wrong, and the field that was meant by a misspelt one.
    """
    try:
        return JobSpec.model_validate(value)
    except ValidationError as error:
        raise _spec_error(error) from None


def _spec_error(error: ValidationError) -> SpecError:
    faults = validation_errors(error, fields=JobSpec.model_fields)
    lines = [f"{place}: {message}" if place else message for place, message in faults.items()]
    return SpecError("\n".join(lines), fields=list(faults), faults=faults)
