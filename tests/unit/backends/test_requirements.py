"""Each kind of line in pip's format of requirements, through the merge, installed by uv and by pip."""

from __future__ import annotations

import codecs
import hashlib
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from jupyter_pai.backends.runtime import launcher, uv_install

from .test_launcher import find_uv

# A build backend in the project, since one of an index would need a network.
BACKEND = """
import os, zipfile
def build_wheel(folder, config_settings=None, metadata_directory=None, name={name!r}):
    info = name + "-1.dist-info/"
    files = {{
        name + ".py": "",
        info + "METADATA": "Metadata-Version: 2.1\\nName: " + name + "\\nVersion: 1\\n"
        "Provides-Extra: more\\nRequires-Dist: of_extra_{name}; extra == 'more'\\n",
        info + "WHEEL": "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
    }}
    with zipfile.ZipFile(os.path.join(folder, name + "-1-py3-none-any.whl"), "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
        wheel.writestr(info + "RECORD", "".join(path + ",,\\n" for path in files))
    return name + "-1-py3-none-any.whl"
build_editable = build_wheel
"""
PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'

# The package that a line installs, and the line.
READ_BY_BOTH = {
    "plain": "plain",
    "spaced": "spaced == 1",
    "chosen": 'chosen >= 1, == 1.* ; python_version > "3"',
    "of_extra_chosen_extra": "chosen_extra [more]",
    "by_variable": "by_variable @ file://${WHEELS}/by_variable-1-py3-none-any.whl",
    "by_url": "file://{wheels}/by_url-1-py3-none-any.whl",
    "by_dotted_path": "./wheels/by_dotted_path-1-py3-none-any.whl  # a comment",
    "by_path": "wheels/by_path-1-py3-none-any.whl",
    "continued": "continued \\\n    == 1",
    "limited": "limited",
    "included": "-r more/included.txt",
    "abutting": "-rabutting.txt",
    "nested": "--requirement=more/nested.txt",
    "from_git": "git+file://{folder}/from_git@v1#egg=from_git",
    "named_git": "named_git @ git+file://localhost{folder}/named_git",
    "code": "-e .[more]",
    "of_extra_code": "",
    "vendored": "./vendored",
}
READ_BY_PIP = {
    "editable_git": "-e git+file://{folder}/editable_git@v1#egg=editable_git",
    "with_settings": 'with_settings == 1 --config-settings "a=b"',
}
OPTIONS = (
    "# -*- coding: latin-1 -*- é\n"
    '--no-index --find-links "./wheels"\n--pre\n--prefer-binary\n-c limits.txt\nabsent; python_version < "3"\n'
)


LISTING = """
import importlib.metadata, sys
for one in importlib.metadata.distributions(path=[path for path in sys.path if path.startswith(sys.prefix)]):
    print(one.metadata["Name"], one.version, (one.read_text("INSTALLER") or "").strip(), sep="|")
"""


