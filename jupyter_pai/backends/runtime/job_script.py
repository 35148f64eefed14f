"""The script of a job for platforms and images that know nothing of the training contract.

A POSIX `sh` script. It lays out ``/ml``, takes code and inputs, sets the variables, installs the requirements, runs the
command in a process group of its own, passes TERM on, keeps the files beside the code, writes output parameters and
exit code into the log, and exits with the command's exit code. Where it cannot do so, its last line names the reason.

A platform that provides a part itself gets the rest (`Mounted`).
"""

from __future__ import annotations

import base64
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ... import report
from ...core import contract
from ...core.i18n import _
from ...core.text import show_size
from ...jobs.job import Job
from ...jobs.spec import JobSpec
from ...source import ignore
from ..input_links import input_links
from ..kept_files import KeptFiles, note_on_links
from ..local.supervisor import namespaces, output_parameters
from . import CLIENT_IN_JOB, launcher

__all__ = ["KeptFiles", "Mounted", "Site", "build"]

_RUNTIME = Path(__file__).parent
# A shell expands it in the quoted texts of this script. No text of a user contains it.
_ROOT = "\0root"
_SHELL_NAME = re.compile(r"[A-Z_][A-Z0-9_]*")


@dataclass(frozen=True)
class Mounted:
    """A platform that provides hyperparameters, inputs, outputs and requirements in ``/ml``, and starts the script in
    the folder with the code. The code is unpacked if the archive of this name is there."""

    archive: str


@dataclass(frozen=True)
class Site:
    """A machine or an image without the contract. Paths and addresses are texts; `folder` and `nodes` are words of the
    shell, which expands them.

    code: the archive, or the path of a folder or archive that exists there; empty for none.
    in_container: the root belongs to the job, so ``/ml`` can be a folder. Otherwise it is a private mount, and where
        that is not permitted, the variables name other folders.
    folder: a folder for the job, without spaces; by default a temporary one, which is removed.
    is_shared: the command starts processes on other machines, which see `folder` too: without ``/ml``.
    inputs: channel to the path of a file or folder, or to an address that is fetched (``http:``, ``https:``).
    copied: the platform copied the inputs, and put the content of a folder into the folder of its path.
    outputs: the folder of all outputs, for example in a shared file system; empty to keep them in `folder`.
    channels: folders of output channels that are elsewhere.
    nodes: `RANK`, `WORLD_SIZE`, `MASTER_ADDR` and `MASTER_PORT` in terms of the platform's own variables.
    hosts: the addresses of several nodes in the order of their ranks, separated by spaces; a word of the shell, too.
    environments: folder for the environments with requirements, shared by jobs; by default one per job.
    has_requirements: whether the code may have a requirements.txt.
    setup: commands of the shell that run in the folder of the code, before the command.
    limit: seconds after which the command is ended; 0 for no limit.
    """

    code: bytes | str = ""
    in_container: bool = False
    folder: str = ""
    is_shared: bool = False
    inputs: Mapping[str, str] = field(default_factory=dict)
    copied: bool = False
    outputs: str = ""
    channels: Mapping[str, str] = field(default_factory=dict)
    nodes: Mapping[str, str] = field(default_factory=dict)
    hosts: str = ""
    environments: str = ""
    has_requirements: bool = True
    setup: str = ""
    limit: int = 0


def build(job: Job, place: Site | Mounted, import_paths: tuple[str, ...] = (), kept: KeptFiles | None = None) -> str:
    """Return the script that ``sh -c`` runs for each instance of a job.

    `import_paths`: folders of the project's packages, relative to the code. ``$PAI_USER_ARGS`` in the command is
    substituted already (`JobSpec.command_line`), since no shell would unquote a variable. The command runs in a shell
    of its own, so that options of `set` or a trailing comment do not affect this script; stdin is empty, as on every
    backend.
    """
    spec, limits = job.staged_spec, kept or KeptFiles()
    keeps = contract.FILES in spec.channels and limits.size > 0
    where = _("The image") if isinstance(place, Mounted) or place.in_container else _("The machine")
    variables = _common(job, spec, import_paths, where) | _kept(limits if keeps else None)
    if isinstance(place, Mounted):
        variables |= _mounted(spec, place)
        if keeps:
            variables["kept"] = contract.Layout().output(contract.FILES)
        steps = [
            part("mounted_code"),
            *_links(job.spec),
            part("opt_ml"),
            part("node_variables"),
            part("environment"),
            'set -- /bin/sh -c "$pai_command"\n',
        ]
    else:
        variables |= _site(spec, place, where)
        steps = [*_nodes(place, spec), *_roles(spec, place), part("layout"), *_exports(spec, place), *_code(place)]
        steps += [*_links(job.spec), place.setup, part("opt_ml"), part("node_variables"), part("environment")]
        steps.append('pai_kept=${pai_kept:+$pai_ml/output/$pai_kept}\nset -- /bin/sh -c "$pai_command"\n')
        steps += [part("requirements")] if _installs(spec, place) else []
        steps += [] if place.in_container else [part("private_root")]
    lines = [f"pai_{name}={_quoted(value)}" for name, value in variables.items()]
    keep = [part("keep_files")] if keeps else []
    elsewhere = {} if isinstance(place, Mounted) else place.channels
    folders = [word for name in _channels(spec) for word in (name, elsewhere.get(name, ""))]
    links = part("output_links") + f"make_all_relative {shlex.join(folders)}\n"
    run = (part("wait_for"), part("run_command"), links, part("report_end"), part("end"))
    return "\n".join([*lines, part("messages"), *steps, *keep, *run])


