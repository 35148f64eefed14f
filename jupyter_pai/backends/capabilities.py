"""The optional features of backends. Callers test them, never the class or name of a backend."""

from __future__ import annotations

from enum import StrEnum

from ..core.errors import Unsupported
from ..core.i18n import N_, _

__all__ = ["Capability"]


class Capability(StrEnum):
    """Optional features of a backend."""

    RUNS_HERE = "runs_here"  # jobs are processes of this machine, which must stay up; their logs are local files
    CODE_LAYOUT = "code_layout"  # supports the layout of the older CustomJob, with the code in /ml/code
    OUTPUT_PARAMETERS = "output_parameters"  # returns output parameters: by the platform, or by the job script
    TTY = "tty"
    SECRETS = "secrets"  # passes secrets to jobs as variables that the platform hides from others
    MULTI_NODE = "multi_node"
    ROLES = "roles"  # runs instances with different commands, images and sizes in one job
    IMAGES = "images"  # lists container images for jobs
    PAID = "paid"  # jobs are billed
    BOARDS = "boards"  # runs TensorBoards on the platform
    SIZES = "sizes"  # selects an instance type for --cpu, --memory and --gpu
    DELETE = "delete"  # deletes ended jobs; jobs of other platforms stay there when they are deleted here
    DATASETS = "datasets"  # jobs can read data sets registered on the platform
    TERMINAL = "terminal"  # opens terminals in running instances
    NOTEBOOKS = "notebooks"  # runs notebooks cell by cell; other backends run their code as a script
    REGISTRY = "registry"  # keeps models with versions
    OUTPUT_FOLDERS = "output_folders"  # the platform makes a folder for each job in an output path
    USAGE_UNITS = "usage_units"  # resource samples are in cores, bytes and percent; other platforms document no units

    @property
    def words(self) -> str:
        """The capability in words, in the language of the user."""
        return _(_WORDS[self])

    def missing_in(self, backend: str, fix: str = "") -> Unsupported:
        """Return the error for a request that needs the capability of a backend that does not have it."""
        text = _("The backend `{name}` does not support: {what}.").format(name=backend, what=self.words)
        return Unsupported(text, fix=fix)


_WORDS = {
    Capability.RUNS_HERE: N_("jobs on this machine"),
    Capability.CODE_LAYOUT: N_("the code in /ml/code (layout `code`)"),
    Capability.OUTPUT_PARAMETERS: N_("output parameters"),
    Capability.TTY: N_("a terminal as standard output"),
    Capability.SECRETS: N_("secrets (--secret)"),
    Capability.MULTI_NODE: N_("several instances (--instance-count)"),
    Capability.ROLES: N_("roles (--role)"),
    Capability.IMAGES: N_("a list of images"),
    Capability.PAID: N_("billed jobs"),
    Capability.BOARDS: N_("TensorBoards of the platform"),
    Capability.SIZES: N_("the selection of an instance type by size"),
    Capability.DELETE: N_("the deletion of jobs"),
    Capability.DATASETS: N_("registered data sets"),
    Capability.TERMINAL: N_("terminals in running jobs"),
    Capability.NOTEBOOKS: N_("notebooks that run cell by cell"),
    Capability.REGISTRY: N_("a registry of models"),
    Capability.OUTPUT_FOLDERS: N_("a folder for each job in an output path"),
    Capability.USAGE_UNITS: N_("resource usage with units"),
}
