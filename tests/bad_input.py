"""What users get wrong after `submit`, and what the answer must have in it, wherever it is said."""

from __future__ import annotations

from pathlib import Path

__all__ = ["FAILING", "REFUSED", "prepare"]

# Before anything is submitted: what is wrong and where, then what to do.
REFUSED = [
    ("--source nowhere --command true", "nowhere", "Relative paths"),
    ("--source empty --command true", "nothing to pack in", "--source"),
    ("nowhere.py", "nowhere.py", "Relative paths"),
    ("data.csv", "data.csv", ".ipynb"),
    ("broken.ipynb", "broken.ipynb", "save it again"),
    ("--command true --backend lokal", "`lokal`", "`local`"),
    ("--command true --profile wrok", "`wrok`", "`local`"),
    ("--command true --instnce-type x", "--instnce-type", "`--instance-type`"),
    ("--command true --metric l=a(b", "a(b\n     ^", ""),
    ("--command true --metric l=ab", "`l`", "group"),
    ("--command true --input a=http://[bad", "http://[bad", ""),
    ("--command true --input a=oss://bucket/key", "oss://bucket/key", "local path"),
    ("--command true --input a=empty --input a=empty", "`a` is given twice", "Leave"),
    ("--command true --input a=/no/data", "/no/data", "Relative paths"),
    ("--command true --output model=/etc/passwd", "/etc/passwd", "folder of yours"),
    ("--command true --hp novalue", "--hp: `novalue`", "quotes"),
    ("--command true --max-run-time soon", "soon", "--max-run-time"),
    ("--command true --python no-such-env", "`no-such-env`", "python3"),
    ("--command true --spec nowhere.toml", "nowhere.toml", ""),
    ("--command 'open", "split into words", "quot"),
]

# Jobs that start and fail: why, and what to do.
FAILING = [
    ("--command 'trian --x 1'", "There is no command `trian`.", "./trian"),
    ("needs_module.py", "`no_such_module` is missing", "--requirement no_such_module"),
    ("asks.py", "asks for input", "--hp"),
    ("--command 'kill -SEGV $$'", "SIGSEGV", "native"),
    ("--command 'ulimit -v 400000; python hungry.py'", "Out of memory", "smaller"),
    ("--command 'exit 7'", "exit code 7", ""),
]


def prepare(folder: Path) -> None:
    """The files that the lines name."""
    (folder / "empty").mkdir()
    (folder / "data.csv").write_text("1,2\n")
    (folder / "broken.ipynb").write_text("{")
    (folder / "needs_module.py").write_text("import no_such_module\n")
    (folder / "asks.py").write_text("input('how many? ')\n")
    (folder / "hungry.py").write_text("x = bytearray(10**9)\n")
