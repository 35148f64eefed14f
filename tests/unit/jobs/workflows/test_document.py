"""`workflow.yaml`: what is read, what is written, and errors that name file, step and field or line."""

from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_pai.core.errors import SpecError
from jupyter_pai.jobs.workflows.document import document_text, read_document
from jupyter_pai.jobs.workflows.workflow import parse_workflow

TEXT = """
name: digits
max_parallel: 2
steps:
- name: train
  spec:
    command: |
      python train.py
      echo done
    source: code
    inputs: {own: data/, far: "store://x/y", result: "{{prepare.channel.model}}/a", all: /data}
    output_path: out
    hyperparameters: {lr: 0.1, day: 2024-01-31, small: 1e-3}
- {name: prepare, retries: 2, spec: {command: 'true', source: {folder: "", files: {a.py: "x\\n"}}}}
- {name: use, when: train.loss < 1, needs: prepare, outputs: rows, spec: {command: 'true'}}
"""


def read(folder: Path, text: str) -> dict[str, object]:
    (folder / "workflow.yaml").write_text(text)
    return read_document(folder / "workflow.yaml")


def test_relative_paths_start_at_the_file(tmp_path: Path) -> None:
    workflow = parse_workflow(read(tmp_path, TEXT))
    train, prepare, use = workflow.steps
    assert train.spec.source.folder == f"{tmp_path}/code"
    assert train.spec.inputs == {
        "own": f"{tmp_path}/data/",
        "far": "store://x/y",
        "result": "{{prepare.channel.model}}/a",
        "all": "/data",
    }
    assert train.spec.output_path == f"{tmp_path}/out"
    assert train.spec.hyperparameters == {"lr": "0.1", "day": "2024-01-31", "small": "1e-3"}
    assert prepare.spec.source.folder == ""  # Packs nothing.
    assert use.spec.source.folder == str(tmp_path)


@pytest.mark.parametrize("in_folder", [True, False])
def test_written_workflow_is_the_same(tmp_path: Path, in_folder: bool) -> None:
    workflow = parse_workflow(read(tmp_path, TEXT))
    text = document_text(workflow, tmp_path if in_folder else None)
    assert (str(tmp_path) not in text) is in_folder
    assert "python train.py\n" in text  # Lines below each other.
    assert parse_workflow(read(tmp_path, text)) == workflow
    assert text == document_text(parse_workflow(read(tmp_path, text)), tmp_path if in_folder else None)


@pytest.mark.parametrize(
    ("text", "what", "fix"),
    [
        ("steps: [a: b: c]", "Line 1", "Quote"),
        ("- a", "no workflow", "steps"),
        ("steps: {}", "must be a list", "steps: ["),
        ("steps: [a]", "steps.0", "- name"),
        ("step: []", "Unknown key `step`", "Did you mean `steps`?"),
        ("steps:\n- {name: a, spec: x}", "steps.a: `spec` must be a mapping", "command"),
        ("steps:\n- {name: a, wen: x, spec: {}}", "steps.a.wen", "`when`"),
        ("steps:\n- {name: a, image: x, spec: {}}", "steps.a.image", "below `spec`"),
        ("steps:\n- {name: a, spec: {imge: x}}", "steps.a.spec.imge", "`image`"),
        ("steps:\n- name: a\n  name: b", "Line 3: the key `name` is repeated", ""),
        ("steps:\n- {name: a, spec: {args: [{{b.c}}]}}", "Line 2", '"{{STEP.outputs.NAME}}"'),
    ],
)
def test_errors_name_file_and_place(tmp_path: Path, text: str, what: str, fix: str) -> None:
    with pytest.raises(SpecError) as caught:
        read(tmp_path, text)
    assert caught.value.message.startswith("workflow.yaml: ")
    assert what in caught.value.message
    assert fix in caught.value.fix


def test_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "workflow.yaml").write_bytes(b"\xff\xfe\x00")
    for name in ("workflow.yaml", "nowhere.yaml"):
        with pytest.raises(SpecError, match=name):
            read_document(tmp_path / name)
