"""PAI-DLC's fields of a spec's `options`. The names are those of the platform's fields in snake case."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from ....config.settings import picked_from
from ....core.errors import SpecError
from ....core.field_errors import FieldError
from ....core.i18n import N_, _
from ....jobs.spec import JobSpec
from ...base import parse_options
from ..options import NodeAssignment, PlatformOptions, Spot, UserVpc, check_channels
from .roles import default_type

__all__ = ["CodeSource", "DataSource", "DlcOptions", "options_of"]


class DataSource(PlatformOptions):
    """A folder or data set that is mounted in each instance, in addition to inputs and outputs."""

    mount_path: str = Field(
        pattern=r"^/.*[^/]",
        title=N_("Folder in the job"),
        description=N_("Absolute path at which it is mounted, such as /mnt/data."),
    )
    uri: str = Field(
        "",
        title=N_("Folder"),
        description=N_("oss://bucket/key/, nas://ID.REGION/path, cpfs://… or bmcpfs://…"),
    )
    data_source_id: str = Field(
        "", title=N_("Data set"), description=N_("Id of a data set of the workspace, instead of a folder.")
    )
    data_source_version: str = Field("", title=N_("Version"), description=N_("Version of the data set."))
    mount_access: Literal["RO", "RW"] = Field(
        "RO", title=N_("Access"), description=N_("RO: read only; RW: read, write.")
    )
    options: str = Field(
        "", title=N_("Mount options"), description=N_("Mount options in the JSON format of data sets.")
    )
    role_arn: str = Field("", title=N_("Role"), description=N_("RAM role for the access."))
    enable_cache: bool = Field(False, title=N_("Cache"), description=N_("Let the platform cache the data."))

    @model_validator(mode="after")
    def _check(self) -> DataSource:
        if bool(self.uri) == bool(self.data_source_id):
            raise FieldError("uri", _("Set either uri or data_source_id."))
        return self


class CodeSource(PlatformOptions):
    """A code repository that is registered in the workspace, in addition to the code of the job."""

    code_source_id: str = Field(
        min_length=1, title=N_("Code source"), description=N_("Id of the code source in the workspace.")
    )
    branch: str = Field("", title=N_("Branch"), description=N_("Branch. Default: that of the code source."))
    commit: str = Field("", title=N_("Commit"), description=N_("Commit. Default: that of the code source."))
    mount_path: str = Field(
        "", title=N_("Folder in the job"), description=N_("Absolute path. Default: that of the code source.")
    )


class DlcOptions(PlatformOptions):
    """Options of a job. `settings`, `credential_config`, `elastic_spec` and `role_fields` are passed to the API
    unchanged."""

    job_type: Literal[
        "",
        "PyTorchJob",
        "TFJob",
        "XGBoostJob",
        "MPIJob",
        "OneFlowJob",
        "ElasticBatchJob",
        "RayJob",
        "SlurmJob",
        "DataJuicerJob",
    ] = Field(
        "",
        title=N_("Framework"),
        description=N_(
            "Type of the job, which has certain roles. Default: TFJob for the roles ps, chief, evaluator; RayJob for "
            "head; otherwise PyTorchJob."
        ),
    )
    resource_id: str = Field(
        "",
        title=N_("Quota"),
        description=N_("Quota for the job, instead of an instance type of the public pool."),
        json_schema_extra=picked_from("quotas"),
    )
    gpu_type: str = Field("", title=N_("GPU type"), description=N_("GPU type as named by the quota."))
    shared_memory: int | None = Field(
        None, gt=0, title=N_("Shared memory"), description=N_("Shared memory of each instance in a quota, in GiB.")
    )
    priority: int | None = Field(
        None, ge=1, le=9, title=N_("Priority"), description=N_("Priority within a quota; 9 is the highest.")
    )
    spot: Spot | None = Field(None, title=N_("Spot"), description=N_("Spot instances: cheaper, and may be reclaimed."))
    use_spot_instance: bool = Field(
        False, title=N_("Spot in Lingjun"), description=N_("Spot instances of Lingjun; `spot` is for ECS.")
    )
    user_vpc: UserVpc | None = Field(None, title=N_("Network"), description=N_("Network of the job's instances."))
    success_policy: Literal["", "ChiefWorker", "AllWorkers"] = Field(
        "",
        title=N_("Success"),
        description=N_("Instances that must succeed in a TFJob: the chief, or all workers. Default: AllWorkers."),
    )
    restart_policy: Literal["", "Always", "Never", "OnFailure", "ExitCode"] = Field(
        "", title=N_("Restart"), description=N_("When the platform starts an instance again.")
    )
    thirdparty_libs: tuple[str, ...] = Field(
        (),
        title=N_("Packages by the platform"),
        description=N_("Packages that the platform installs before the job starts, in addition to its requirements."),
    )
    thirdparty_lib_dir: str = Field(
        "",
        title=N_("Folder of requirements"),
        description=N_("Folder of the container with a requirements.txt that the platform installs."),
    )
    data_sources: tuple[DataSource, ...] = Field(
        (), title=N_("Mounts"), description=N_("Further folders and data sets that are mounted in the job.")
    )
    code_source: CodeSource | None = Field(
        None, title=N_("Code source"), description=N_("Code repository of the workspace that is mounted in the job.")
    )
    input_roles: dict[str, str] = Field(
        {}, title=N_("Input roles"), description=N_("RAM role for reading each input channel.")
    )
    output_roles: dict[str, str] = Field(
        {}, title=N_("Output roles"), description=N_("RAM role for writing each output channel.")
    )
    input_options: dict[str, str] = Field(
        {},
        title=N_("Input mount options"),
        description=N_("Mount options of each input channel, in the JSON format of data sets."),
    )
    accessibility: Literal["", "PUBLIC", "PRIVATE"] = Field(
        "", title=N_("Visibility"), description=N_("PUBLIC: all members of the workspace see the job.")
    )
    description: str = Field(
        "", max_length=1024, title=N_("Description"), description=N_("Description shown by the platform.")
    )
    assign_node: NodeAssignment | None = Field(
        None, title=N_("Nodes"), description=N_("Nodes of a quota for instances, and excluded nodes.")
    )
    mount_options: str = Field(
        "", title=N_("Options of mounts"), description=N_("Options of all mounts, such as the threads of downloads.")
    )
    template_id: str = Field("", title=N_("Template"), description=N_("Id of a job template of the workspace."))
    scheduling_strategy: str = Field("", title=N_("Scheduling"), description=N_("Scheduling strategy of the job."))
    elastic_spec: dict[str, Any] = Field(
        {}, title=N_("Elastic job"), description=N_("Number of instances that the platform may change.")
    )
    credential_config: dict[str, Any] = Field(
        {}, title=N_("Credentials in the job"), description=N_("Roles whose credentials the job receives.")
    )
    settings: dict[str, Any] = Field(
        {},
        title=N_("Platform settings"),
        description=N_("Settings of the platform, such as JobReservedMinutes and EnableRDMA."),
    )
    role_fields: dict[str, dict[str, Any]] = Field(
        {},
        title=N_("Fields of roles"),
        description=N_("Further fields of JobSpecs by role, such as AutoScalingSpec and ExtraPodSpec."),
    )

    @model_validator(mode="after")
    def _check(self) -> DlcOptions:
        if self.spot and self.resource_id:
            raise FieldError("spot", _("spot applies to instance types, not to quotas: omit one of the two."))
        for name in ("priority", "gpu_type", "shared_memory", "assign_node"):
            if getattr(self, name) and not self.resource_id:
                raise FieldError(name, _("{name} applies within a quota: set resource_id.").format(name=name))
        return self


def options_of(spec: JobSpec) -> DlcOptions:
    """Parse the options of a spec. The type of the job is always set.

    Raises:
        SpecError: naming the invalid field.
    """
    options = parse_options(DlcOptions, spec.options)
    check_channels(spec, options)
    kind = options.job_type or default_type(spec)
    if options.success_policy and kind != "TFJob":
        raise SpecError(
            _("options.success_policy: applies to jobs of the type TFJob, and this is a {type}.").format(type=kind),
            fix=_("Omit the option, or add --option job_type=TFJob"),
        ).at("options.success_policy")
    return options.model_copy(update={"job_type": kind})