def _channels(spec: JobSpec) -> list[str]:
    """Return the output channels."""
    return [*spec.channels, *(name for name in spec.outputs if name not in spec.channels)]


def _links(spec: JobSpec) -> Iterator[str]:
    """Yield the inputs that are also at their own paths in the code."""
    links = input_links(spec)
    if links:
        yield part("input_links")
    for path, place in links.items():
        yield f"input_link {shlex.quote(path)} {shlex.quote(place)}"


def part(name: str) -> str:
    """Return a part of the script, such as "wait_for", without its comments."""
    return re.sub(r"(?m)^ *#.*\n", "", (_RUNTIME / f"script/{name}.sh").read_text("utf-8"))


def _quoted(text: str) -> str:
    """Quote a text for the shell; the root of the contract in it is expanded."""
    return shlex.quote(text).replace(_ROOT, "'\"$pai_root\"'")


def _common(job: Job, spec: JobSpec, import_paths: tuple[str, ...], where: str) -> dict[str, str]:
    file, module = CLIENT_IN_JOB
    gpus = [_gpus(one) for one in spec.by_role.values() for _number in range(one.instance_count)]
    while gpus[-2:-1] == gpus[-1:]:
        del gpus[-1]
    figures = "" if spec.runs_notebook else (_RUNTIME / "plots/jupyter_pai_figures.py").read_text("utf-8")
    return {
        "id": job.id,
        "report": Path(report.__file__).read_text("utf-8"),
        "client": (Path(report.__file__).parent / file).read_text("utf-8"),
        "client_module": module,
        "figures": figures,
        "mplbackend": contract.MPLBACKEND,
        "import_paths": ":".join(import_paths),
        "args": contract.user_args(spec.hyperparameters, spec.args, spec.nargs) if spec.args or spec.nargs else "",
        "places": " ".join(f"{name}={target}" for name, target in namespaces.opt_ml_links(spec.layout).items()),
        "gpu": _gpus(spec),
        "gpus": " ".join(gpus),
        "most_text": str(output_parameters.LARGEST),
        "no_program": _("The command was not found. {place} does not have:").format(place=where),
        "lost_links": note_on_links(),
        "no_tar": _("Cannot unpack the code. {place} needs `sh`, and `tar` with `gzip`.").format(place=where),
    }


def _gpus(spec: JobSpec) -> str:
    """Return the GPUs of each instance as the part `node_variables` takes them."""
    return "-" if spec.gpu is None else str(spec.gpu)


def _kept(limits: KeptFiles | None) -> dict[str, str]:
    if limits is None:
        return {"kept": ""}
    shown = {"size": show_size(limits.size), "n": limits.seconds}
    too_large = _("Files beside the code were not kept, as they exceed {size} together (`files_limit`):")
    taken = _("Files beside the folder of the code were not kept, as it has files of the same names:")
    too_slow = _("Not all files beside the code were kept: it took more than {n} seconds (`files_time_limit`).")
    return {
        "kept": contract.FILES,
        "most": str(limits.size),
        "seconds": str(limits.seconds),
        "never": "|".join(ignore.EXCLUDED),
        "allowed": "|".join(ignore.INCLUDED),
        "too_large": f"[jupyter-pai] {too_large.format(**shown)}",
        "taken": f"[jupyter-pai] {taken}",
        "too_slow": f"[jupyter-pai] {too_slow.format(**shown)}",
    }


def _mounted(spec: JobSpec, place: Mounted) -> dict[str, str]:
    return {
        "command": spec.command_line,
        "archive": place.archive,
        "tells_code": "",
        "hosts": "",
        "several": "1" if spec.instance_count > 1 else "",
    }


def _installs(spec: JobSpec, place: Site) -> bool:
    return bool(spec.requirements) or place.has_requirements


