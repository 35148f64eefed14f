"""`JobSpec`, the request for a job, and its parts."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, model_validator

from ..core import contract
from ..core.errors import SpecError
from ..core.field_errors import FieldError, validation_errors
from ..core.i18n import N_, _
from ..core.secret import is_secret_name, is_variable
from .limits import check_sizes, fault_of_commands
from .values import STORED as STORED, Place, Texts as Texts, Words  # noqa: PLC0414

# A size in bytes with an optional unit, or an empty text.
SIZE = r"^(\d+(\.\d+)?\s*([KMGT]i?)?B?)?$"
# Fields that select the machine of an instance.
RESOURCES = ("instance_type", "cpu", "gpu", "memory")
# Fields that the submit derives from the code. Forms and recipes omit them.
SET_BY_SUBMIT = {"interpreter", "nargs", "script_folder"}


class Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


class MetricDefinition(Value):
    """A metric read from the log. `regex` has one capture group, which matches the value."""

    name: str = Field(min_length=1, max_length=200, title=N_("Name"), description=N_("Name of the metric."))
    regex: str = Field(
        min_length=1,
        title=N_("Pattern"),
        description=N_("A regular expression with one group, which matches the value in a line of the log."),
    )


class Source(Value):
    """The code of a job: a folder, and files added to it."""

    folder: str = Field(
        "", title=N_("Folder"), description=N_("Absolute path of the folder to upload. Empty for none.")
    )
    files: dict[str, str] = Field(
        {}, title=N_("Extra files"), description=N_("Files to add, path to text, such as the script made from a cell.")
    )
    include: tuple[str, ...] = Field(
        (), title=N_("Include only"), description=N_("Globs. If set, only matching files are uploaded.")
    )
    exclude: tuple[str, ...] = Field((), title=N_("Exclude"), description=N_("Globs of files to exclude."))
    gitignore: bool = Field(
        True, title=N_("Respect .gitignore"), description=N_("Exclude files that .gitignore excludes.")
    )
    allow_secret: tuple[str, ...] = Field(
        (),
        title=N_("Allowed files with secrets"),
        description=N_(
            "Files to upload although secrets were detected in them, as paths inside the folder. Also fields of the "
            "job, such as `environment.NAME`."
        ),
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


class Role(Value):
    """One kind of instances of a job, such as its parameter servers. See `JobSpec.by_role` for its empty fields."""

    name: str = Field(
        title=N_("Role"),
        description=N_("Name of the role: letters, digits, `-` and `_`, a letter first."),
    )
    count: int = Field(1, ge=1, le=10_000, title=N_("Instances"), description=N_("Number of instances of the role."))
    command: str = Field("", title=N_("Command"), description=N_("Command of the role. Default: that of the job."))
    image: str = Field("", title=N_("Image"), description=N_("Image of the role. Default: that of the job."))
    instance_type: str = Field(
        "",
        title=N_("Instance type"),
        description=N_("Instance type of the role. Default: instance type and sizes of the job."),
    )
    cpu: float | None = Field(None, gt=0, title=N_("Cores"), description=N_("CPU cores of each instance."))
    gpu: int | None = Field(None, ge=0, title=N_("GPUs"), description=N_("GPUs of each instance."))
    memory: str = Field("", pattern=SIZE, title=N_("Memory"), description=N_("Memory of each instance: `16GiB`."))


class JobSpec(Value):
    """The request for a job: immutable, with the same fields on every backend."""

    name: str = Field(
        min_length=1, max_length=128, title=N_("Name"), description=N_("Name of the job. Need not be unique.")
    )
    profile: str = Field(
        "", title=N_("Profile"), description=N_("Profile of the settings. Empty for the default profile.")
    )
    command: str = Field("", title=N_("Command"), description=N_("Shell command to run in the code folder."))
    entry_point: str = Field(
        "", title=N_("Script or notebook"), description=N_("Script or notebook to run, unless a command is set.")
    )
    interpreter: str = Field(
        "", title=N_("Interpreter of the script"), description=N_("Set by the submit, from its first line.")
    )
    nargs: dict[str, str] = Field(
        {}, title=N_("Options of several words"), description=N_("Set by the submit, by name: the number of words.")
    )
    script_folder: str = Field(
        "", title=N_("Folder of the script"), description=N_("Set by the submit: the folder that it runs in.")
    )
    source: Source = Field(
        Source(), title=N_("Code"), description=N_("Folder of code, with the files to include and exclude.")
    )
    layout: Literal["usercode", "code"] = Field(
        "usercode",
        title=N_("Layout"),
        description=N_("Name of the code folder below /ml: `code` is the layout of the older CustomJob."),
    )
    python: str = Field(
        "",
        title=N_("Interpreter"),
        description=N_("Python interpreter: a path, or the name of a kernel or conda environment."),
    )
    requirements: tuple[str, ...] = Field(
        (), title=N_("Packages"), description=N_("Packages to install in addition to requirements.txt.")
    )
    image: str = Field("", title=N_("Image"), description=N_("Container image, on backends that run containers."))
    instance_type: str = Field("", title=N_("Instance type"), description=N_("Name of the instance type."))
    instance_count: int = Field(1, ge=1, le=10_000, title=N_("Instances"), description=N_("Number of instances."))
    cpu: float | None = Field(None, gt=0, title=N_("Cores"), description=N_("Number of CPU cores required."))
    gpu: int | None = Field(None, ge=0, title=N_("GPUs"), description=N_("Number of GPUs required."))
    memory: str = Field("", pattern=SIZE, title=N_("Memory"), description=N_("Memory required, such as `16GiB`."))
    roles: tuple[Role, ...] = Field(
        (),
        max_length=100,
        title=N_("Roles"),
        description=N_(
            "Kinds of instances, in the order of their ranks. The number of instances is then the sum of their counts."
        ),
    )
    hyperparameters: Texts = Field(
        {}, title=N_("Hyperparameters"), description=N_("Parameters passed to the code: name to value.")
    )
    args: Words = Field(
        (),
        title=N_("Arguments"),
        description=N_(
            "Arguments passed to the script unchanged, after the hyperparameters. A text is split into words."
        ),
    )
    inputs: dict[str, Place] = Field(
        {}, title=N_("Inputs"), description=N_("Input channels: name to URI or local path.")
    )
    outputs: dict[str, Place] = Field(
        {}, title=N_("Outputs"), description=N_("Output channels with their own location: name to URI.")
    )
    output_path: Place = Field(
        "",
        title=N_("Output folder"),
        description=N_(
            "URI of the folder for all other output channels. Each job gets a subfolder, which becomes /ml/output."
        ),
    )
    environment: dict[str, str] = Field(
        {}, title=N_("Environment variables"), description=N_("Environment variables of the job.")
    )
    secrets: dict[str, str] = Field(
        {},
        title=N_("Secrets"),
        description=N_("Environment variables that hold secrets: variable to the name of the stored secret."),
    )
    metric_definitions: tuple[MetricDefinition, ...] = Field(
        (), title=N_("Metrics"), description=N_("Metrics read from the log, each by a pattern with one group.")
    )
    detect_metrics: bool = Field(
        True,
        title=N_("Detect metrics"),
        description=N_("Find metrics and progress in the log without a pattern."),
    )
    max_run_time: int | None = Field(
        None,
        ge=0,
        title=N_("Maximum run time"),
        description=N_(
            "Seconds after which the job is stopped. Default: that of the profile. 0: no limit, unless the profile's "
            "file or the policy sets one."
        ),
    )
    labels: Texts = Field({}, title=N_("Labels"), description=N_("Labels for finding the job: name to value."))
    tty: bool = Field(False, title=N_("Terminal"), description=N_("Run the job in a terminal."))
    options: dict[str, Any] = Field({}, title=N_("Platform options"), description=N_("Options of the backend."))

    @model_validator(mode="before")
    @classmethod
    def _count(cls, value: object) -> object:
        """Set the number of instances of a spec with roles."""
        if not isinstance(value, dict) or not isinstance(value.get("roles"), (list, tuple)) or not value["roles"]:
            return value
        roles = [one if isinstance(one, dict) else getattr(one, "__dict__", {}) for one in value["roles"]]
        counts = [one.get("count", 1) for one in roles]
        fields: dict[str, object] = value
        return {**fields, "instance_count": sum(int(n) for n in counts if str(n).isdecimal()) or 1}

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> JobSpec:
        if info.context is STORED:
            return self
        self._check_names()
        check_sizes(vars(self))
        check_sizes(vars(self.source), "source.")
        self._check_roles()
        has_commands = bool(self.roles) and all(role.command.strip() for role in self.roles)
        if not self.command.strip() and not self.entry_point and not has_commands:
            raise FieldError("command", _("Nothing to run: set a command or a script."))
        for name, value in self.hyperparameters.items():
            if bad := contract.check_name(name) or ("NUL" if "\0" in value else None):
                raise FieldError(
                    f"hyperparameters.{name}",
                    _("Cannot pass the hyperparameter `{name}` to the job: it contains {bad}.").format(
                        name=name, bad=bad
                    ),
                )
        self._check_args()
        for field, channel in [*(("inputs", name) for name in self.inputs), *(("outputs", n) for n in self.outputs)]:
            if bad := contract.check_channel(channel):
                text = _("The channel name `{name}` cannot become a folder: {bad}.")
                raise FieldError(f"{field}.{channel}", text.format(name=channel, bad=bad))
            # An empty path would mean the current folder of the engine.
            if not getattr(self, field)[channel].strip():
                text = _("The channel `{name}` needs a path or a URI.")
                raise FieldError(f"{field}.{channel}", text.format(name=channel))
        self._check_outputs()
        for name, value in self.environment.items():
            if not name or "=" in name or "\0" in name + value:
                text = _("`{name}` is not a valid name for an environment variable.")
                raise FieldError(f"environment.{name}", text.format(name=name))
        _check_unit("memory", self.memory)
        self._check_secrets()
        twice = [name for name, n in Counter(m.name for m in self.metric_definitions).items() if n > 1]
        if twice:
            raise FieldError("metric_definitions", _("The metric `{name}` is defined twice.").format(name=twice[0]))
        return self

    def _check_names(self) -> None:
        metrics = {f"metric_definitions.{n}.name": one.name for n, one in enumerate(self.metric_definitions)}
        for field, name in ({"name": self.name} | metrics).items():
            if bad := contract.misleading(name):
                text = _("must not contain control characters, such as {character}")
                raise FieldError(field, text.format(character=bad))
        if self.name != self.name.strip():
            raise FieldError("name", _("must not begin or end with blanks"))

    def _check_roles(self) -> None:
        twice = [name for name, n in Counter(role.name.lower() for role in self.roles).items() if n > 1]
        if twice:
            raise FieldError("roles", _("The role `{name}` is defined twice.").format(name=twice[0]))
        for number, role in enumerate(self.roles):
            check_sizes(vars(role), f"roles.{number}.")
            if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,62}", role.name):
                text = _("`{name}` is not a name: use letters, digits, `-` and `_`, and begin with a letter.")
                raise FieldError(f"roles.{number}.name", text.format(name=role.name))
            _check_unit(f"roles.{number}.memory", role.memory)

    def _check_args(self) -> None:
        if any("\0" in word for word in self.args):
            raise FieldError("args", _("An argument contains a NUL character."))
        if self.args and self.runs_notebook:
            raise FieldError("args", _("A notebook takes no arguments. Pass hyperparameters instead: --hp NAME=VALUE."))
        passed = contract.count_user_args(self.command)
        times = passed + sum(contract.count_user_args(role.command) for role in self.roles)
        size = len(contract.user_args(self.hyperparameters, self.args, self.nargs))
        if fault := fault_of_commands(max(times, 1) * size):
            raise FieldError("args" if self.args else "hyperparameters", fault)
        if self.args and self.command.strip() and not passed:
            raise FieldError("args", _("The command does not pass on the arguments: add $PAI_USER_ARGS to it."))

    def _check_secrets(self) -> None:
        """Check the names of secrets. Messages do not quote invalid ones, which may be secret values."""
        for variable, name in self.secrets.items():
            if not is_variable(variable):
                raise FieldError(
                    "secrets",
                    _("Invalid variable for a secret: expected NAME, or VARIABLE=NAME for a different variable."),
                )
            if not is_secret_name(name):
                raise FieldError(
                    f"secrets.{variable}",
                    _(
                        "The secret of `{name}` does not have a valid name. Store its value first: %pai secret set NAME"
                    ).format(name=variable),
                )
            if variable in self.environment:
                raise FieldError(
                    f"secrets.{variable}",
                    _("`{name}` is both a secret and an environment variable.").format(name=variable),
                )

    def _check_outputs(self) -> None:
        for channel in self.outputs:
            for standard in (*self.channels, *contract.ALIASES, "output_parameters"):
                if channel != standard and channel.upper() == standard.upper():
                    raise FieldError(
                        f"outputs.{channel}",
                        _("The output channel `{name}` would hide the channel `{standard}`.").format(
                            name=channel, standard=standard
                        ),
                    )

    @property
    def by_role(self) -> dict[str, JobSpec]:
        """The spec of each role, by its name, in the order of the ranks: without roles, with the role's values.

        A role without command or image has that of the spec. A role with none of instance type, cores, GPUs and memory
        has those of the spec. A spec without roles is that of the role `worker`.
        """
        if not self.roles:
            return {"worker": self}
        specs = {}
        for role in self.roles:
            update: dict[str, Any] = {"roles": (), "instance_count": role.count}
            update |= {name: value for name in ("command", "image") if (value := getattr(role, name).strip())}
            if role.instance_type or role.cpu or role.gpu is not None or role.memory:
                update |= {name: getattr(role, name) for name in RESOURCES}
            specs[role.name] = self.model_copy(update=update)
        return specs

    @property
    def instance_names(self) -> list[str]:
        """The names of the instances and of their logs, by rank: `worker-0`, `worker-1`."""
        return [f"{role}-{rank}" for role, spec in self.by_role.items() for rank in range(spec.instance_count)]

    @property
    def is_sized(self) -> bool:
        """True if the spec selects a machine by size. Requesting zero GPUs alone does not."""
        return bool(self.cpu or self.gpu or self.memory)

    @property
    def runs_notebook(self) -> bool:
        """True if the job runs a notebook."""
        return self.entry_point.endswith(".ipynb") and not self.command.strip()

    @property
    def notebook(self) -> str:
        """The absolute path of the notebook to run, or an empty string if it is not a file of the code folder."""
        if not self.runs_notebook or not self.source.folder or self.entry_point in self.source.files:
            return ""
        return os.path.normpath(os.path.join(os.path.realpath(self.source.folder), self.entry_point))

    @property
    def channels(self) -> tuple[str, ...]:
        """The standard output channels of the job. Its own channels replace `files` and `figures`."""
        own = {name.lower() for name in self.outputs}
        more = (contract.FILES, contract.FIGURES, *((contract.NOTEBOOK,) if self.runs_notebook else ()))
        return (*contract.CHANNELS, *(name for name in more if name == contract.NOTEBOOK or name not in own))

    @property
    def command_line(self) -> str:
        """The shell command: the given one with ``$PAI_USER_ARGS`` expanded, or the one that runs the script."""
        if self.command.strip():
            return contract.expand_user_args(self.command, self.hyperparameters, self.args, self.nargs)
        return self.launch_line()

    def launch_line(self, inputs: Mapping[str, str] | None = None, *, by_exec: bool = False) -> str:
        """Return the shell command that runs the script or notebook. `inputs` are passed to it (see `contract`)."""
        fields = (self.entry_point, self.hyperparameters, inputs, self.args, self.interpreter, self.nargs)
        return contract.launch_line(*fields, self.script_folder, by_exec=by_exec)


def _check_unit(field: str, memory: str) -> None:
    text = memory.strip()
    if text.isdecimal():
        raise FieldError(field, _("`{text}` has no unit: write {text}GiB or {text}GB.").format(text=text))


def parse_spec(value: object) -> JobSpec:
    """Validate a JSON value as a `JobSpec`.

    Raises:
        SpecError: naming each invalid field, with a suggestion for an unknown one.
    """
    try:
        return JobSpec.model_validate(value)
    except ValidationError as error:
        faults = validation_errors(error, fields=JobSpec.model_fields)
    lines = [f"{place}: {message}" if place else message for place, message in faults.items()]
    raise SpecError("\n".join(lines), fields=list(faults), faults=faults)
