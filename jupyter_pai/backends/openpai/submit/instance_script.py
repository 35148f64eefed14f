"""The script of each instance: the job script, with what surrounds it where code, inputs or outputs are in HDFS, failed
commands run again, or a TensorBoard runs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from ....cloud.hadoop import RPC_PORTS
from ....core.i18n import _
from ....jobs.job import Job
from ....jobs.spec import JobSpec
from ...runtime import job_script
from ..names import BOARD, MASTER, RETRIED, role_names
from ..options import OpenPaiOptions, OpenPaiSettings
from . import locations

__all__ = ["Routes", "instance_script", "routes", "unpack_script"]

_SCRIPTS = Path(__file__).parent / "script"
# Stands for the folder of an instance, of which only the shell knows the name. No text of a user contains it.
_PLACE = "\0place"
# Stands for the id of the job, which would change the size of the packed script. It needs quotes in a shell.
_ID = "~jupyter-pai-id~"
_ARCHIVE = "source.tar.gz"


@dataclass
class Routes:
    """The places of code, inputs and outputs in an instance, as `job_script.Site` takes them.

    `downloads`: URIs of HDFS, each with the folder for it. `uploads`: folders with the URIs of HDFS for their files.
    `storages`: the names of the storages to mount.
    """

    code: str = ""
    inputs: dict[str, str] = field(default_factory=dict)
    outputs: str = f"{_PLACE}/output"
    channels: dict[str, str] = field(default_factory=dict)
    downloads: list[tuple[str, str]] = field(default_factory=list)
    uploads: list[tuple[str, str]] = field(default_factory=list)
    storages: dict[str, None] = field(default_factory=dict)

    def seen(self, settings: OpenPaiSettings, uri: str) -> str:
        """Return where an instance sees a path or URI of this machine.

        Raises ValueError if it does not see it; such specs are refused before.
        """
        place = locations.seen_at(settings, uri)
        if place is None:
            raise ValueError(uri)
        self.storages[place[0]] = None
        return place[1]


def routes(job: Job, settings: OpenPaiSettings, code: str) -> Routes:
    """Return the routes of a job. `code`: the URI of the folder with its code; `-` if the document has it, empty if
    there is none."""
    found = Routes()
    spec = job.staged_spec
    found.code = _code(found, settings, code)
    for number, (channel, uri) in enumerate(spec.inputs.items()):
        if locations.is_hdfs(uri):
            folder = f"{_PLACE}/input.{number}"
            found.downloads.append((uri, folder))
            found.inputs[channel] = f"{folder}/{_last_name(uri)}"
        else:
            found.inputs[channel] = uri if locations.is_web(uri) else found.seen(settings, uri)
    if base := locations.output_uri(settings, job):
        found.outputs = _output(found, settings, base, found.outputs)
    for number, (channel, uri) in enumerate(spec.outputs.items()):
        found.channels[channel] = _output(found, settings, uri, f"{_PLACE}/output.{number}")
    return found


def _code(found: Routes, settings: OpenPaiSettings, code: str) -> str:
    if code in ("", "-"):
        return f"{_PLACE}/{_ARCHIVE}" if code else ""
    if locations.is_hdfs(code):
        found.downloads.append((f"{code}{_ARCHIVE}", _PLACE))
        return f"{_PLACE}/{_ARCHIVE}"
    return found.seen(settings, f"{code}{_ARCHIVE}")


def _last_name(uri: str) -> str:
    return uri.partition("://")[2].partition("/")[2].strip("/").rpartition("/")[2] or "data"


def _output(found: Routes, settings: OpenPaiSettings, uri: str, folder: str) -> str:
    """Return the folder of an output in the instance."""
    if not locations.is_hdfs(uri):
        return found.seen(settings, uri)
    found.uploads.append((folder, uri))
    return folder


def instance_script(
    job: Job,
    settings: OpenPaiSettings,
    options: OpenPaiOptions,
    code: str,
    import_paths: tuple[str, ...] = (),
    *,
    has_requirements: bool = True,
) -> str:
    """Return the script that each instance of a job runs, with the rank of the first instance of its role as its first
    argument, and `start` as the second one. Set before: `pai_here`, a folder of its own, and `pai_job`, the id.

    `code`: as for `routes`.
    """
    job = job.model_copy(update={"id": _ID})
    found = routes(job, settings, code)
    spec = job.staged_spec
    site = job_script.Site(
        code=found.code,
        in_container=True,
        inputs=found.inputs,
        outputs=found.outputs,
        channels=found.channels,
        nodes=_nodes(spec),
        hosts=_hosts(spec),
        has_requirements=has_requirements,
        limit=run_time_limit(settings, spec),
    )
    # Without a place for outputs, these files would be lost.
    kept = settings.kept_files if spec.output_path or locations.has_place(settings) else job_script.KeptFiles(0)
    text = job_script.build(job, site, import_paths, kept)
    around = _around(job, settings, options, found)
    return (around + text).replace(_PLACE, "'\"$pai_here\"'").replace(_ID, "'\"$pai_job\"'")


def unpack_script(settings: OpenPaiSettings, found: Routes) -> str:
    """Return a script that unpacks the code into the folder that is its argument."""
    lines = [*_parts(settings, found), _part("instance.sh"), "pai_get_hdfs && fetch_all || exit 125"]
    lines = lines if found.downloads else []
    lines += [f'mkdir -p "$1" && tar -xzf {shlex.quote(found.code)} -C "$1"\n']
    return "\n".join(lines).replace(_PLACE, "'\"$pai_here\"'")


def run_time_limit(settings: OpenPaiSettings, spec: JobSpec) -> int:
    """Return the seconds after which a job is stopped; 0 for no limit."""
    return (settings.max_run_time if spec.max_run_time is None else spec.max_run_time) or 0


def _nodes(spec: JobSpec) -> Mapping[str, str]:
    """Return rank and master in terms of the platform's variables."""
    index = "${PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX:-${PAI_TASK_INDEX:-0}}"
    nodes = {"RANK": f"$(($1 + {index}))", "WORLD_SIZE": str(spec.instance_count)}
    if spec.instance_count > 1:
        first = next(iter(role_names(spec).values()))
        nodes["MASTER_ADDR"] = f"${{PAI_HOST_IP_{first}_0:-127.0.0.1}}"
        nodes["MASTER_PORT"] = f"${{PAI_PORT_LIST_{first}_0_{MASTER}%%,*}}"
    return nodes