def _site(spec: JobSpec, place: Site, where: str) -> dict[str, str]:
    hyperparameters = json.dumps(spec.hyperparameters, ensure_ascii=False, indent=1)
    reason = {"failure": str(_("Stopped: the maximum run time was reached.")), "cell": 0}
    return {
        "in_container": "1" if place.in_container else "",
        "is_shared": "1" if place.is_shared else "",
        "layout": spec.layout,
        "code": "-" if isinstance(place.code, bytes) else place.code,
        "copied": "1" if place.copied else "",
        "output": place.outputs,
        "hyperparameters": hyperparameters,
        "limit": str(place.limit or ""),
        "limit_line": f"[pai] {json.dumps(reason, ensure_ascii=False)}",
        "requirements": "".join(f"{line}\n" for line in spec.requirements),
        "launcher": Path(launcher.__file__).read_text("utf-8") if _installs(spec, place) else "",
        "environments": place.environments,
        "namespaces": "" if place.in_container else Path(namespaces.__file__).read_text("utf-8"),
        "tells_code": "1",
        "is_folder": _("/ml is a folder of the container."),
        "is_mount": _("/ml is a private mount."),
        "is_variable": _("No private /ml is possible on this machine: use the variables PAI_*."),
        "no_folder": _("Cannot create this folder:"),
        "no_input": _("Cannot get the input:"),
        "no_code": _("The code is not there:"),
        "no_base64": _("Cannot decode the code. {place} needs `base64` or Python.").format(place=where),
        "no_curl": _("Cannot fetch the input. {place} needs `curl`, `wget` or Python.").format(place=where),
        "no_python": _("Cannot install the requirements. {place} needs Python with pip.").format(place=where),
    }


def _command(spec: JobSpec, place: Site) -> str:
    """Return the command. Without one of the user's, the shell becomes the script, which then gets TERM itself."""
    if spec.command.strip():
        return spec.command_line
    if spec.layout != "code":
        return spec.launch_line(by_exec=True)
    names, _left = contract.variables("PAI_INPUT_", place.inputs)
    # The paths are known when the script runs.
    words = {channel: f"\0{channel}\0" for channel in place.inputs}
    line = spec.launch_line(words, by_exec=True)
    for channel, word in words.items():
        variable = f'"${names[channel]}"' if channel in names else f'"$pai_root"/input/data/{shlex.quote(channel)}/'
        line = line.replace(shlex.quote(word), variable)
    return line


def _file(source: str) -> str:
    """Return the name of the file that an address names; empty for a path, which may be a folder."""
    return unquote(urlsplit(source).path.rpartition("/")[2]) if source.startswith(("http://", "https://")) else ""


def _nodes(place: Site, spec: JobSpec) -> Iterator[str]:
    """Yield the variables of the nodes, and the folder, which may depend on them."""
    for name, word in place.nodes.items():
        if not _SHELL_NAME.fullmatch(name):
            raise ValueError(f"invalid variable `{name}`")
        yield f'{name}="{word}"'
    yield f': "${{RANK:=0}}" "${{WORLD_SIZE:={spec.instance_count}}}" "${{MASTER_ADDR:=127.0.0.1}}"'
    yield 'export RANK WORLD_SIZE MASTER_ADDR MASTER_PORT="${MASTER_PORT:-29500}"'
    yield f'pai_hosts="{place.hosts}"'
    yield f'pai_folder="{place.folder}"\n'


def _roles(spec: JobSpec, place: Site) -> Iterator[str]:
    """Yield the role with its command and its image: first those of the last role, then of each that the rank is
    before the end of."""
    end = spec.instance_count
    for role, one in reversed(spec.by_role.items()):
        first = end - one.instance_count
        lines = [
            f"JUPYTER_PAI_ROLE={role} JUPYTER_PAI_ROLE_RANK=$((RANK - {first}))",
            f"pai_command={_quoted(_command(one, place))}",
            f"pai_gpu={_gpus(one)}",
            f"pai_image={_quoted(one.image if place.in_container else '')}",
        ]
        yield from lines if end == spec.instance_count else (f'if [ "$RANK" -lt {end} ]; then', *lines, "fi")
        end = first


def _exports(spec: JobSpec, place: Site) -> Iterator[str]:
    """Yield the contract's variables, the inputs and the outputs."""
    layout = contract.Layout(_ROOT, spec.layout)
    files = {channel: _file(source) for channel, source in place.inputs.items()}
    channels = _channels(spec)
    variables, _left = contract.environment(layout, spec.hyperparameters, files, channels, spec.args, spec.nargs)
    yield "export pai_root"
    for name, value in (variables | dict(spec.environment)).items():
        yield f"export {name}={_quoted(value)}"
    names, _left = contract.variables("PAI_INPUT_", files)
    for channel, source in place.inputs.items():
        yield f"take_input {' '.join(map(shlex.quote, (channel, names.get(channel, ''), source, files[channel])))}"
    for channel in channels:
        folder = place.channels.get(channel)
        name = shlex.quote(channel)
        yield f"give_output {name} {shlex.quote(folder)}" if folder else f'folders "$pai_ml/output"/{name}'
    for alias, channel in contract.ALIASES.items():
        yield f'[ -e "$pai_ml/output/{alias}" ] || ln -sfn {channel} "$pai_ml/output/{alias}"\n'


def _code(place: Site) -> Iterator[str]:
    if isinstance(place.code, bytes):
        yield f"inline_code() {{\n  decode <<'PAI_END'\n{base64.encodebytes(place.code).decode()}PAI_END\n}}"
    yield part("unpack_code")
