"""Jobs in containers, run by podman or docker, with the same contract, logs and stop as other jobs.

The guard runs the engine's client. Killing the client would leave the container running: the container has the job's
name and is removed by that name when the job ends, in any way.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from ...core import contract
from ...core.errors import DAMAGED, BackendError, BadInput, Unsupported
from ...core.i18n import _
from ...core.text import parse_size
from ...jobs.job import Job
from ...jobs.spec import JobSpec
from ...jobs.state_dir import JobFolder
from ..runtime import job_script
from . import process, user_mapping
from .liveness import read_text
from .resources import NAMES
from .user_mapping import last_line, run

ENGINES = ("podman", "docker")
MOST_INSTANCES = 64
# Paths in containers: package files, environments with requirements, shims, and packages that the job installs.
PACKAGE, ENVIRONMENTS, SHIMS = "/opt/jupyter-pai", "/opt/jupyter-pai-environments", "/tmp/.jupyter-pai"  # noqa: S108  # the container's own
PACKAGES = f"{SHIMS}-packages"
T = TypeVar("T")

# The first process in the container: it forwards SIGTERM, which PID 1 ignores by default, and reaps orphans. An image
# may have `python3` only.
_INIT = f"""trap 'kill -TERM -1' TERM
if ! command -v python > /dev/null && command -v python3 > /dev/null; then
mkdir -p {SHIMS} && ln -sf "$(command -v python3)" {SHIMS}/python && PATH=$PATH:{SHIMS}
fi
"$@" &
wait_for $!
exit $?"""
# Variables that are set when an instance starts.
_STARTED = ("RANK", "MASTER_PORT", "JUPYTER_PAI_ROLE", "JUPYTER_PAI_ROLE_RANK", *contract.NODE_VARIABLES)
# Variables of the engine's client. A job's variables of these names are passed under other names and renamed in the
# container. (Other users could read values on a command line.)
_CLIENTS = ("PATH", "HOME", "TMPDIR", "XDG_", "DOCKER_", "CONTAINER", "BUILDAH_", "REGISTRY_", "LD_", "DBUS_")
_RENAMED = "JUPYTER_PAI_AS_"


class Mount(NamedTuple):
    """A folder of this machine, and its path in the container. The container may write a `writable` one."""

    path: Path
    place: str
    writable: bool = False


class Container:
    """The containers of a job, one per instance."""

    def __init__(self, engine: str, job: Job, folder: JobFolder) -> None:
        self.engine = engine
        self.job = job
        self.folder = folder.path
        self.name = f"jupyter-pai-{job.id}"

    def command(
        self,
        spec: JobSpec,
        inner: list[str],
        workdir: str,
        mounts: Sequence[Mount],
        variables: Iterable[str],
        import_paths: Iterable[str] = (),
    ) -> list[str]:
        """Return the guard's command that runs `inner` in a container for a role with this spec.

        The paths of `mounts` have no links. `variables` are names; their values are passed in the client's environment.
        `import_paths` precede the image's PYTHONPATH.
        """
        names = passable(dict.fromkeys(variables, ""))
        options = [
            *("--rm", "--log-driver", "none", "--network", "host", "--security-opt", "label=disable"),
            *("--label", f"jupyter-pai.job={self.job.id}", "--workdir", workdir, "--entrypoint", "/bin/sh"),
            *user_mapping.of(self.engine).options,
            *(word for name in (*names, *_STARTED) for word in ("--env", name)),
            *(["--env", "HOME=/tmp"] if os.getuid() else []),  # A user unknown to the image has no home.
            # Only requested limits: without delegated control groups, an engine rejects any limit.
            *(["--cpus", f"{spec.cpu:g}"] if spec.cpu else []),
            *(["--memory", str(parse_size(spec.memory))] if spec.memory else []),
            *(["--tty"] if spec.tty else []),
        ]
        volumes = json.dumps([(str(mount.path), mount.place, mount.writable) for mount in mounts])
        start = [*process.command("container_start"), self.engine, self.name, str(self.folder), volumes]
        renamed = "".join(
            f'export {name.removeprefix(_RENAMED)}="${name}"; unset {name}\n'
            for name in names
            if name.startswith(_RENAMED)
        )
        paths = "".join(f"{shlex.quote(path)}:" for path in import_paths)
        init = f'export PYTHONPATH={paths}{PACKAGE}"${{PYTHONPATH:+:$PYTHONPATH}}"\n'
        init += job_script.part("wait_for") + _INIT
        return [*start, *options, spec.image, "-c", renamed + init, "pai", *inner]

    def environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of the engine's client, including the container's variables."""
        return {name: value for name, value in os.environ.items() if name.startswith(_CLIENTS)} | passable(variables)

    @property
    def cleanup(self) -> list[str]:
        """The command that removes the containers, running or not."""
        return removal(self.engine, self.job.id, self.job.spec.instance_count)


