"""Job files of OpenPAI: documents of version 2 (`*.pai.yaml`), which go as they are but for their name and the checks,
and those of version 1 (`*.pai.json`), which are converted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...core.i18n import _, join
from ..job_files import JobFile, refusal
from . import own_document
from .protocol.check import Checked, check_document
from .protocol.v1 import Converted, convert
from .protocol.workspace import WorkspaceSettings, read_workspace
from .protocol.writer import write
from .simulation import simulated

__all__ = ["CODE_FOLDER", "read"]

CODE_FOLDER = "$PAI_JOB_NAME"
"""The folder of the code in a container, as the clients for Visual Studio Code have it."""

# Characters of the longest name of a spec.
_LONGEST = 128


def read(path: Path, text: str) -> JobFile:
    """Return the spec of a job file with this text. Reads the settings of its folder for Visual Studio Code.

    Raises:
        SpecError: with all errors of the file.
        SettingsError: if the settings of the folder cannot be read.
    """
    workspace = read_workspace(path.parent) or WorkspaceSettings()
    if path.suffix == ".json":
        return _version_1(path, text, workspace)
    checked = _checked(path, text)
    code = CODE_FOLDER if workspace.upload else ""
    notes = [] if workspace.upload is None and workspace.generate_name is None else [*_about_code(code)]
    return _job_file(path, own_document.masked(text), checked, code, workspace, notes)


def _version_1(path: Path, text: str, workspace: WorkspaceSettings) -> JobFile:
    converted = convert(text)
    if converted.document is None:
        raise refusal(own_document.as_problems(converted.errors), path.name)
    document = write(converted.document)
    code = "" if workspace.upload is False else converted.code_folder
    notes = [
        _("{path} is converted to version 2 of the protocol: the cluster accepts no other.").format(path=path.name),
        *(join(" ", filter(None, [one.text, one.fix])) for one in converted.notes),
        *_about_code(code, converted),
    ]
    return _job_file(path, own_document.masked(document), _checked(path, document), code, workspace, notes)


def _checked(path: Path, text: str) -> Checked:
    checked = check_document(text)
    if checked.errors:
        raise refusal(own_document.as_problems(checked.errors), path.name)
    return checked


def _about_code(code: str, converted: Converted | None = None) -> Iterator[str]:
    if code:
        text = _("The files of the folder go along, and lie in `{folder}/`. See `.vscode/settings.json`.")
        yield text.format(folder=code)
    elif converted and not converted.code_folder:
        yield _("No files go along: the file has no `codeDir`.")
    else:
        yield _("No files go along: `pai.job.upload.enabled` in `.vscode/settings.json` is not true.")


def _job_file(
    path: Path, document: str, checked: Checked, code: str, workspace: WorkspaceSettings, notes: list[str]
) -> JobFile:
    """Return the job file. `code`: the folder of the code in the container; empty for none."""
    if workspace.generate_name is False:
        notes.append(_("The name gets an id, although `generateJobName` is off: the cluster takes each name once."))
    assert checked.document is not None
    name = str(checked.document["name"])
    source: dict[str, Any] = {"folder": str(path.parent) if code else ""}
    if code and (workspace.include or workspace.exclude):
        globs = {"include": list(workspace.include), "exclude": list(workspace.exclude), "gitignore": False}
        source |= {field: value for field, value in globs.items() if value != []}
    common = {"name": name[:_LONGEST], "source": source}
    options = {"document": document, "document_file": str(path), "code_folder": code}
    here, here_notes = simulated(checked, code)
    return JobFile(
        {**common, **own_document.spec_fields(checked), "options": {name: one for name, one in options.items() if one}},
        tuple(notes),
        JobFile({**common, **here}, (*notes, *here_notes)),
    )
