"""The folder of a local job: code, configuration, inputs and outputs as the training contract has them."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
from pathlib import Path

from ... import archive, contract, launcher
from ...errors import BadInput
from ...home import JobFolder
from ...i18n import _, language
from ...job import Job, JobSpec
from . import interpreter, namespaces

__all__ = ["Workspace", "file_path", "find_uv", "output_folders"]

_PACKAGE = Path(__file__).parents[2]


class Workspace:
    """What a job finds when it starts. `mode` is what this machine allows (see `namespaces`).

    `own_python`: the job runs with the interpreter that submitted it, which has our package.
    """

    def __init__(self, job: Job, folder: JobFolder, mode: str, *, own_python: bool) -> None:
        self.spec = job.spec
        self.job = job
        self.folder = folder
        self.mode = mode
        self.own_python = own_python
        self.ml = folder.path / "ml"
        root = str(self.ml) if mode == namespaces.PLAIN else "/ml"
        self.layout = contract.Layout(root, self.spec.layout)
        self.shims = folder.path / "bin"
        self.lib = folder.path / "lib"
        self.requirements = folder.path / "requirements.txt"

    def lay_out(self) -> None:
        """Make everything but the process."""
        code = self.ml / self.spec.layout
        for path in (code, self.ml / "input/config", self.ml / "input/data", self.folder.log):
            path.mkdir(parents=True, exist_ok=True)
        (self.folder.path / "root").mkdir(exist_ok=True)
        archive.unpack(self.folder.source, code)
        text = json.dumps(self.spec.hyperparameters, ensure_ascii=False, indent=1)
        (self.ml / "input/config/hyperparameters.json").write_text(text, "utf-8", "surrogateescape")
        for channel, uri in self.spec.inputs.items():
            target, _file = _input(uri)
            (self.ml / "input/data" / channel).symlink_to(target)
        self._lay_out_outputs()
        launcher.write_shims(str(self.shims), self.job.python)
        self._lay_out_requirements(code)
        if not self.own_python:
            self._lay_out_lib()

    def _lay_out_outputs(self) -> None:
        """Outputs are links, so that what a job writes is where it belongs while the job runs."""
        output = output_root(self.spec, self.folder)
        (self.ml / "output").symlink_to(output)
        for channel, path in output_folders(self.spec, self.folder).items():
            path.mkdir(parents=True, exist_ok=True)
            _link(output / channel, path)
        for alias, channel in contract.ALIASES.items():
            _link(output / alias, output / channel, relative=True)

    def _lay_out_requirements(self, code: Path) -> None:
        """One file out of the code's own and the user's, of which the latter win."""
        lines = list(self.spec.requirements)
        wanted = {_project(line) for line in lines}
        if (code / "requirements.txt").is_file():
            text = (code / "requirements.txt").read_text("utf-8", "replace")
            kept = (line for line in text.splitlines() if _project(line) not in wanted)
            lines = [_absolute(line, f"{self.layout.code}") for line in kept] + lines
        if any(line.strip() and not line.lstrip().startswith("#") for line in lines):
            self.requirements.write_text("\n".join(lines) + "\n", "utf-8")

    @property
    def command(self) -> list[str]:
        """What the supervisor executes."""
        line = self.spec.command_line
        if self.spec.layout == "code" and not self.spec.command:
            line = contract.launch_line(self.spec.entry_point, self.spec.hyperparameters, self._inputs(path=True))
        shell = ["/bin/sh", "-c", line]
        if not self.requirements.exists():
            return shell
        home = self.folder.path.parent.parent
        return [
            self.job.python,
            "-I",
            str(_PACKAGE / "launcher.py"),
            f"requirements={self.requirements}",
            f"environments={home / 'environments'}",
            f"shims={self.shims}",
            f"uv={find_uv()}",
            "--",
            *shell,
        ]

    def _inputs(self, *, path: bool) -> dict[str, str]:
        """Per channel the file that its URI names, as it is called in the channel or with its whole path."""
        files = {channel: _input(uri)[1] for channel, uri in self.spec.inputs.items()}
        return {channel: self.layout.input(channel, file) if path else file for channel, file in files.items()}

    def contract_variables(self) -> tuple[dict[str, str], list[str]]:
        """The variables of the training contract, and the names that have no short variable."""
        channels = output_folders(self.spec, self.folder)
        return contract.environment(self.layout, self.spec.hyperparameters, self._inputs(path=False), channels)

    def environment(self) -> dict[str, str]:
        """All variables of the job."""
        ours, _nameless = self.contract_variables()
        environment = interpreter.search_environment(self.job.python)
        if not self.own_python:
            environment["PYTHONPATH"] = os.pathsep.join(filter(None, [environment.get("PYTHONPATH"), str(self.lib)]))
        return environment | {
            **ours,
            "JUPYTER_PAI_JOB_ID": self.job.id,
            "JUPYTER_PAI_LANGUAGE": language(),
            "PYTHONUNBUFFERED": "1",
            "PATH": launcher.search_path(str(self.shims), self.job.python, environment.get("PATH", os.defpath)),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(_free_port()),
            "WORLD_SIZE": "1",
            "RANK": "0",
            **({"TERM": "xterm-256color"} if self.spec.tty else {}),
            **self.spec.environment,
        }

    def _lay_out_lib(self) -> None:
        """A folder from which `from jupyter_pai import report` works without our package being installed."""
        package = self.lib / "jupyter_pai"
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").write_text(_TRAVELLING, "utf-8")
        shutil.copy(_PACKAGE / "report.py", package)

    def fixed_paths(self) -> list[tuple[str, int]]:
        """Where the code spells a path below /ml: file and line, of each file the first."""
        found = []
        code = self.ml / self.spec.layout
        for path in sorted(code.rglob("*")):
            if path.suffix in (".py", ".sh") and path.is_file():
                lines = path.read_bytes().splitlines()
                numbers = [n for n, line in enumerate(lines, 1) if _FIXED_PATH.search(line)]
                found += [(path.relative_to(code).as_posix(), n) for n in numbers[:1]]
        return found


_TRAVELLING = '''"""The part of jupyter-pai that travels with a job: `report`."""

from pkgutil import extend_path

__path__ = extend_path(__path__, __name__)
'''
_FIXED_PATH = re.compile(rb"""(?:^|[\s"'=(])/ml(?:/|["'])""")


def output_root(spec: JobSpec, folder: JobFolder) -> Path:
    """The folder that is /ml/output."""
    path = file_path(spec.output_path) if spec.output_path else folder.output
    path.mkdir(parents=True, exist_ok=True)
    return path


def _link(place: Path, target: Path, *, relative: bool = False) -> None:
    """Let `place` reach `target`; by a relative link if they lie side by side.

    A folder that an earlier job filled stays: its content is never touched.
    """
    if place == target or (os.path.lexists(place) and os.path.realpath(place) == os.path.realpath(target)):
        return
    if place.is_symlink():
        place.unlink()
    elif place.is_dir() and not any(place.iterdir()):
        place.rmdir()
    elif os.path.lexists(place):
        raise BadInput(
            _("The output {place} is in use by a folder with content.").format(place=place),
            fix=_("Move it away, or choose another output folder."),
        )
    place.symlink_to(target.name if relative else target)


def output_folders(spec: JobSpec, folder: JobFolder) -> dict[str, Path]:
    """Each output channel's own folder."""
    root = file_path(spec.output_path) if spec.output_path else folder.output
    standard = {channel: root / channel for channel in contract.CHANNELS}
    chosen = {contract.ALIASES.get(name, name): file_path(uri) for name, uri in spec.outputs.items()}
    return {**standard, **chosen}


def file_path(uri: str) -> Path:
    """The local path that a URI or a path means.

    Raises:
        BadInput: for a URI that is not local, and for a path that is not absolute.
    """
    from urllib.parse import unquote, urlsplit

    path = uri
    if "://" in uri:
        try:
            parts = urlsplit(uri)
        except ValueError as error:
            raise BadInput(_("`{uri}` is no URI: {error}.").format(uri=uri, error=error)) from None
        if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
            raise BadInput(
                _("The local backend cannot reach `{uri}`.").format(uri=uri),
                fix=_("Give a local path or a file:// URI."),
            )
        path = unquote(parts.path)
    if not path.startswith("/") or "\0" in path:
        raise BadInput(
            _("`{uri}` is not an absolute path.").format(uri=uri), fix=_("Give a local path or a file:// URI.")
        )
    return Path(os.path.normpath(path))


def _input(uri: str) -> tuple[Path, str]:
    """The folder that becomes the channel, and the file in it that the URI names ("" for the whole folder)."""
    path = file_path(uri)
    return (path, "") if path.is_dir() else (path.parent, path.name)


def _project(requirement: str) -> str:
    name = re.match(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)", requirement)
    return re.sub(r"[-_.]+", "-", name[1]).lower() if name else ""


def _absolute(line: str, code: str) -> str:
    """A line of the code's requirements.txt, with paths that are relative to it made absolute."""
    option = re.match(r"\s*(-[rce]|--requirement|--constraint|--editable)[\s=]+(?=[^/\s])(?!\w+:)", line)
    if option:
        return f"{option[1]} {code}{line[option.end() :]}"
    return code + line.strip() if re.match(r"\s*\.\.?(/|$)", line) else line


def find_uv() -> str:
    """The path of uv; empty if there is none."""
    try:
        from uv import find_uv_bin

        return str(find_uv_bin())
    except (ImportError, FileNotFoundError):
        return shutil.which("uv") or ""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