def wheel(folder: Path, name: str, version: str = "1", metadata: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": "",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{metadata}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in files.items():
            archive.writestr(file, text)
        archive.writestr(f"{info}/RECORD", "".join(f"{file},,\n" for file in files))
    return path


def project(folder: Path, name: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "pyproject.toml").write_text(PROJECT)
    (folder / "backend.py").write_text(BACKEND.format(name=name))


def repository(folder: Path) -> None:
    project(folder, folder.name)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", str(folder)]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"], ["tag", "v1"]):
        subprocess.run([*git, *words], check=True)


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the code, with what the lines name. Its path has a space."""
    folder = tmp_path / "a code"
    project(folder, "code")
    project(folder / "vendored", "vendored")
    for name in ("from_git", "named_git", "editable_git"):
        repository(tmp_path / name)
    wheels = folder / "wheels"
    for name in (*READ_BY_BOTH, *READ_BY_PIP):
        wheel(wheels, name)
    wheel(wheels, "limited", "2")
    wheel(wheels, "chosen", "2")
    wheel(wheels, "chosen_extra", "1", "Provides-Extra: more\nRequires-Dist: of_extra_chosen_extra; extra == 'more'\n")
    (folder / "more").mkdir()
    (folder / "limits.txt").write_text("limited<2\n")
    (folder / "more/included.txt").write_text("-f ../wheels\nincluded\n-r included.txt\n")
    (folder / "more/nested.txt").write_text("nested==1\n", "utf-16")
    (folder / "abutting.txt").write_bytes(codecs.BOM_UTF8 + b"abutting\n")
    monkeypatch.setenv("WHEELS", str(wheels).replace(" ", "%20"))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    return folder


def install(
    code: Path, lines: Mapping[str, str], *, uv: bool, options: str = OPTIONS, python: str = sys.executable
) -> dict[str, tuple[str, str]]:
    """Run the launcher as a job does, and return version and installer of each installed package."""
    places = {"{wheels}": str(code / "wheels").replace(" ", "%20"), "{folder}": str(code.parent)}
    text = options + "".join(f"{line}\n" for line in lines.values())
    for word, place in places.items():
        text = text.replace(word, place)
    (code / "requirements.txt").write_text(text, "latin-1")
    (code.parent / "own.txt").write_text("")
    words = [
        f"code={code}",
        f"requirements={code.parent}/own.txt",
        f"environments={code.parent}/environments",
        f"shims={code.parent}/bin",
        f"packages={code.parent}/packages",
        f"uv={find_uv() if uv else ''}",
    ]
    command = [python, "-I", launcher.__file__, *words, "--", "/bin/sh", "-c", 'exec python -c "$0"', LISTING]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=code)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = (line.split("|") for line in done.stdout.splitlines() if line.count("|") == 2)
    return {name.replace("-", "_"): (version, by) for name, version, by in rows}


def test_every_line_is_installed_by_uv(code: Path) -> None:
    assert install(code, READ_BY_BOTH, uv=True) == dict.fromkeys((*READ_BY_BOTH, "chosen_extra"), ("1", "uv"))


@pytest.mark.slow("pip")
def test_every_line_is_installed_by_pip(code: Path) -> None:
    lines = READ_BY_BOTH | READ_BY_PIP
    assert install(code, lines, uv=False) == dict.fromkeys((*lines, "chosen_extra"), ("1", "pip"))


@pytest.mark.slow("pip")
def test_pip_installs_lines_that_uv_cannot_read(code: Path) -> None:
    assert launcher.FOR_PIP == uv_install.FOR_PIP
    assert install(code, READ_BY_PIP, uv=True) == dict.fromkeys(READ_BY_PIP, ("1", "pip"))


@pytest.mark.slow("environment")
def test_uv_installs_editable_repositories_without_pip(code: Path, tmp_path: Path) -> None:
    subprocess.run([find_uv(), "venv", "-q", "--no-project", tmp_path / "bare"], check=True)
    lines = {"editable_git": READ_BY_PIP["editable_git"]}
    found = install(code, lines, uv=True, python=f"{tmp_path}/bare/bin/python")
    assert found == {"editable_git": ("1", "uv")}


@pytest.mark.slow("pip", first=1)
@pytest.mark.parametrize("uv", [True, False], ids=["uv", "pip"])
def test_hashes_are_checked(code: Path, uv: bool) -> None:
    names = ("plain", "spaced")
    digests = {name: hashlib.sha256((code / f"wheels/{name}-1-py3-none-any.whl").read_bytes()) for name in names}
    lines = {name: f"{name}==1 \\\n    --hash=sha256:{digest.hexdigest()}" for name, digest in digests.items()}
    options = "--no-index\n--find-links wheels\n--require-hashes\n"
    assert install(code, lines, uv=uv, options=options) == dict.fromkeys(names, ("1", "uv" if uv else "pip"))
    lines["plain"] = f"plain==1 --hash=sha256:{'0' * 64}"
    with pytest.raises(AssertionError, match=r"(?i)hash"):
        install(code, lines, uv=uv, options=options)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_file_is_read_in_its_encoding(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "requirements.txt").write_text("./räder/a.whl\r\nrich>=1\r\n", encoding, newline="")
    assert launcher.merged("", str(tmp_path)) == "./räder/a.whl\nrich>=1\n"


def test_comment_names_the_encoding(tmp_path: Path) -> None:
    for comment in ("# -*- coding: gbk -*-", "# one\n# vim: set fileencoding=gbk :"):
        (tmp_path / "requirements.txt").write_text(f"{comment}\n./轮子/a.whl # 注释\n", "gbk")
        assert launcher.merged("", str(tmp_path)) == "./轮子/a.whl\n"
    (tmp_path / "requirements.txt").write_bytes(b"# coding: no-such-one\n# caf\xe9\nrich\n")
    assert launcher.merged("", str(tmp_path)) == "rich\n"


@pytest.mark.parametrize(
    ("own", "kept"),
    [
        ("torch==2", "--pre\nrich>=1\n"),
        ("Rich @ https://example.com/rich.whl", "--pre\ntorch==1 --hash=sha256:0\n"),
        ("torch", "--pre\ntorch==1 --hash=sha256:0\nrich>=1\n"),  # Any version: that of the file.
        ("./own.whl", "--pre\ntorch==1 --hash=sha256:0\nrich>=1\n"),
        ("-e git+https://example.com/rich", "--pre\ntorch==1 --hash=sha256:0\nrich>=1\n"),
    ],
)
def test_requirements_of_the_spec_take_precedence(tmp_path: Path, own: str, kept: str) -> None:
    (tmp_path / "requirements.txt").write_text("--pre\n-r more.txt\n")
    (tmp_path / "more.txt").write_text("torch==1 \\\n--hash=sha256:0\nrich>=1\n")
    assert launcher.merged(own, str(tmp_path)) == f"{kept}{own}\n"


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("-r https://example.com/r.txt", "-r https://example.com/r.txt"),
        ("-r missing.txt", "-r {folder}/missing.txt"),
        ("-c ${LIMITS}/c.txt", "-c /limits/c.txt"),
        ("--constraint=${SITE}/c.txt", "--constraint=${SITE}/c.txt"),
        ("-f https://example.com/wheels", "-f https://example.com/wheels"),
        ("--find-links nowhere", "--find-links nowhere"),
        ("-i https://${TOKEN}@example.com/simple --pre", "-i https://${TOKEN}@example.com/simple\n--pre"),
        ("rich --hash=sha256:0 --hash=sha256:1", "rich --hash=sha256:0 --hash=sha256:1"),
        ("-e . --config-settings a=b", "-e . --config-settings a=b"),
        ("rich#1 # comment \\", "rich#1"),
        ("rich \\\n# comment\npydantic", "rich\npydantic"),
    ],
)
def test_lines_are_read_as_pip_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, read: str
) -> None:
    monkeypatch.setenv("TOKEN", "secret")
    monkeypatch.setenv("LIMITS", "/limits")
    monkeypatch.setenv("SITE", "https://example.com")
    (tmp_path / "requirements.txt").write_text(line)
    assert launcher.merged("", str(tmp_path)) == read.replace("{folder}", str(tmp_path)) + "\n"
