"""Settings and options of the Slurm backend."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator

from ...cloud.hadoop import HdfsSettings
from ...config.settings import IMPORTANT, picked_from
from ...core.i18n import N_
from ..kept_files import KeptFilesSettings
from ..private_folder import SharedFolderSettings

# A word that is passed on to `sbatch`: no blanks, no control characters, and no start of an option.
_WORD = r"^([^\s\x00-\x1f\x7f-][^\s\x00-\x1f\x7f]*)?$"


def _word(title: str, description: str, extra: dict[str, JsonValue] | None = None) -> Any:
    """Return a field for a word that may be empty."""
    return Field("", pattern=_WORD, title=title, description=description, json_schema_extra=extra)


class SlurmSettings(KeptFilesSettings, HdfsSettings, SharedFolderSettings):
    """Settings of a Slurm profile."""

    partition: str = _word(
        N_("Partition"),
        N_("Partition of jobs that do not set one. Default: that of the cluster."),
        picked_from("partitions") | IMPORTANT,
    )
    account: str = _word(
        N_("Account"),
        N_("Account that jobs are charged to. Default: your own default account."),
        picked_from("accounts") | IMPORTANT,
    )
    qos: str = _word(
        N_("Quality of service"), N_("Quality of service of jobs that do not set one."), picked_from("qos")
    )
    reservation: str = _word(
        N_("Reservation"), N_("Reservation of jobs that do not set one."), picked_from("reservations")
    )
    constraint: str = _word(N_("Constraint"), N_("Features that the nodes must have, such as `a100` or `intel&gpu`."))
    gres: str = _word(
        N_("Generic resources"),
        N_("Generic resources of each node, such as `gpu:a100:2`. GPUs of a job take precedence."),
    )
    prologue: str = Field(
        "",
        title=N_("Prologue"),
        description=N_("Lines of bash to run before each job, such as `module load cuda/12.4`."),
    )
    container: Literal["none", "apptainer", "pyxis"] = Field(
        "none",
        title=N_("Containers"),
        description=N_("Program that runs the image of a job. `none`: jobs run on the nodes without one."),
    )
    host: str = _word(
        N_("Login node"),
        N_(
            "Host on which the commands of Slurm are run by OpenSSH, with a key of its agent. Default: this machine. "
            "The shared folder must be mounted here."
        ),
    )
    max_run_time: int | None = Field(
        None,
        gt=0,
        title=N_("Maximum run time"),
        description=N_("Seconds after which a job is stopped. Default: the limit of the partition."),
    )


class SlurmOptions(BaseModel):
    """Fields of a spec's `options` for this backend. Empty fields take the value of the profile."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    partition: str = _word(N_("Partition"), N_("Partition of the job."), picked_from("partitions"))
    account: str = _word(N_("Account"), N_("Account that the job is charged to."), picked_from("accounts"))
    qos: str = _word(N_("Quality of service"), N_("Quality of service of the job."), picked_from("qos"))
    reservation: str = _word(N_("Reservation"), N_("Reservation to run in."), picked_from("reservations"))
    constraint: str = _word(N_("Constraint"), N_("Features that the nodes must have."))
    gres: str = _word(N_("Generic resources"), N_("Generic resources of each node, such as `gpu:a100:2`."))
    requeue: bool = Field(
        False,
        title=N_("Requeue"),
        description=N_("Run the job again if a node fails or a job of higher priority takes its nodes."),
    )
    mpi: str = _word(
        N_("MPI"), N_("Interface between MPI and Slurm, such as `pmix` or `pmi2`. Default: that of the cluster.")
    )
    sbatch: tuple[str, ...] = Field(
        (),
        title=N_("Arguments of sbatch"),
        description=N_(
            "Further arguments, such as `--nodes=2`. With a number of nodes or tasks, the command runs once, on the "
            "first node, and starts the others by `srun`."
        ),
    )

    @field_validator("sbatch")
    @classmethod
    def _are_passed_on(cls, words: tuple[str, ...]) -> tuple[str, ...]:
        from .allocation import check_argument

        for word in words:
            check_argument(word)
        return words
