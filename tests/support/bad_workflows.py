"""Wrong workflows, with the expected message and fix."""

from __future__ import annotations

from pathlib import Path

__all__ = ["FAILING", "REFUSED", "write"]

TRAIN = "- {name: train, outputs: [test-accuracy], spec: {command: 'true'}}\n"
PUBLISH = "- {name: publish, when: CONDITION, spec: {command: 'true'}}\n"

# Steps that are refused before anything runs: the lines of `steps`, what is wrong and where, and what to do.
REFUSED = [
    (TRAIN + PUBLISH.replace("CONDITION", "train.accuracy > 0.9"), "`train.accuracy`", "gives test-accuracy only"),
    (
        TRAIN + PUBLISH.replace("CONDITION", "tune.accuracy > 0.9"),
        "`publish` uses `tune.accuracy`",
        "no step has the name `tune`",
    ),
    (
        TRAIN + PUBLISH.replace("CONDITION", "train.test-accuracy < 'high'"),
        "compares texts, which have no order",
        "== or !=",
    ),
    (
        TRAIN + PUBLISH.replace("CONDITION", "train.test-accuracy>0.9"),
        "steps.publish.when",
        "blanks around the operator",
    ),
    (TRAIN + PUBLISH.replace("when: CONDITION", "needs: tran"), "`publish` needs `tran`", "no step has this name"),
    (TRAIN + TRAIN, "Two steps have the name `train`", ""),
    ("- {name: 1st, spec: {command: 'true'}}\n", "`1st` is not a name", "begin with a letter"),
    (
        "- {name: a, needs: b, spec: {command: 'true'}}\n- {name: b, needs: a, spec: {command: 'true'}}\n",
        "need each other in a circle",
        "a →",
    ),
    (
        TRAIN + "- {name: use, spec: {command: 'true', inputs: {d: '{{train.channel.modle}}'}}}\n",
        "`{{train.channel.modle}}`".strip("`{}"),
        "output channels",
    ),
    ("- {name: a, comand: 'true'}\n", "Unknown key `steps.a.comand`", ""),
    ("- {name: a, command: 'true'}\n", "Unknown key `steps.a.command`", "below `spec`"),
    ("- {name: a, spec: {comand: 'true'}}\n", "Unknown key `steps.a.spec.comand`", "`command`"),
    ("- {name: a, spec: {command: 'true', hyperparameters: {n: {{b.rows}}}}}\n", "Line 3", "in quotes"),
    ("- {name: a, spec: {source: empty}}\n", "Step `a`", "No entry point found"),
    ("- {name: a, spec: {command: 'true', inputs: {d: nowhere.csv}}}\n", "nowhere.csv", ""),
    ("- {name: a, spec: {command: 'true', profile: wrok}}\n", "`wrok`", "`local`"),
    ("- {name: a: b}\n", "Line 3", "Quote"),
    ("[]\n", "1 to 1000 steps", ""),
]

# Steps that start and fail: the command of `train`, the condition of `publish`, what is wrong, and what to do.
FAILING = [
    ("true", "train.test-accuracy > 0.9", "nor a metric `test-accuracy`", "output_parameters"),
    (
        "mkdir -p /ml/output/output_parameters; printf high > /ml/output/output_parameters/test-accuracy",
        "train.test-accuracy > 0.9",
        "the text `high`",
        "quotes",
    ),
    ("exit 7", "train.test-accuracy > 0.9", "`train`", "exit code 7"),
]


def write(folder: Path, steps: str) -> None:
    """Write `bad.yaml` with these steps."""
    (folder / "empty").mkdir(exist_ok=True)
    (folder / "bad.yaml").write_text(f"name: bad\nsteps:\n{steps}" if steps[0] == "-" else f"name: bad\nsteps: {steps}")
