"""A job in a container, by podman or docker: the same contract, log and stop as without one.

The guard runs the engine's client as the command; killing that client would leave the container running, so the
container is called after the job, and removed by that name when the job is over, however it ended.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TypeVar

from ...core.errors import BadInput, Unsupported
from ...core.i18n import _
from ...core.sizes import parse_size
from ...jobs.job import Job
from ...jobs.spec import JobSpec
from ...jobs.state_dir import JobFolder
from . import process
from .resources import NAMES

__all__ = [
    "ENVIRONMENTS",
    "NOT_STARTED",
    "PACKAGE",
    "SHIMS",
    "Container",
    "choose",
    "engine_of",
    "find",
    "note",
    "passable",
    "remove",
]

ENGINES = ("podman", "docker")
# Where a container has what travels with each job: `report`, the launcher, environments with requirements.
PACKAGE, ENVIRONMENTS, SHIMS = "/opt/jupyter-pai", "/opt/jupyter-pai-environments", "/tmp/.jupyter-pai"  # noqa: S108  # the container's own
T = TypeVar("T")

# The exit code of both engines' clients for a container that could not be started.
NOT_STARTED = 125

# What the guard runs: $1 is the engine, $2 the job's container; rank and GPUs are known only now.
_START = {
    "podman": """engine=$1 name=$2-$RANK; shift 2
for gpu in $(echo "$CUDA_VISIBLE_DEVICES" | tr , ' '); do set -- --device "nvidia.com/gpu=$gpu" "$@"; done
exec "$engine" run --name "$name" "$@" """,
    "docker": """engine=$1 name=$2-$RANK; shift 2
if [ -n "$CUDA_VISIBLE_DEVICES" ]; then set -- --gpus "\\"device=$CUDA_VISIBLE_DEVICES\\"" "$@"; fi
exec "$engine" run --name "$name" "$@" """,
}
# The first process in the container: it passes SIGTERM on, which a first process would ignore, and buries orphans. An
# image may have `python3` only.
_INIT = f"""trap 'kill -TERM -1' TERM
export PYTHONPATH={PACKAGE}${{PYTHONPATH:+:$PYTHONPATH}}
if ! command -v python > /dev/null && command -v python3 > /dev/null; then
mkdir -p {SHIMS} && ln -sf "$(command -v python3)" {SHIMS}/python && PATH=$PATH:{SHIMS}
fi
"$@" &
while :; do wait $!; code=$?; kill -0 $! 2> /dev/null || break; done
wait $! 2> /dev/null; again=$?; [ $again = 127 ] || code=$again  # What it ended with, where a signal ended our waiting.
exit $code"""
# Variables by which an engine's client finds its own things. A job's of such a name go by another one, and are renamed
# in the container: on a command line, everybody could read their values.
_CLIENTS = ("PATH", "HOME", "TMPDIR", "XDG_", "DOCKER_", "CONTAINER", "BUILDAH_", "REGISTRY_", "LD_", "DBUS_")
_RENAMED = "JUPYTER_PAI_AS_"


class Container:
    """The containers of a job, one an instance."""

    def __init__(self, engine: str, job: Job) -> None:
        self.engine = engine
        self.job = job
        self.name = f"jupyter-pai-{job.id}"

    def command(
        self, inner: list[str], workdir: str, mounts: Iterable[tuple[Path, str]], variables: Iterable[str]
    ) -> list[str]:
        """What the guard runs, for `inner` to run in the container. `mounts` are pairs of a path here and its place
        there; `variables` are names: their values pass through the client's environment."""
        spec = self.job.spec
        words = ["--rm", "--log-driver", "none", "--network", "host", "--security-opt", "label=disable"]
        words += ["--label", f"jupyter-pai.job={self.job.id}", "--workdir", workdir, "--entrypoint", "/bin/sh"]
        words += _as_user(self.engine)
        for path, place in mounts:
            words += ["--volume", f"{path}:{place}"]
        names = passable(dict.fromkeys(variables, ""))
        for name in (*names, "RANK", "MASTER_PORT"):
            words += ["--env", name]
        words += ["--env", "HOME=/tmp"] * (os.getuid() != 0)  # A user that the image does not know has none.
        # Only what was asked for: where control groups are not delegated, an engine refuses any limit.
        words += ["--cpus", f"{spec.cpu:g}"] if spec.cpu else []
        words += ["--memory", str(parse_size(spec.memory))] if spec.memory else []
        words += ["--tty"] * spec.tty
        start = ["/bin/sh", "-c", _START[Path(self.engine).name], "pai", self.engine, self.name]
        back = [name.removeprefix(_RENAMED) for name in names if name.startswith(_RENAMED)]
        renamed = "".join(f'export {name}="${_RENAMED}{name}"; unset {_RENAMED}{name}\n' for name in back)
        return [*start, *words, spec.image, "-c", renamed + _INIT, "pai", *inner]

    def environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        """The variables of the engine's client, from which the container's are taken."""
        return {name: value for name, value in os.environ.items() if name.startswith(_CLIENTS)} | passable(variables)

    @property
    def cleanup(self) -> str:
        """A line for a shell that removes the containers, whether they run or not."""
        names = [f"{self.name}-{rank}" for rank in range(self.job.spec.instance_count)]
        at_once = ["--time", "0"] if Path(self.engine).name == "podman" else []
        return shlex.join([self.engine, "rm", "--force", *at_once, *names])


