"""The fixes that messages offer: each one is run as written, from the folder where it was offered."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from ...conftest import script
from ...support.fake_keys import CERTAIN
from ..local.test_job_packages import TINY, make_wheel

Cli = Callable[..., subprocess.CompletedProcess[str]]

GITHUB_TOKEN = CERTAIN["github"][0]
VALUE = r"(?:'[^']*'(?:\"'\"'[^']*')*|[^\s;,()]*(?:=\.|[^\s;,().]))"
OPTIONS = re.compile(
    rf"(omit )?(--(?:input|allow-secret|include|exclude|requirement|env|source|hp)) ({VALUE})( (?=--))?"
)
LINES = re.compile(r"add the lines? (`.*?`) to (.*?ignore)\.")


@dataclass(frozen=True)
class Fix:
    """Options to add or omit, or lines to add to a file."""

    added: tuple[str, ...] = ()
    omitted: tuple[str, ...] = ()
    file: str = ""
    lines: tuple[str, ...] = ()


def fixes(text: str) -> Iterator[Fix]:
    """Yield the fixes in a message; options with only a space between them are one."""
    for lines, file in LINES.findall(text):
        yield Fix(file=file, lines=tuple(re.findall("`([^`]*)`", lines)))
    added: list[str] = []
    for omits, option, value, more in OPTIONS.findall(LINES.sub("", text)):
        words = (option, *shlex.split(value))
        if omits:
            yield Fix(omitted=words)
            continue
        added += words
        if not more:
            yield Fix(tuple(added))
            added = []


CSV = {"data/train.csv": "1,2", "data/more/test.csv": "3"}
READ = "print(open('data/train.csv').read())"
LIST = "import os\nnames = sorted(os.listdir('data'))\nassert names == ['more', 'train.csv']\n"
PARSER = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--mode', required=True)\np.parse_args()"
OUTSIDE = "import os\nopen(os.environ.get('PAI_INPUT_X', '../data/x.csv'))"
KEY = {".aws/config": "region = here", ".env": "A=b"}
CASES: dict[str, tuple[Mapping[str, str], Sequence[str], int]] = {
    "folder": ({"train.py": READ, ".gitignore": "data/\n", **CSV}, (), 2),
    "content": ({"train.py": READ, ".gitignore": "data/*\n", **CSV}, (), 2),
    "folder and content": ({"train.py": READ, ".gitignore": "data/\n*.csv\n", **CSV}, (), 2),
    "all files": ({"train.py": LIST, ".gitignore": "*.csv\n", **CSV}, (), 2),
    "glob": (
        {"train.py": "import glob; assert glob.glob('data/*.csv')", ".gitignore": "*.csv\n", "data/a.txt": "", **CSV},
        (),
        2,
    ),
    "inner rule": ({"train.py": READ, "data/.paiignore": "*.csv\n", **CSV}, (), 2),
    "odd name": (
        {"train.py": "print(open('my data/a[1]*.csv').read())", ".gitignore": "*.csv\n", "my data/a[1]*.csv": "1"},
        (),
        2,
    ),
    "exclude": ({"train.py": READ, **CSV}, ("--exclude", "data/"), 2),
    "include": ({"train.py": READ, **CSV}, ("--include", "*.py"), 2),
    "file with a secret name": ({"train.py": "print(open('.env').read())", **KEY}, (), 2),
    "file in a folder of secrets": ({"train.py": "print(open('.aws/config').read())", **KEY}, (), 2),
    "folder of secrets": ({"train.py": "import os; assert os.listdir('.aws')", **KEY}, (), 1),
    "link": ({"train.py": READ, "data": "link"}, (), 1),
    "broken link": ({"train.py": "", "a[b].bin": "broken"}, (), 1),
    "detected secret": ({"train.py": "", "conf/a b.ini": f"token = {GITHUB_TOKEN}\n"}, (), 2),
    "secret in a field": ({"train.py": ""}, ("--env", f"TOKEN={GITHUB_TOKEN}"), 1),
    "path in another file": (
        {"train.py": "print(open(open('a.txt').read().strip()).read())", "a.txt": "data/train.csv", **CSV}
        | {".gitignore": "data/\n"},
        (),
        2,
    ),
    "excluded module": (
        {"train.py": "import tools.a", "tools/__init__.py": "", "tools/a.py": "", ".gitignore": "tools/\n"},
        (),
        2,
    ),
    "module elsewhere in the code": ({"train.py": "import tools", "lib/tools.py": ""}, (), 1),
    "path beside the code": ({"train.py": OUTSIDE, "../data/x.csv": ""}, (), 2),
    "module beside the code": ({"train.py": "import ours_pai", "../ours_pai/a.py": ""}, (), 1),
    "package": ({"train.py": f"import {TINY}"}, (), 1),
    "hyperparameter": ({"train.py": PARSER}, (), 1),
}


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "wheels").mkdir()
    make_wheel(tmp_path / "wheels")
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(tmp_path / "wheels"))


@pytest.mark.usefixtures("wheels")
@pytest.mark.slow("jobs", first=2)
@pytest.mark.parametrize("case", list(CASES))
def test_offered_fix_works_as_written(cli: Cli, tmp_path: Path, case: str) -> None:
    files, options, count = CASES[case]
    folder = tmp_path / "project/some code"

    def run(fix: Fix) -> subprocess.CompletedProcess[str]:
        shutil.rmtree(tmp_path / "project", ignore_errors=True)
        script(tmp_path, "kept", "elsewhere/train.csv")
        for name, text in files.items():
            target = tmp_path / ("elsewhere" if text == "link" else "nowhere")
            script(folder, text, name) if text not in ("link", "broken") else (folder / name).symlink_to(target)
        if fix.file:
            with Path(fix.file).open("a") as file:
                file.writelines(f"{line}\n" for line in fix.lines)
        words = shlex.join(["submit", "project/some code/train.py", "--source", "project/some code", *options])
        words = words.replace(f" {shlex.join(fix.omitted)}", "") if fix.omitted else words
        return cli(*shlex.split(words), *fix.added, "--wait", cwd=tmp_path)

    offered = run(Fix())
    assert offered.returncode != 0, offered.stdout
    found = list(dict.fromkeys(fixes(offered.stdout + offered.stderr)))
    assert len(found) == count, offered.stdout + offered.stderr
    for fix in found:
        done = run(fix)
        assert done.returncode == 0, (fix, done.stdout + done.stderr)
