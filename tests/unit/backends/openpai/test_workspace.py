"""Settings of a folder for the editor become globs of the files to pack."""

from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_pai.backends.openpai.protocol.workspace import WorkspaceSettings, read_workspace
from jupyter_pai.core.errors import SettingsError
from jupyter_pai.jobs.spec import Source
from jupyter_pai.source.pack import scan


def write_settings(folder: Path, text: str) -> None:
    (folder / ".vscode").mkdir()
    (folder / ".vscode/settings.json").write_text(text)


def test_folder_without_the_file_has_no_settings(tmp_path: Path) -> None:
    assert read_workspace(tmp_path) is None


def test_settings_of_the_tutorial_are_read(tmp_path: Path) -> None:
    write_settings(
        tmp_path,
        """{
    "pai.job.upload.enabled": true,  // Code goes with the job.
    "pai.job.upload.exclude": [],
    "pai.job.upload.include": ["**/*.py", "**/*.sh"],
    "pai.job.generateJobName.enabled": true,
}""",
    )
    assert read_workspace(tmp_path) == WorkspaceSettings(True, ("/**/*.py", "/**/*.sh"), (), True)


def test_globs_select_the_files_that_the_editor_selects(tmp_path: Path) -> None:
    include = '["*.{sh,txt}", "src/**/*.py", "**/a?.py"]'
    write_settings(tmp_path, f'{{"pai.job.upload.include": {include}, "pai.job.upload.exclude": ["src/out/**"]}}')
    names = "run.sh b.txt c.py sub/d.sh src/e.py src/f/g.py src/out/h.py x/y/ab.py ab.py x/abc.py .env"
    for name in names.split():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / ".gitignore").write_text("*.sh\n")
    settings = read_workspace(tmp_path)
    assert settings
    source = Source(folder=str(tmp_path), include=settings.include, exclude=settings.exclude, gitignore=False)
    packed = {entry.path for entry in scan(source, 10**9).entries}
    assert packed == {"run.sh", "b.txt", "src/e.py", "src/f/g.py", "x/y/ab.py", "ab.py"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"pai.job.upload.enabled": "yes"}', "`pai.job.upload.enabled` in `{path}` must be true or false."),
        ('{"pai.job.upload.include": "*.py"}', "`pai.job.upload.include` in `{path}` must be a list of globs."),
        ("{", "{path}: Invalid JSON in line 1: Expecting property name enclosed in double quotes"),
    ],
)
def test_wrong_settings_are_an_error(tmp_path: Path, text: str, message: str) -> None:
    write_settings(tmp_path, text)
    with pytest.raises(SettingsError) as caught:
        read_workspace(tmp_path)
    assert caught.value.message == message.replace("{path}", str(tmp_path / ".vscode/settings.json"))
    assert caught.value.fix