def passable(variables: Mapping[str, T]) -> dict[str, T]:
    """The variables under names that do not disturb the engine's client."""
    return {_RENAMED + name if name.startswith(_CLIENTS) else name: value for name, value in variables.items()}


def choose(spec: JobSpec, asked: str, profile: str) -> tuple[str, list[str]]:
    """The engine for a job, empty for none, and what is to be said of that. `asked` is the spec's word, else the
    `profile`'s counts. The PAI SDK's own instance types for this machine mean a container, if it can be had.

    Raises:
        BadInput: if the spec asks for a container and names no image.
        Unsupported: if it asks for one that there is not.
    """
    if asked not in ("", "none") and not spec.image:
        raise BadInput(_("A container needs an image."), fix=_("Give one: --image NAME."))
    wanted = asked or profile or ("auto" if spec.instance_type in NAMES else "none")
    if wanted == "none" or not spec.image:
        return "", []
    engine = find(wanted)
    if not engine and asked:
        raise Unsupported(
            _("Neither podman nor docker answers on this machine."), fix=_("Install one, or leave --container out.")
        )
    note = _("Neither podman nor docker answers on this machine: the job runs without its image `{image}`.")
    return engine, [] if engine else [note.format(image=spec.image)]


def note(folder: JobFolder, container: Container) -> None:
    """Note in a job's folder that it runs in containers: the line that removes them, which begins with the engine."""
    (folder.path / "container").write_text(container.cleanup, "utf-8")


def engine_of(folder: JobFolder) -> str:
    """The engine that was chosen for a job; empty for none."""
    return next(iter(shlex.split(_noted(folder))), "")


def remove(folder: JobFolder) -> None:
    """Remove the containers of a job whose supervisor could not: it was killed together with its guard."""
    if line := _noted(folder):
        process.run_aside(line)


def _noted(folder: JobFolder) -> str:
    try:
        return (folder.path / "container").read_text("utf-8")
    except FileNotFoundError:
        return ""


def find(wanted: str) -> str:
    """The path of the engine `podman` or `docker`; with `auto`, of the first that answers, empty if none does.

    Raises:
        Unsupported: if the one that is named is not there, or does not answer.
    """
    if wanted == "auto":
        return next((engine for name in ENGINES if (engine := shutil.which(name)) and not _trouble(engine)), "")
    engine = shutil.which(wanted) or ""
    if not engine:
        raise Unsupported(
            _("There is no `{engine}` on this machine.").format(engine=wanted),
            fix=_("Install it, or run without a container: --container none."),
        )
    if trouble := _trouble(engine):
        raise Unsupported(
            _("`{engine}` does not answer: {error}").format(engine=wanted, error=trouble),
            fix=_("Does its service run, and may you use it? Or run without a container: --container none."),
        )
    return engine


# Engines that answered once: not asked again at every job.
_known: set[str] = set()


def _trouble(engine: str) -> str:
    """What an engine complains of; empty if it works."""
    if engine in _known:
        return ""
    told = _ask(engine, "version", "--format", "{{.Client.Version}}")
    if Path(engine).name == "docker":  # Its client works without the service.
        told = _ask(engine, "version", "--format", "{{.Server.Version}}")
    if told.returncode == 0:
        _known.add(engine)
        return ""
    return (told.stderr.strip().splitlines() or [f"exit code {told.returncode}"])[-1]


def _ask(engine: str, *words: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run([engine, *words], check=False, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess([engine], 1, "", str(error))


def _as_user(engine: str) -> Iterable[str]:
    """Options by which what a job writes is its user's. As root, and in an engine of the user's own, it is anyway."""
    if os.getuid() == 0:
        return []
    if Path(engine).name == "podman":
        return ["--userns", "keep-id"]
    return [] if _is_rootless(engine) else ["--user", f"{os.getuid()}:{os.getgid()}"]


@cache
def _is_rootless(docker: str) -> bool:
    return "rootless" in _ask(docker, "info", "--format", "{{.SecurityOptions}}").stdout
