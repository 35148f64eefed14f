"""Wrong arguments of `submit`, and the expected message and fix."""

from __future__ import annotations

import json
from pathlib import Path

from .fake_keys import CERTAIN

__all__ = ["FAILING", "QUESTIONED", "REFUSED", "prepare"]

# Before anything is submitted: what is wrong and where, then what to do.
REFUSED = [
    ("--source nowhere --command true", "nowhere", "Relative paths"),
    ("--source empty --command true", "No files to pack in", "--source"),
    ("nowhere.py", "nowhere.py", "Relative paths"),
    ("data.csv", "data.csv", ".ipynb"),
    ("broken.ipynb", "broken.ipynb", "save it again"),
    ("other.ipynb", "is R, not Python", "--command"),
    ("--as-script asks.py", "--as-script", "omit the option"),
    ("--command true --backend lokal", "`lokal`", "`local`"),
    ("--command true --profile wrok", "`wrok`", "`local`"),
    ("--command true --instnce-type x", "--instnce-type", "`--instance-type`"),
    ("--command true --metric l=a(b", "a(b\n     ^", ""),
    ("--command true --metric l=ab", "`l`", "group"),
    ("--command true --input a=http://[bad", "http://[bad", ""),
    ("--command true --input a=oss://bucket/key", "oss://bucket/key", "profile set"),
    ("--command true --input a=empty --input a=empty", "duplicate name `a`", "Remove"),
    ("--command true --input a=/no/data", "/no/data", "Relative paths"),
    ("--command true --output model=/etc/passwd", "/etc/passwd", "folder of your own"),
    ("--command true --hp novalue", "--hp takes one word", "--hp novalue=VALUE"),
    ("--command true --max-run-time soon", "soon", "--max-run-time"),
    ("--command true --python no-such-env", "`no-such-env`", "python3"),
    ("--command true --spec nowhere.toml", "nowhere.toml", ""),
    ("--command true --secret NOWHERE", "Unknown secret `NOWHERE`", "secret set NOWHERE"),
    ("--command true --secret a-b", "Invalid variable for a secret", "VARIABLE=NAME"),
    ("--command true --secret A=b/c", "The secret of `A`", "secret set NAME"),
    ("--source leaky --command true", "conf/run.yaml, line 2 (GitHub token)", "--allow-secret conf/run.yaml"),
    (f"--command true --env A={CERTAIN['github'][0]}", "environment variable `A` (GitHub token)", "--secret NAME"),
    ("--command 'open", "Cannot parse the line", "quot"),
]

# Jobs that start and fail: why, and what to do.
FAILING = [
    ("--command 'trian --x 1'", "Command `trian` not found.", "./trian"),
    ("needs_module.py", "`no_such_module` is missing", "--requirement no_such_module"),
    ("asks.py", "reads standard input", "--hp"),
    ("asks.ipynb", "cell 1: The script reads standard input", "--hp"),
    ("raises.py", "ValueError: bad shape (part/deep.py, line 2)", ""),
    ("unfinished.py", "was never closed (unfinished.py, line 1)", ""),
    ("takes_lr.py --anyway --hp lerning-rate=0.1", "unrecognized arguments: --lerning-rate 0.1", "--hp lerning-rate"),
    ("reads.py", "`data/train.csv`", "--input"),
    ("--command 'kill -SEGV $$'", "SIGSEGV", "native"),
    ("--command 'ulimit -v 400000; python hungry.py'", "Out of memory", "smaller"),
    ("--command 'exit 7'", "exit code 7", ""),
]


# Hyperparameters that the code rejects: without a prompt the job is submitted with a note.
QUESTIONED = [
    ("takes.py --hp epohcs=3", "`epohcs`", "Did you mean `epochs`?"),
    ("takes.py --hp learning_rate=1", "`learning_rate`", "is spelled `learning-rate`"),
    ("takes.py --hp epochs=many", "`many` is not a valid int", "takes.py, line 4"),
    ("takes.py --hp model=vti", "`vti` is not one of the choices", "resnet, vit"),
    ("takes.py --hp fast=True", "a flag", "-- --fast"),
    ("takes.py -- --epohcs 3", "`epohcs`", "Did you mean `epochs`?"),
    ("--command 'python -u takes.py $PAI_USER_ARGS' --hp dropout=0.1", "`dropout`", "Known are: epochs"),
]


def prepare(folder: Path) -> None:
    """Write the files that the lines name."""
    (folder / "empty").mkdir()
    (folder / "leaky/conf").mkdir(parents=True)
    (folder / "leaky/conf/run.yaml").write_text(f"a: 1\ntoken: {CERTAIN['github'][0]}\n")
    (folder / ".paiignore").write_text("leaky/\n")
    (folder / "data.csv").write_text("1,2\n")
    (folder / "broken.ipynb").write_text("{")
    (folder / "other.ipynb").write_text('{"cells": [], "metadata": {"kernelspec": {"language": "R"}}}')
    cell = {"cell_type": "code", "source": "input('how many? ')", "metadata": {}}
    (folder / "asks.ipynb").write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4}))
    (folder / "needs_module.py").write_text("import no_such_module\n")
    (folder / "asks.py").write_text("input('how many? ')\n")
    (folder / "takes.py").write_text(
        "import argparse\n\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--epochs', type=int, default=2)\n"
        "parser.add_argument('--learning-rate', type=float, help='step size')\n"
        "parser.add_argument('--model', choices=['resnet', 'vit'])\n"
        "parser.add_argument('--fast', action='store_true')\n"
        "print(parser.parse_args())\n"
    )
    (folder / "part").mkdir()
    (folder / "part/deep.py").write_text("def f():\n    raise ValueError('bad shape')\n")
    (folder / "raises.py").write_text("from part.deep import f\ntry:\n    1 / 0\nexcept Exception:\n    f()\n")
    (folder / "unfinished.py").write_text("print(\n")
    (folder / "takes_lr.py").write_text("import argparse\np = argparse.ArgumentParser()\np.parse_args()\n")
    (folder / "reads.py").write_text("open('data/train.csv')\n")
    (folder / "hungry.py").write_text("x = bytearray(10**9)\n")