def _hosts(spec: JobSpec) -> str:
    """Return the hosts of several instances in terms of the platform's variables."""
    names, counts = role_names(spec), {role: one.instance_count for role, one in spec.by_role.items()}
    places = [f"{names[role]}_{index}" for role, count in counts.items() for index in range(count)]
    return " ".join(f"${{PAI_HOST_IP_{place}:-127.0.0.1}}" for place in places) if len(places) > 1 else ""


def _around(job: Job, settings: OpenPaiSettings, options: OpenPaiOptions, found: Routes) -> str:
    """Return what precedes the job script; empty if it runs by itself."""
    again = RETRIED if options.task_retries or options.job_retries else 0
    if not (found.downloads or found.uploads or options.tensorboard or again):
        return ""
    first = next(iter(role_names(job.spec).values()))
    variables = {
        "again": str(again or ""),
        "logdir": found.channels.get("tensorboard", f"{found.outputs}/tensorboard") if options.tensorboard else "",
    }
    if options.tensorboard:
        variables["no_board"] = _("TensorBoard has ended:")
    lines = [f"pai_{name}={shlex.quote(value)}" for name, value in variables.items()]
    lines.append(f'pai_board_port="${{PAI_PORT_LIST_{first}_0_{BOARD}:-6006}}"')
    if found.downloads or found.uploads:
        lines += _parts(settings, found)
    else:
        lines.append("pai_uses_hdfs=''")
    lines += [job_script.part("wait_for"), _part("instance.sh")]
    return "\n".join([*lines, 'if [ "$2" != job ]; then\n  pai_main "$1"\nfi\n'])


def _parts(settings: OpenPaiSettings, found: Routes) -> Iterator[str]:
    """Yield variables and functions for HDFS."""
    variables = {
        "uses_hdfs": "1",
        "webhdfs": (_SCRIPTS / "webhdfs.py").read_text("utf-8"),
        "no_python3": _("The image needs Python 3 to read and write HDFS."),
        "no_hdfs": _("Cannot get code and inputs from HDFS."),
        "no_upload": _("Cannot upload all outputs to HDFS."),
    }
    for name, value in variables.items():
        yield f"pai_{name}={shlex.quote(value)}"
    user = shlex.quote(settings.hdfs_login)
    gets = [f"{user} {_address(settings, uri)} {shlex.quote(uri)} {shlex.quote(to)}" for uri, to in found.downloads]
    puts = [f"{user} {_address(settings, uri)} {shlex.quote(of)} {shlex.quote(uri)}" for of, uri in found.uploads]
    yield _function("fetch_all", [f"pai_hdfs get {words} || return" for words in gets])
    # All are tried.
    yield _function("upload_all", ["pai_left=0", *(f"pai_hdfs put {words} || pai_left=1" for words in puts)])
    yield 'upload_outputs() {\n  upload_all && [ "$pai_left" = 0 ]\n}'
    yield _function("follow_all", [f'exec "$pai_python" "$pai_here/webhdfs.py" follow {words}' for words in puts[:1]])


def _function(name: str, lines: list[str]) -> str:
    body = "".join(f"  {line}\n" for line in lines or [":"])
    return f"{name}() {{\n{body}}}"


def _address(settings: OpenPaiSettings, uri: str) -> str:
    """Return the address of WebHDFS for a URI as a word of the shell; `-` if the URI's host is all that is known."""
    own, other = urlsplit(settings.hdfs), urlsplit(uri)
    if not settings.hdfs or own.hostname != other.hostname:
        return "-"
    if own.scheme != "hdfs" and other.port in (None, own.port, *RPC_PORTS):
        return shlex.quote(settings.hdfs)
    return shlex.quote(f"hdfs://{own.netloc}") if own.port and other.port in (None, *RPC_PORTS) else "-"


def _part(name: str) -> str:
    """Return a part of the script without its comments."""
    return re.sub(r"(?m)^ *#.*\n", "", (_SCRIPTS / name).read_text("utf-8"))
