"""The magics inside a job, which cannot submit jobs: ``%%pai_train`` runs its cell in place, ``%pai submit`` its
script, and ``%pai rerun`` either again. Steps of workflows and other verbs of ``%pai`` are skipped.

Standard library only; copied into jobs that run a notebook.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import warnings
from codecs import getincrementaldecoder
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ...core import contract
from ...core.errors import Conflict, JobFailed, PaiError
from ...core.i18n import _
from ...source.dataframes import is_frame, save_frame
from ...source.entry_point import default_entry_point, interpreter_of, locate
from ...source.hyperparameters.programs import Code, nargs
from ...source.magic_line import cell_line, split_options, words_of
from ...source.notebook import CodeCell
from ...source.script import readable
from . import conda
from .in_place import InPlaceJob

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

# The notebooks that run around this one, as a list of paths: a notebook never runs itself.
_RUNNING = "JUPYTER_PAI_RUNNING"

Options = Mapping[str, list[str]]


def register(shell: InteractiveShell) -> None:
    """Register the magics. Registering them again has no effect."""
    transformers = shell.input_transformers_cleanup
    if _in_place not in transformers:
        transformers.insert(0, _in_place)
        magics = _Magics(shell)
        cast(Any, shell.events).register("pre_run_cell", magics.before_cell)
        cast(Any, shell.events).register("post_run_cell", magics.after_cell)
        add = cast(Any, shell).register_magic_function
        add(magics.line, magic_kind="line", magic_name="pai")
        if "JUPYTER_PAI_PACKAGES" in os.environ:  # The interpreter is that of the user's kernel.
            add(lambda line: cast(Any, shell).system(f"pip {line}"), magic_kind="line", magic_name="pip")
            for name in ("conda", "mamba", "micromamba"):
                add(_guarded(shell, name), magic_kind="line", magic_name=name)


def _in_place(lines: list[str]) -> list[str]:
    """Return a cell's lines with ``%%pai_train`` as a comment, so that line numbers are unchanged. A cell with
    `--dry-run`, and a step of a workflow, become a comment as a whole.
    """
    line = cell_line("".join(lines))
    if line is None:
        return lines
    first = next(n for n, text in enumerate(lines) if text.strip())
    options: Options = {}
    with suppress(PaiError):  # Shown before the cell runs.
        options = split_options(words_of(line, {}))[1]
    if {"--dry-run", "--help", "--step"} & options.keys():
        return ["# " + text for text in lines]
    return [*lines[:first], "# " + lines[first].lstrip(), *lines[first + 1 :]]


def _guarded(shell: InteractiveShell, name: str) -> Callable[[str], object]:
    """Return IPython's magic of a package manager, without the verbs that change an environment."""
    original = cast(Any, shell).find_line_magic(name)

    def guarded(line: str) -> object:
        if {*conda.CHANGES} & {*line.split()} or original is None:
            raise Conflict(conda.refusal(name))
        return original(line)

    return guarded


