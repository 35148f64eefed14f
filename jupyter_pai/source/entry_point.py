"""The entry point of a job: found from a target, with its folder, default names, interpreter, and scripts made of
notebooks.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..core.errors import UsageError
from ..core.i18n import _

# Default entry points in order of preference.
ENTRY_POINTS = ("train.py", "main.py", "run.py", "train.sh", "main.sh", "run.sh")
# Files that can be entry points whatever is in them.
SUFFIXES = (".py", ".sh", ".ipynb")
# Names in the root of a project.
_ROOT_MARKS = ("pyproject.toml", ".git")
# Bytes of a script that have its first line.
HEAD = 1024
_PYTHON = re.compile(r"(.*/)?python(3(\.\d+)?)?")


def locate(
    target: str,
    source: str,
    path_of: Callable[[str], Path],
    spec: Mapping[str, Any] | None = None,
    default: str = "",
) -> tuple[Path, str]:
    """Return the folder of code and the entry point of a target: a folder, script or notebook. The entry point of a
    folder is that of `spec`, or the one of `default_entry_point` if `spec` has no command either.

    `source` is the folder of code if the user chose one; otherwise it is `default` if the target is a file in it, the
    target, or that of `code_folder`.
    `path_of` returns the absolute path of a path that the user wrote.

    Raises:
        UsageError: if the target does not exist, is of another kind, or is outside of `source`.
    """
    path = path_of(target)
    if default and (not path.exists() or (not path.is_dir() and path.is_relative_to(path_of(default)))):
        source = source or default
    folder = path_of(source or ".")
    if not path.exists() and source:
        path = Path(os.path.normpath(folder / target))
    if not path.exists():
        raise UsageError(
            _("{path} does not exist.").format(path=path),
            fix=_("Relative paths start at the notebook's folder, outside of notebooks at the current folder."),
        )
    if path.is_dir():
        folder, known = folder if source else path, spec or {}
        inner = _below(path, folder)
        if known.get("entry_point") or known.get("command"):
            return folder, known.get("entry_point") or ""
        return folder, (inner / default_entry_point(path)).as_posix()
    if not is_entry_point(path):
        raise UsageError(
            _(
                "Unsupported target {path}: expected a folder, .py, .sh, .ipynb, or a script that is executable or "
                "begins with `#!`."
            ).format(path=path),
            fix=_("To run it another way, pass --command."),
        )
    folder = folder if source else code_folder(path)
    return folder, _below(path, folder).as_posix()


def _below(path: Path, folder: Path) -> Path:
    """Return a path from a folder, which may have several names by links.

    Raises:
        UsageError: if it is outside of the folder.
    """
    for one, place in ((path, folder), (Path(os.path.realpath(path)), Path(os.path.realpath(folder)))):
        if one.is_relative_to(place):
            return one.relative_to(place)
    raise UsageError(
        _("{path} is outside of the folder {folder}.").format(path=path, folder=folder),
        fix=_("Name a folder around it with --source, or omit --source."),
    )


def code_folder(path: Path) -> Path:
    """Return the folder that is packed for a script or notebook unless the user chooses one: for a script the nearest
    project root, otherwise its folder."""
    return (path.suffix != ".ipynb" and project_root(path.parent)) or path.parent


def project_root(folder: Path) -> Path | None:
    """Return the nearest folder with `pyproject.toml` or `.git`, from this one upwards; None if there is none. A home
    folder is not a project root, nor are the folders above it."""
    for place in (folder, *folder.parents):
        is_marked = any(os.path.exists(place / mark) for mark in _ROOT_MARKS)
        if place == place.parent or is_home(place, by_owner=is_marked):
            return None
        if is_marked:
            return place
    return None


def is_home(folder: Path, *, by_owner: bool = True) -> bool:
    """Return whether a folder is the home of this user or, with `by_owner`, of the user who owns it."""
    homes = [os.path.expanduser("~")]
    with suppress(OSError, KeyError, NotImplementedError):  # An owner without a name; another system.
        homes += [os.path.expanduser(f"~{folder.owner()}")] if by_owner else []
    return os.path.realpath(folder) in map(os.path.realpath, homes)


def default_entry_point(folder: Path) -> str:
    """Return the script that a folder runs: one of `ENTRY_POINTS`, otherwise its only Python file.

    Raises:
        UsageError: if there are several, or none.
    """
    known = [name for name in ENTRY_POINTS if (folder / name).is_file()]
    scripts = known[:1] or [path.name for path in sorted(folder.glob("*.py"))]
    if len(scripts) == 1:
        return scripts[0]
    raise UsageError(
        _("No entry point found in {folder}.").format(folder=folder),
        fix=_("Name a script, or a command: --command 'python SCRIPT $PAI_USER_ARGS'."),
    )


def is_entry_point(path: Path) -> bool:
    """Return whether a file can be an entry point: by its suffix, or as a script that the system can run."""
    return path.suffix in SUFFIXES or _is_script(*_head_of(path))


def _is_script(head: bytes, executable: bool) -> bool:
    return head.startswith(b"#!") or (executable and b"\0" not in head)


def _head_of(path: Path) -> tuple[bytes, bool]:
    """Return the first bytes of a file, and whether it is executable. Nothing for a file that cannot be read."""
    with suppress(OSError, ValueError):
        if path.is_file():
            with path.open("rb") as file:
                return file.read(HEAD), os.access(path, os.X_OK)
    return b"\0", False


def interpreter_of(folder: str | Path, script: str, files: Mapping[str, str] | None = None) -> str:
    """Return the words that run a script of a folder, or of `files`: see `interpreter`."""
    if files and script in files:
        return interpreter(script, files[script][:HEAD].encode("utf-8", "surrogateescape"))
    head, executable = _head_of(Path(folder, script)) if folder else (b"", False)
    return interpreter(str(Path(folder, script)), head, executable=executable)


def interpreter(name: str, head: bytes, *, executable: bool = False) -> str:
    """Return the words of a shell command that run a script as the system does; empty if its suffix decides.

    `head` has the first bytes of the file. After the interpreter, the kernel passes the rest of a first line as one
    argument; only `env -S` splits it. `python` stands for Python 3 at any path: it is the interpreter of the job.

    Raises:
        UsageError: if the system could not run the script because of its first line.
    """
    suffix = Path(name).suffix
    line = head.partition(b"\n")[0].partition(b"\0")[0].decode("utf-8", "replace")
    text = line[2:].strip(" \t\r")
    if suffix == ".ipynb" or not line.startswith("#!") or not text:
        return "sh" if suffix not in SUFFIXES and _is_script(head, executable) else ""
    program, argument = (*re.split(r"[ \t]+", text, maxsplit=1), "")[:2]
    words = _words_of(program, argument)
    if _PYTHON.fullmatch(words[0]):
        return shlex.join(["python", *words[1:]])
    if line.endswith("\r"):
        raise UsageError(
            _("{file}, line 1: the line ends with \\r\\n, so \\r is a part of the interpreter's name.").format(
                file=name
            ),
            fix=_("Convert the line ends: {command}").format(command=f"sed -i 's/\\r$//' {shlex.quote(name)}"),
        )
    if Path(program).name == "env" and re.match(r"[^-].*[ \t]", argument):
        raise UsageError(
            _("{file}, line 1: the system passes `{argument}` to env as one word.").format(
                file=name, argument=argument
            ),
            fix=_("Write: {line}").format(line=f"#!{program} -S {argument}"),
        )
    return shlex.join([program, argument] if argument else [program])


def programs(words: str) -> list[str]:
    """Return the programs that the words of `interpreter` name: the first one, and the one that `env` runs."""
    program, argument = (*shlex.split(words), "", "")[:2]
    return list(dict.fromkeys(filter(None, [program, _words_of(program, argument)[0]])))


def _words_of(program: str, argument: str) -> list[str]:
    """Return the words of a first line, from the program that `env` runs if that is certain."""
    if Path(program).name != "env" or not argument:
        return [program, *filter(None, [argument])]
    text = argument.removeprefix("-S")
    words = text.split() if text != argument else [argument]
    is_plain = words and not re.search(r"[\\$'\"#\s]|^-|=", words[0]) and not re.search(r"[\\$'\"#]", text)
    return words if is_plain else [program, argument]


def script_of(folder: Path, notebook: str) -> tuple[str, str]:
    """Convert a notebook into a script; return an unused file name and the text.

    Raises:
        NotebookError: if it cannot be read, or if a script cannot do what a kernel does.
    """
    from . import notebook as notebooks, script

    path = Path(notebook)
    name = free_name(folder, str(path.with_suffix(".py")))
    # As in a kernel, the working directory is the notebook's folder.
    cells = notebooks.read(folder / path)
    return name, script.from_cells(cells, changes_folder=path.parent != Path()).text


def free_name(folder: Path, name: str) -> str:
    """Return an unused file name in the folder."""
    path, number = Path(name), 1
    while (folder / path).exists():
        path, number = Path(name).with_stem(f"{Path(name).stem}_{number}"), number + 1
    return path.as_posix()
