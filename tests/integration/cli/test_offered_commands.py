"""The commands that messages offer: each one is run as written, after the command that offered it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from ...conftest import script
from ...support.offers import Cli, enter

COMMAND = re.compile(r"jupyter pai ([^;\n]*?)(?=\.?$| {2}|[.;,] )", re.MULTILINE)
LONG = "submit --command 'sleep 600' --source ."
DONE = "submit --command 'echo a > $PAI_OUTPUT_MODEL/a' --source . --wait"


@dataclass(frozen=True)
class Case:
    """Commands, the last of which is refused. What it offers replaces it if `instead`, else it succeeds afterwards.
    `values` replace the placeholders of the offered command. `option` is offered instead of a command, and replaces
    `wrong`."""

    lines: Sequence[str]
    values: tuple[tuple[str, str], ...] = ()
    instead: bool = False
    option: str = ""
    wrong: str = ""


CASES = {
    "active job": Case([LONG, "delete last --yes"]),
    "value of a secret": Case(["secret set TOKEN"], (("NAME", "TOKEN"),), instead=True),
    "pinned job": Case([DONE, "pin last", "delete last --yes"]),
    "active job to resume": Case([LONG, "rerun last --resume"], instead=True),
    "no checkpoints": Case([DONE, "rerun last --resume"], instead=True),
    "unknown job": Case(["show nothing"], instead=True),
    "unknown secret": Case(["submit train.py --secret TOKEN --wait"]),
    "nothing at a path": Case(["ls none"], (("URI", "."),), instead=True),
    "large folder": Case(
        ["profile set small backend=local source_limit=10B", "submit train.py --profile small --wait"],
        (("NAME", "small"),),
    ),
    "files that exist": Case([DONE, "download last model to", "download last model to"], option="--overwrite"),
    "folder of the tutorial": Case(["tutorial to", "tutorial to"], (("DEST", "other"),), instead=True),
    "confirmation": Case(["put train.py copy.py", "rm copy.py"], option="--yes"),
    "hyperparameter without a sign": Case(["submit train.py --hp lr 0.1"], option="--hp lr=0.1", wrong="--hp lr 0.1"),
    "no name": Case(["secret set"], instead=True),
    "unknown run": Case(["workflow show nothing"], instead=True),
    "active run": Case(["workflow run slow.yaml", "workflow delete last --yes"]),
    "active run to resume": Case(["workflow run slow.yaml", "workflow resume last"], instead=True),
    "run that succeeded": Case(
        ["workflow run quick.yaml --wait", "workflow resume last"], (("[FILE]", "quick.yaml"),), instead=True
    ),
    "no file of a workflow": Case(["workflow run"], (("workflow.yaml", "quick.yaml"),), instead=True),
}


@pytest.fixture
def project(folder: Path) -> Path:
    script(folder, "print('trained')")
    for name, command in (("slow", "sleep 600"), ("quick", "echo quick")):
        (folder / f"{name}.yaml").write_text(
            f"name: digits\nsteps:\n- {{name: one, spec: {{command: {command}, source: .}}}}\n"
        )
    (folder / "FILE").write_text("a value that is secret\n")
    return folder


@pytest.mark.slow("jobs", first=2)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_offered_command_works_as_written(cli: Cli, project: Path, case: Case) -> None:
    *before, refused = case.lines
    for line in before:
        done = enter(cli, line, project)
        assert done.returncode == 0, (line, done.stdout + done.stderr)
    answer = enter(cli, refused, project)
    assert answer.returncode == 2, answer.stdout + answer.stderr
    if case.option:
        assert case.option in answer.stderr
        again = enter(cli, f"{refused.removesuffix(case.wrong)} {case.option}", project)
        assert again.returncode == 0, again.stderr
        return
    offered = COMMAND.findall(answer.stderr.partition("\n")[2])
    assert len(offered) == 1, answer.stderr
    for name, value in case.values:
        assert name in offered[0]
        offered[0] = offered[0].replace(name, value)
    if "secret set" in offered[0] and "<" not in offered[0]:
        offered[0] += " < FILE"
    done = enter(cli, offered[0], project)
    assert done.returncode == 0, (offered, done.stdout + done.stderr)
    if not case.instead:
        again = enter(cli, refused, project)
        assert again.returncode == 0, again.stdout + again.stderr