class _Magics:
    """The jobs that run in place in one shell."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell
        self.jobs: list[InPlaceJob] = []
        # The fields of the cell that is being run again.
        self.fields: dict[str, Any] | None = None
        # The cells that are running, a cell run again by another one last: the job and its variable.
        self.cells: list[tuple[InPlaceJob | None, str]] = []

    def before_cell(self, info: Any) -> None:
        """Begin the job of a ``%%pai_train`` cell."""
        for earlier in reversed(self.jobs):
            if earlier.ended:
                earlier.stop_recording()
        self.cells.append((None, ""))
        code, fields, self.fields = info.raw_cell, self.fields, None
        line = cell_line(code)
        if line is None:
            return
        try:
            options = split_options(words_of(line, self.shell.user_ns))[1]
        except PaiError as error:
            print(error)
            return
        if "--step" in options:
            text = _("The step `{step}` is skipped inside a job, which cannot run a workflow.")
            print(text.format(step=options["--step"][-1]))
            return
        variable = "" if fields else _variable(options)
        fields = fields or self._fields(options, "cell") | {
            "hyperparameters": _pairs(options, "--hp") | _hyperparameters(),
        }
        fields |= {"nargs": _nargs(fields, code)}
        job = self._job(fields, lambda changed: self._run_cell(code, changed))
        self.cells[-1] = job, variable
        job.start()

    def after_cell(self, result: Any) -> None:
        """End the job of a ``%%pai_train`` cell and assign it to its variable."""
        job, variable = self.cells.pop() if self.cells else (None, "")
        if job is None:
            return
        error = result.error_before_exec or result.error_in_exec
        job.restore()
        if error is None or (isinstance(error, SystemExit) and error.code in (None, 0)):
            job.end(0)
        else:
            code = error.code if isinstance(error, SystemExit) and isinstance(error.code, int) else 1
            job.end(code, f"{type(error).__name__}: {error}")
        if self.cells:
            job.stop_recording()
        self._assign(variable, job)

    def _run_cell(self, code: str, fields: dict[str, Any]) -> InPlaceJob:
        """Run the code of a ``%%pai_train`` cell again."""
        number, self.fields = len(self.jobs), fields
        result = self.shell.run_cell(code)
        job = self.jobs[number]
        if job.exit_code:
            cast(Any, result).raise_error()
        return job

    def line(self, line: str) -> InPlaceJob | None:
        """Run ``%pai submit`` and ``%pai rerun``. Return the job, which is also assigned to the variable of `--as`."""
        words, options = split_options(words_of(line, self.shell.user_ns))
        verb, *targets = words or [""]
        job = None
        if not {"--dry-run", "--help", "--spec"} & options.keys():
            if verb == "submit":
                job = self._submit(targets, options)
            elif verb == "rerun" and targets:
                job = self._rerun(targets[0], options)
        if job is None:
            print(_("`%pai {line}` is skipped inside a job.").format(line=line))
        elif job.exit_code and "--wait" in options:
            text = _("Job {job} ({name}) {status}: {reason}")
            raise JobFailed(text.format(job=job.id, name=job.name, status=_("failed"), reason=job.reason))
        return job

    # The line is expanded by `words_of`, as outside of jobs.
    line._ipython_magic_no_var_expand = True  # type: ignore[attr-defined]

    def _submit(self, targets: list[str], options: Options) -> InPlaceJob | None:
        """Run a script or notebook in place; None for a notebook that is running."""
        source = options.get("--source", [""])[-1]
        command = options.get("--command", [""])[-1]
        folder, entry_point = Path(source or "."), ""
        if targets:
            # The folder of the job stands for a project root, whose marks may not be packed.
            folder, entry_point = locate(targets[0], source, _absolute, {"command": command}, ".")
        elif not command:
            entry_point = default_entry_point(folder)
        if str((folder / entry_point).resolve()) in self._running():
            return None
        own = _hyperparameters()
        name = Path(entry_point).stem or folder.absolute().name
        fields = self._fields(options, name) | {
            "hyperparameters": {key: own.get(key, value) for key, value in _pairs(options, "--hp").items()},
            "command": command,
            "entry_point": entry_point,
            "source": {"folder": str(folder.absolute())},
        }
        return self._run_script(fields, _variable(options))

    def _run_script(self, fields: dict[str, Any], variable: str = "") -> InPlaceJob:
        """Run a script, notebook or command as a child of this process; its output becomes that of this process."""
        values, folder = fields["hyperparameters"], fields["source"]["folder"]
        script, command, args = fields["entry_point"], fields["command"], fields["args"]
        fields |= {"nargs": (several := _nargs(fields))}
        job = self._job(fields, self._run_script)
        line = (
            contract.expand_user_args(command, values, args, several)
            if command
            else contract.launch_line(script, values, None, args, interpreter_of(folder, script), several, by_exec=True)
        )
        try:
            with job.recording(), tempfile.TemporaryDirectory(prefix="pai-") as config:
                Path(config, "hyperparameters.json").write_text(json.dumps(values), "utf-8")
                own = {"PAI_CONFIG_DIR": config + "/", _RUNNING: os.pathsep.join(self._running())}
                exit_code = _run(line, folder, {**os.environ, **own})
                job.end(exit_code, _("The exit code is {code}.").format(code=exit_code))
        except BaseException as error:
            job.end(1, f"{type(error).__name__}: {error}")
            raise
        finally:
            self._assign(variable, job)
        return job

    def _rerun(self, name: str, options: Options) -> InPlaceJob | None:
        """Run an earlier job again with the changes of a line; None for a job of another kind."""
        job = next((job for job in reversed(self.jobs) if name in (job.id, job.name, "last")), None)
        if job is None:
            return None
        changes = self._fields(options, "")
        changes = {field: value for field, value in changes.items() if value}
        again = job.rerun(**changes, hyperparameters=_pairs(options, "--hp"))
        self._assign(_variable(options), again)
        return again

    def _fields(self, options: Options, name: str) -> dict[str, Any]:
        """Return the fields of a spec that options set, besides hyperparameters."""
        return {
            "name": options.get("--name", options.get("--as", [name]))[-1],
            "args": options.get("--", []),
            "environment": _pairs(options, "--env"),
            "inputs": {channel: self._input(channel, text) for channel, text in _pairs(options, "--input").items()},
            "labels": _pairs(options, "--label"),
            "metric_definitions": [
                {"name": metric, "regex": regex} for metric, regex in _pairs(options, "--metric").items()
            ],
        }

    def _input(self, channel: str, text: str) -> str:
        """Return the path of an input: of a file or folder, or of a saved data frame. A URI of a storage is kept."""
        path = Path(text).expanduser()
        value = self.shell.user_ns.get(text)
        if is_frame(value) and not path.exists():
            path = save_frame(value, channel, Path(tempfile.mkdtemp(prefix="pai-")))
        elif "://" in text:
            return text
        return f"{path.absolute()}/" if path.is_dir() else str(path.absolute())

    def _job(self, fields: dict[str, Any], again: Any) -> InPlaceJob:
        job = InPlaceJob(len(self.jobs) + 1, fields, again)
        self.jobs.append(job)
        return job

    def _assign(self, variable: str, job: InPlaceJob) -> None:
        if variable:
            self.shell.user_ns[variable] = job

    def _running(self) -> list[str]:
        """Return the running notebooks: this one, and the ones that run it in place."""
        return [*os.environ.get(_RUNNING, "").split(os.pathsep), str(Path(sys.argv[0]).resolve())]


def _absolute(text: str) -> Path:
    return Path(os.path.abspath(Path(text).expanduser()))


def _run(line: str, folder: str, environment: Mapping[str, str]) -> int:
    """Run a shell command, print its output as it comes, and return its exit code, 128 + n for signal n."""
    process = subprocess.Popen(
        ["/bin/sh", "-c", line], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=-1, stderr=-2
    )
    decode = getincrementaldecoder("utf-8")("replace").decode
    assert process.stdout
    try:
        while data := os.read(process.stdout.fileno(), 1 << 16):
            sys.stdout.write(decode(data))
    except BaseException:
        with suppress(ProcessLookupError):
            process.terminate()
        raise
    finally:
        code = process.wait()
        process.stdout.close()
    return code if code >= 0 else 128 - code


def _nargs(fields: Mapping[str, Any], cell: str = "") -> dict[str, str]:
    """Return the options of a job that take several words: of the code of a cell, or of a script."""
    if not fields["hyperparameters"]:
        return {}
    with warnings.catch_warnings():  # Those of a cell are shown when it runs.
        warnings.simplefilter("ignore")
        if not cell:
            return nargs(Code(fields["source"]["folder"], {}), fields["command"], fields["entry_point"])
        return nargs(Code(os.getcwd(), {"cell.py": readable([CodeCell("", cell)])}), "", "cell.py")


def _variable(options: Options) -> str:
    return options.get("--as", [""])[-1]


def _pairs(options: Options, option: str) -> dict[str, str]:
    pairs = (text.partition("=") for text in options.get(option, []))
    return {name: value for name, _equals, value in pairs}


def _hyperparameters() -> dict[str, str]:
    """Return the hyperparameters of the notebook's job. They take precedence over values in its lines."""
    with suppress(OSError, ValueError):
        path = Path(os.environ.get("PAI_CONFIG_DIR", ""), "hyperparameters.json")
        return {str(name): str(value) for name, value in json.loads(path.read_text("utf-8")).items()}
    return {}