def removal(engine: str, job_id: str, instances: int) -> list[str]:
    """Return the command that removes the containers of a job."""
    names = [f"jupyter-pai-{job_id}-{rank}" for rank in range(instances)]
    options = ["--force", "--time", "0"] if Path(engine).name == "podman" else ["--force"]
    return [engine, "rm", *options, *names]


def passable(variables: Mapping[str, T]) -> dict[str, T]:
    """Return the variables under names that do not affect the engine's client."""
    return {_RENAMED + name if name.startswith(_CLIENTS) else name: value for name, value in variables.items()}


def choose(spec: JobSpec, name: str, profile: str) -> tuple[str, list[str]]:
    """Return the engine for a job, empty for none, and notes. `name` is the spec's option, which overrides `profile`.

    The PAI SDK's instance types for this machine use a container if available.

    Raises:
        BadInput: if the spec requires a container and has no image.
        Unsupported: if the required engine is not available.
    """
    if name == "preferred":
        name, profile = "", profile or "auto"
    if name not in ("", "none") and not spec.image:
        raise BadInput(_("A container requires an image."), fix=_("Pass one: --image NAME."))
    choice = name or profile or ("auto" if spec.instance_type in NAMES else "none")
    if choice == "none" or not spec.image:
        return "", []
    engine = find(choice)
    if not engine and name:
        raise Unsupported(
            _("Neither podman nor docker responds on this machine."), fix=_("Install one, or omit --container.")
        )
    text = _("Neither podman nor docker responds on this machine: the job runs without its image `{image}`.")
    return engine, [] if engine else [text.format(image=spec.image)]


def note_engine(folder: JobFolder, engine: str) -> None:
    """Write the name of a job's engine into its folder."""
    (folder.path / "container").write_text(Path(engine).name, "utf-8")


def engine_name(folder: JobFolder) -> str:
    """Return the name of a job's engine; empty for a job without containers, and for other texts."""
    # An earlier version wrote a command that starts with the path of the engine.
    name = os.path.basename(read_text(folder.path / "container").partition(" ")[0].strip())
    return name if name in ENGINES else ""


def _installed(folder: JobFolder) -> str:
    name = engine_name(folder)
    return (shutil.which(name) or "") if name else ""


def engine_of(folder: JobFolder) -> str:
    """Return the path of a job's engine; empty for a job without containers. Only its name is read from the folder.

    Raises:
        BackendError: if it is unknown or not installed. The job must not run outside of a container.
    """
    if not (folder.path / "container").exists():
        return ""
    if engine := _installed(folder):
        return engine
    raise BackendError(
        _("The container engine of job {job} is not available.").format(job=folder.id),
        fix=_("Install it, or run without a container: --container none."),
    )


def remove_containers(folder: JobFolder) -> None:
    """Start to remove the containers of a job whose supervisor is gone."""
    if engine := _installed(folder):
        try:
            instances = int(json.loads(folder.spec.read_bytes())["instance_count"])
        except DAMAGED:
            instances = 1
        process.run_aside(removal(engine, folder.id, min(instances, MOST_INSTANCES)))


def find(name: str) -> str:
    """Return the path of podman or docker; with `auto`, of the first that responds, empty if none does.

    Raises:
        Unsupported: if the named engine is not installed or does not respond.
    """
    if name == "auto":
        return next((engine for known in ENGINES if (engine := shutil.which(known)) and not _trouble(engine)), "")
    engine = shutil.which(name) or ""
    if not engine:
        raise Unsupported(
            _("`{engine}` is not installed on this machine.").format(engine=name),
            fix=_("Install it, or run without a container: --container none."),
        )
    if trouble := _trouble(engine):
        raise Unsupported(
            _("`{engine}` does not respond: {error}").format(engine=name, error=trouble),
            fix=_("Check its service and your permissions, or run without a container: --container none."),
        )
    return engine


# Engines that have responded; not checked again.
_known: set[str] = set()


def _trouble(engine: str) -> str:
    """Return the error of an engine; empty if it works."""
    if engine in _known:
        return ""
    # The client of docker works without its service.
    side = "Server" if Path(engine).name == "docker" else "Client"
    version = run(engine, "version", "--format", f"{{{{.{side}.Version}}}}")
    if version.returncode == 0:
        mapping = user_mapping.of(engine)
        if mapping.works:
            _known.add(engine)
        return "" if mapping.works else mapping.failures[-1]
    return last_line(version)
