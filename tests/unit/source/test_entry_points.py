"""The folder of code of a target, and the interpreter of a script, from its first line."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from jupyter_pai.core import contract
from jupyter_pai.core.errors import UsageError
from jupyter_pai.source.entry_point import code_folder, interpreter, interpreter_of, is_entry_point, locate, programs

PYTHON = [
    ("#!/usr/bin/env python3", ["python"]),
    ("#! /usr/bin/python", ["python"]),
    ("#!/opt/conda/bin/python3.11 -u", ["python", "-u"]),
    ("#!/usr/bin/python3 -u -W ignore", ["python", "-u -W ignore"]),
    ("#!/usr/bin/env -S python3 -u -W ignore", ["python", "-u", "-W", "ignore"]),
    ("#!/usr/bin/env -S python3 -u\r", ["python", "-u"]),
    ("#!/usr/bin/env -S A=1 python3 -u", ["/usr/bin/env", "-S A=1 python3 -u"]),
    ("#!/usr/bin/env -S python3 -c 'print(1)'", ["/usr/bin/env", "-S python3 -c 'print(1)'"]),
    ("#!/usr/bin/python2", ["/usr/bin/python2"]),
]


@pytest.mark.parametrize("name", ["train.py", "train", "train.sh"])
@pytest.mark.parametrize(("line", "words"), PYTHON)
def test_python_in_a_first_line_is_that_of_the_job(name: str, line: str, words: list[str]) -> None:
    assert shlex.split(interpreter(name, f"{line}\nprint(1)\n".encode())) == words
    launched = contract.launch_line(name, {"lr": "1"}, interpreter=interpreter(name, f"{line}\n".encode()))
    assert shlex.split(launched) == [*words, name, "--lr", "1"]


# An argument that is one word for the kernel, and lines that it does not take.
LINES = [
    "#!/bin/echo", "#! /bin/echo  a  b\t", "#!\t/bin/echo\ta", "#!/bin/echo it's $HOME \\ \"x\" *", "#!/bin/sh -e",
    "#!/usr/bin/env echo", "#!/usr/bin/env -S echo a  b", "#!/usr/bin/env -S A=1 printenv A", "#!/usr/bin/env -Secho a",
    "#!/usr/bin/env -S -i A=1 /bin/sh -e", "#!/usr/bin/env -S sh -c 'echo $#'", "#!/bin/echo a\0b",
]  # fmt: skip


@pytest.mark.parametrize("line", LINES)
def test_script_is_started_as_the_kernel_starts_it(tmp_path: Path, line: str) -> None:
    script = tmp_path / "run"
    script.write_text(f'{line}\necho "ran $0 $*"\n')
    script.chmod(0o755)
    kernel = subprocess.run(["./run", "--lr", "1"], cwd=tmp_path, capture_output=True, check=False)
    launched = contract.launch_line("./run", {"lr": "1"}, interpreter=interpreter_of(tmp_path, script.name))
    ours = subprocess.run(["/bin/sh", "-c", f"exec {launched}"], cwd=tmp_path, capture_output=True, check=False)
    assert (ours.stdout, ours.stderr, ours.returncode) == (kernel.stdout, kernel.stderr, kernel.returncode)
    assert kernel.stdout or kernel.stderr


@pytest.mark.parametrize(
    ("name", "head", "executable", "words"),
    [
        ("a.py", b"print(1)", True, ""),
        ("a.sh", b"echo 1", True, ""),
        ("a.sh", b"\xef\xbb\xbf#!/bin/bash\n", True, ""),
        ("a.ipynb", b"#!/bin/bash\n", True, ""),
        ("a", b"echo 1", True, "sh"),
        ("a", b"#! \necho 1", True, "sh"),
        ("a", b"echo 1", False, ""),
        ("a", b"\x7fELF\0", True, ""),
        ("a.pl", b"#!/usr/bin/perl -w", False, "/usr/bin/perl -w"),
        ("a.sh", b"#!/bin/bash", False, "/bin/bash"),
    ],
)
def test_other_files_run_by_their_suffix_or_as_a_shell_runs_them(
    name: str, head: bytes, executable: bool, words: str
) -> None:
    assert interpreter(name, head, executable=executable) == words


def test_line_ends_of_windows_are_named_with_a_command_that_converts_them(tmp_path: Path) -> None:
    script = tmp_path / "it's run.sh"
    script.write_bytes(b"#!/bin/bash\r\necho ran\r\n")
    with pytest.raises(UsageError, match=r"run.sh, line 1: the line ends with \\r\\n") as caught:
        interpreter_of(tmp_path, script.name)
    command = caught.value.fix.partition(": ")[2]
    subprocess.run(["/bin/sh", "-c", command], check=True)
    assert interpreter_of(tmp_path, script.name) == "/bin/bash"
    assert script.read_bytes() == b"#!/bin/bash\necho ran\n"


def test_words_that_env_does_not_split_are_named_with_a_line_that_works(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("#!/usr/bin/env python3 -u\n")
    with pytest.raises(
        UsageError, match=r"train.py, line 1: the system passes `python3 -u` to env as one word"
    ) as caught:
        interpreter_of(tmp_path, script.name)
    script.write_text(caught.value.fix.partition(": ")[2] + "\n")
    assert interpreter_of(tmp_path, script.name) == "python -u"


def test_programs_of_a_first_line_are_known() -> None:
    assert programs("/usr/bin/env '-S uv run --script'") == ["/usr/bin/env", "uv"]
    assert programs("/usr/bin/env perl") == ["/usr/bin/env", "perl"]
    assert programs("/usr/bin/env '-S A=1 perl'") == ["/usr/bin/env"]
    assert programs("/bin/bash -e") == ["/bin/bash"]


def test_scripts_without_a_known_suffix_are_targets(tmp_path: Path) -> None:
    for name, text, mode in (("a", "#!/bin/sh\n", 0o644), ("b.pl", "1", 0o755), ("c.txt", "1", 0o644)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(mode)
    shutil.copy("/bin/true", tmp_path / "d")
    assert [name for name in "a b.pl c.txt d e".split() if is_entry_point(tmp_path / name)] == ["a", "b.pl"]
    assert locate("a", str(tmp_path), lambda text: tmp_path / text) == (tmp_path, "a")
    with pytest.raises(UsageError, match=r"c.txt: expected a folder, .* begins with `#!`"):
        locate("c.txt", str(tmp_path), lambda text: tmp_path / text)


def packed(path: Path, source: str = "") -> tuple[Path, str]:
    return locate(str(path), source, lambda text: path.parent / text)


def test_folder_is_packed_with_the_folder_around_it(folder: Path) -> None:
    inner = folder / "sub"
    inner.mkdir()
    (inner / "train.py").touch()
    (folder / "link").symlink_to(folder)
    assert packed(inner) == packed(inner, str(inner)) == (inner, "train.py")
    assert packed(inner, str(folder)) == (folder, "sub/train.py")
    assert packed(inner, str(folder / "link")) == (folder / "link", "sub/train.py")
    for spec, entry in (({"command": "make"}, ""), ({"entry_point": "sub/b.py"}, "sub/b.py")):
        assert locate("sub", ".", lambda text: folder / text, spec) == (folder, entry)
    for path in (folder, inner / "train.py"):
        (folder / "other").mkdir(exist_ok=True)
        with pytest.raises(UsageError, match=r"is outside of the folder .*/other"):
            packed(path, str(folder / "other"))


@pytest.mark.parametrize("mark", ["pyproject.toml", ".git"])
def test_script_is_packed_with_the_nearest_project(folder: Path, mark: str) -> None:
    for name in (f"outer/.git/{mark}", f"outer/inner/{mark}", "outer/inner/a/b/x.py", "outer/inner/a/b/x.ipynb"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    path, inner = folder / "outer/inner/a/b/x.py", folder / "outer/inner"
    assert packed(path) == (inner, "a/b/x.py")
    (inner / mark).unlink()
    assert packed(path) == (folder / "outer", "inner/a/b/x.py")
    # A folder that the user names, and a notebook's own folder.
    assert packed(path, str(path.parents[1])) == (path.parents[1], "b/x.py")
    assert packed(path, str(inner)) == (inner, "a/b/x.py")
    assert packed(path.with_suffix(".ipynb")) == (path.parent, "x.ipynb")
    (folder / "outer/.git" / mark).unlink()
    (folder / "outer/.git").rmdir()
    assert packed(path) == (path.parent, "x.py")


def test_home_folder_is_no_project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "home/scripts/.git").mkdir(parents=True)
    for place in (folder, folder / "home"):
        (place / ".git").mkdir()
    script = folder / "home/scripts/x.py"
    script.touch()
    assert code_folder(script) == script.parent
    (script.parent / ".git").rmdir()
    assert code_folder(script) == folder / "home"
    (folder / "link").symlink_to("home")
    monkeypatch.setenv("HOME", str(folder / "link"))
    assert code_folder(script) == script.parent
