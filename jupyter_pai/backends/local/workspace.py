"""The folder of a local job: code, configuration, inputs and outputs of the training contract."""

from __future__ import annotations

import json
import os
import re
import shutil
from contextlib import suppress
from pathlib import Path

from ...core import contract
from ...core.errors import DAMAGED
from ...core.i18n import language
from ...jobs.job import Job
from ...jobs.spec import JobSpec
from ...jobs.state_dir import Home, JobFolder, Packing
from ...source import archive
from ..input_links import input_links
from ..runtime import CLIENT_IN_JOB, conda, launcher
from . import container, interpreter
from .container import Container, Mount
from .job_folders import file_path, lay_out_outputs, output_folders, output_root, real_path
from .supervisor import namespaces, output_parameters
from .supervisor.arguments import Role

_PACKAGE = Path(__file__).parents[2]


class Workspace:
    """The files, command and environment of a job. `mode` is the machine's isolation mode (see `namespaces`).

    `own_python`: the job uses the submitting interpreter, which has this package. With a `container`, it uses the
    image's interpreter.
    """

    def __init__(
        self, job: Job, folder: JobFolder, mode: str, *, own_python: bool, container: Container | None = None
    ) -> None:
        self.spec = job.staged_spec
        self.job = job
        self.folder = folder
        self.mode = mode
        self.own_python = own_python and not container
        self.container = container
        self.ml = folder.path / "ml"
        root = str(self.ml) if mode == namespaces.PLAIN and not container else "/ml"
        self.layout = contract.Layout(root, self.spec.layout)
        self.shims = folder.path / "bin"
        self.lib = folder.path / "lib"
        self.packages = folder.path / "packages"
        self.requirements = folder.path / "requirements.txt"
        self._links = folder.path / "root/opt/ml"  # For containers.
        self._home = Home(folder.path.parent.parent)

    def lay_out(self) -> None:
        """Create all files of the job."""
        code = self.ml / self.spec.layout
        for path in (
            code,
            self.ml / "input/config",
            self.ml / "input/data",
            self.folder.log,
            self.folder.path / "root",
        ):
            path.mkdir(parents=True, exist_ok=True)
        archive.unpack(self.folder.source, code)
        for inner, place in input_links(self.job.spec).items():
            if not os.path.lexists(code / inner):
                (code / inner).parent.mkdir(parents=True, exist_ok=True)
                (code / inner).symlink_to(f"{self.layout.root}/input/data/{place}")
        (self.ml / "input/config/hyperparameters.json").write_text(
            json.dumps(self.spec.hyperparameters, ensure_ascii=False, indent=1), "utf-8", "surrogateescape"
        )
        for channel, uri in self.spec.inputs.items():
            self._expose(_input(uri)[0], self.ml / "input/data" / channel)
        self._expose(output_root(self.spec, self.folder), self.ml / "output")
        lay_out_outputs(self.spec, self.folder, in_container=bool(self.container))
        if self.container:
            self._links.mkdir(parents=True)
            for name, target in namespaces.opt_ml_links(self.spec.layout).items():
                (self._links / name).symlink_to(target)
        else:
            launcher.write_shims(str(self.shims), self.job.python, str(self.packages), interpreter.find_uv())
            conda.write_guards(str(self.shims))
        self._lay_out_requirements(code)
        if not self.own_python:
            self._lay_out_lib()

    def _expose(self, target: Path, path: Path) -> None:
        """Make `target` available at `path`: by a link, or by a mount over an empty folder for a container."""
        if self.container:
            path.mkdir()
        else:
            path.symlink_to(target)

    def _mounts(self, image: str) -> list[Mount]:
        """Return the mounts of a container. Inputs are read-only: they may be the outputs of other jobs."""
        inputs = [(_input(uri)[0], f"/ml/input/data/{channel}") for channel, uri in self.spec.inputs.items()]
        output = output_root(self.spec, self.folder)
        noted = [
            Mount(self.folder.channel(name, path), f"/ml/output/{name}", writable=True)
            for name, path in output_folders(self.spec, self.folder).items()
            if path != output / name
        ]
        writable = [(self.ml, "/ml"), (output, "/ml/output")]
        tools = [
            (self._links, "/opt/ml"),
            (self.lib, container.PACKAGE),
            (_PACKAGE / "locale", f"{container.PACKAGE}/locale"),
        ]
        if self.requirements.exists():
            environments = self._home.image_environments(image)
            (environments / "data").mkdir(parents=True, exist_ok=True)
            (environments / "ready").touch()  # The last use, for the removal of unused environments.
            writable.append((environments / "data", container.ENVIRONMENTS))
        return [
            *(Mount(Path(real_path(path)), place, writable=True) for path, place in writable),
            *(Mount(Path(real_path(path)), place) for path, place in (*inputs, *tools)),
            *noted,
        ]

    def _lay_out_requirements(self, code: Path) -> None:
        """Write the requirements of the spec. The launcher in the job reads those of the code."""
        needed = _FOR_NOTEBOOKS if self.spec.runs_notebook and not self.own_python else ()
        lines = (*needed, *self.spec.requirements)
        if lines or (code / "requirements.txt").is_file():
            self.requirements.write_text("".join(f"{line}\n" for line in lines), "utf-8")

    def roles(self) -> list[Role]:
        """Return the roles, with the commands that the supervisor runs."""
        return [
            Role(role, spec.instance_count, self._command(spec), not self.spec.roles or spec.gpu != 0)
            for role, spec in self.spec.by_role.items()
        ]

    def _command(self, spec: JobSpec) -> list[str]:
        """Return the command of the role with this spec."""
        line = spec.command_line
        if not spec.command.strip():
            # Without `exec`, a stop would kill the shell before the script can clean up.
            line = spec.launch_line(self._inputs(path=True) if spec.layout == "code" else None, by_exec=True)
        words = [*self._launcher(spec.image), "/bin/sh", "-c", line]
        if not self.container:
            return words
        variables = [*self.variables(), *spec.secrets]
        return self.container.command(
            spec, words, self.layout.code, self._mounts(spec.image), variables, self._import_paths()
        )

    def _launcher(self, image: str) -> list[str]:
        """Return the command prefix that creates the environment with the requirements; empty without requirements."""
        if not self.requirements.exists():
            return []
        if self.container:
            words = [
                *("python", "-I", f"{container.PACKAGE}/launcher.py"),
                f"code={self.layout.code}",
                f"requirements={container.PACKAGE}/requirements.txt",
                f"environments={container.ENVIRONMENTS}",
                f"shims={container.SHIMS}",
                f"packages={container.PACKAGES}",
                "uv=",
                f"image={image}",
            ]
        else:
            words = [
                *(self.job.python, "-I", f"{_PACKAGE}/{_LAUNCHER}"),
                f"code={self.layout.code}",
                f"requirements={self.requirements}",
                f"environments={self._home.environments}",
                f"shims={self.shims}",
                f"packages={self.packages}",
                f"uv={interpreter.find_uv()}",
            ]
        return [*words, "--"]

    def _inputs(self, *, path: bool) -> dict[str, str]:
        """Return the file named by each input's URI: its name in the channel, or its whole path."""
        files = {channel: _input(uri)[1] for channel, uri in self.spec.inputs.items()}
        return {channel: self.layout.input(channel, file) if path else file for channel, file in files.items()}

    def contract_variables(self) -> tuple[dict[str, str], list[str]]:
        """Return the contract's variables, and the names without a short variable."""
        return contract.environment(
            self.layout,
            self.spec.hyperparameters,
            self._inputs(path=False),
            output_folders(self.spec, self.folder),
            self.spec.args,
            self.spec.nargs,
        )

    def environment(self) -> dict[str, str]:
        """Return the whole environment of the job's process."""
        if self.container:
            return self.container.environment(self.variables())
        environment = interpreter.search_environment(self.job.python)
        environment["PATH"] = launcher.search_path(
            str(self.shims), self.job.python, environment.get("PATH", os.defpath)
        )
        own = environment | self.variables()
        ours = [*([] if self.own_python else [str(self.lib)]), str(_PACKAGE / _FIGURES)]
        own["PYTHONPATH"] = os.pathsep.join(filter(None, [*self._import_paths(), own.get("PYTHONPATH"), *ours]))
        return own

    def _import_paths(self) -> list[str]:
        """Return the folders of the project's packages, in the job, and of the packages that the job installs."""
        packages = container.PACKAGES if self.container else self.packages
        return [f"{packages}/site", *self._project_paths()]

    def _project_paths(self) -> list[str]:
        return [os.path.normpath(self.layout.code + path) for path in Packing.read(self.folder).import_paths]

    def variables(self) -> dict[str, str]:
        """Return the job's own variables: of the contract, of this package, of the spec."""
        return {
            **self.contract_variables()[0],
            "JUPYTER_PAI_JOB_ID": self.job.id,
            **({} if self.container or self.layout.root != "/ml" else {interpreter.ML: str(self.ml)}),
            **({} if self.container else {"JUPYTER_PAI_PACKAGES": str(self.packages)}),
            "JUPYTER_PAI_LANGUAGE": language(),
            "PYTHONUNBUFFERED": "1",
            # A notebook shows its figures itself.
            **({} if self.spec.runs_notebook else {"MPLBACKEND": interpreter.figure_backend()}),
            "MASTER_ADDR": "127.0.0.1",
            "WORLD_SIZE": str(self.spec.instance_count),  # Port and rank are set at the start.
            "CHIEF_IP": "127.0.0.1",
            "NODE_NUM": str(self.spec.instance_count),
            **({"CUDA_VISIBLE_DEVICES": ""} if self.spec.gpu == 0 and not self.spec.roles else {}),
            **({"TERM": "xterm-256color"} if self.spec.tty else {}),
            **self.spec.environment,
            # A notebook job masks the values of these variables in the notebook that it writes.
            **({"JUPYTER_PAI_SECRETS": " ".join(self.spec.secrets)} if self.spec.secrets else {}),
        }

    def _lay_out_lib(self) -> None:
        """Copy the modules that jobs need into a folder, for interpreters without this package."""
        package = self.lib / "jupyter_pai"
        names = (*_TRAVELS, *(_TRAVELS_WITH_NOTEBOOKS if self.spec.runs_notebook else ()))
        for file, name in (*zip(names, names, strict=True), CLIENT_IN_JOB):
            (package / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(_PACKAGE / file, package / name)
            for folder in Path(name).parents[:-1]:
                (package / folder / "__init__.py").write_text(_TRAVELLING_FOLDER, "utf-8")
        (package / "__init__.py").write_text(_TRAVELLING, "utf-8")
        if self.container:
            (self.lib / "locale").mkdir()  # A mount point in a read-only mount.
            shutil.copy(_PACKAGE / _LAUNCHER, self.lib)
            shutil.copy(_PACKAGE / _FIGURES / "jupyter_pai_figures.py", self.lib)
            if self.requirements.exists():
                shutil.copy(self.requirements, self.lib)
        if self.spec.runs_notebook:
            for path in _PACKAGE.glob("locale/*/LC_MESSAGES/*.mo"):
                (package / path.relative_to(_PACKAGE)).parent.mkdir(parents=True)
                shutil.copy(path, package / path.relative_to(_PACKAGE))

    def fixed_paths(self) -> list[tuple[str, int, str]]:
        """Return file, line and folder of the first path below /ml or /opt/ml in each file of the code."""
        places = []
        code = self.ml / self.spec.layout
        for path in sorted(code.rglob("*")):
            if path.suffix in (".py", ".sh") and path.is_file():
                name, lines = path.relative_to(code).as_posix(), enumerate(path.read_bytes().splitlines(), 1)
                found = [(name, n, match[1].decode()) for n, line in lines if (match := _FIXED_PATH.search(line))]
                places += found[:1]
        return places


_TRAVELLING = '''"""The part of jupyter-pai that travels with a job."""

from pkgutil import extend_path

__path__ = extend_path(__path__, __name__)


def load_ipython_extension(shell):
    from .backends.runtime.magics import register

    register(shell)
'''
# Its subpackages; other modules are found in an installed package.
_TRAVELLING_FOLDER = "from pkgutil import extend_path\n\n__path__ = extend_path(__path__, __name__)\n"
_LAUNCHER = "backends/runtime/launcher.py"
_FIGURES = "backends/runtime/plots"
_TRAVELS = (
    *("report.py", "jobs/events.py", "jobs/metrics/points.py"),
    *(f"core/{name}.py" for name in ("contract", "errors", "i18n", "shell_words", "text")),
    *(f"source/{name}.py" for name in ("cell_code", "dataframes", "entry_point", "magic_line", "notebook", "script")),
    "source/import_paths.py",
    *(f"source/hyperparameters/{name}.py" for name in "check command_line parameters_cell programs".split()),
    *(f"source/hyperparameters/{name}.py" for name in ("syntax", "values", "words")),
    *(f"backends/runtime/{name}.py" for name in ("conda", "in_place", "launcher", "magics", "recorded_output")),
)
_TRAVELS_WITH_NOTEBOOKS = (
    *(
        f"backends/runtime/{name}.py"
        for name in ("run_notebook", "notebook_client", "executed_notebook", "kernel", "parameters")
    ),
    *("core/secret_filter.py", "source/jupyter_pai_shell.py"),
)
# Requirements of notebook jobs for other interpreters.
_FOR_NOTEBOOKS = ("nbclient", "ipykernel", "nbconvert")
_FIXED_PATH = re.compile(rb"""(?:^|[\s"'=(])(/ml|/opt/ml)(?:/|["'])""")


def stored_parameters(folder: JobFolder) -> tuple[dict[str, str], int]:
    """Return the stored output parameters, and the number of omitted ones."""
    with suppress(*DAMAGED):
        stored = json.loads((folder.path / output_parameters.STORED).read_bytes())
        return {str(name): str(text) for name, text in stored["values"].items()}, int(stored["omitted"])
    return {}, 0


def _input(uri: str) -> tuple[Path, str]:
    """Return the folder of a channel, and the file named by its URI ("" for the whole folder)."""
    path = file_path(uri)
    return (path, "") if path.is_dir() else (path.parent, path.name)
