"""Packing of real folders: included, excluded and rejected files."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from jupyter_pai.core.errors import SourceError
from jupyter_pai.jobs.spec import Source
from jupyter_pai.source import archive, pack as source
from jupyter_pai.source.archive import Entry

from ...support.fuzz import MANY

LIMIT = 10**9


def paths(folder: Path, **fields: object) -> list[str]:
    manifest = source.scan(Source.model_validate({"folder": str(folder)} | fields), LIMIT)
    return sorted(entry.path for entry in manifest.entries)


def left_out(folder: Path, **fields: object) -> dict[str, str]:
    manifest = source.scan(Source.model_validate({"folder": str(folder)} | fields), LIMIT)
    return {left.path: left.why for left in manifest.excluded}


def fill(folder: Path, *names: str, text: str = "x") -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    path = tmp_path / "sources"
    path.mkdir()
    return path


def pack(folder: Path, sources: Path, **fields: object) -> source.Packed:
    return source.pack(source.scan(Source.model_validate({"folder": str(folder)} | fields), LIMIT), sources)


def test_environments_caches_and_secrets_are_excluded(folder: Path) -> None:
    fill(folder, "train.py", "utils/io.py", ".git/HEAD", ".venv/pyvenv.cfg", ".venv/lib/x.py", "env2/pyvenv.cfg")
    fill(
        folder,
        "__pycache__/train.pyc",
        ".ipynb_checkpoints/a.ipynb",
        ".env",
        ".env.example",
        "id_rsa",
        "node_modules/a",
        "conda/conda-meta/history",
        "conda/lib/y.py",
    )
    (folder / ".venv" / "python").symlink_to("/usr/bin/python3")
    assert paths(folder) == [".env.example", "train.py", "utils/io.py"]
    why = left_out(folder)
    assert why[".env"] == why["id_rsa"] == "may contain secrets"
    assert why[".git/"] == why["__pycache__/"] == "not needed by jobs"
    assert why["env2/"] == why["conda/"] == "virtual environment"
    excluded = source.scan(Source(folder=str(folder)), LIMIT).excluded
    assert [path.path for path in excluded if not path.expected] == [".env", "id_rsa"]
    excluded = source.scan(Source(folder=str(folder)), LIMIT, {str(folder / "utils"): "an input"}).excluded
    assert [path.why for path in excluded if path.path == "utils/" and path.expected] == ["an input"]


def test_gitignore_is_read_like_git(folder: Path) -> None:
    fill(folder, "a.py", "data/x.csv", "sub/data/y.csv", "m.ckpt", "keep.ckpt", "sub/z.tmp", "sub/b.py")
    (folder / ".gitignore").write_text("/data/\n*.ckpt\n!keep.ckpt\n")
    (folder / "sub/.gitignore").write_text("*.tmp\n")
    assert paths(folder) == [".gitignore", "a.py", "keep.ckpt", "sub/.gitignore", "sub/b.py", "sub/data/y.csv"]
    assert left_out(folder)["data/"] == ".gitignore: /data/"
    assert left_out(folder)["sub/z.tmp"] == "sub/.gitignore: *.tmp"
    assert "data/x.csv" in paths(folder, gitignore=False)


FILES = [f"{folder}{name}" for folder in ("", "a/", "b/", "a/b/", "b/a/", "a/b/d/") for name in ("c.py", "c.csv", "dd")]
PATTERNS = """
    * !* ** */ !*/ **/ !**/ /* !/* a !a a/ !a/ /a !/a /a/ a/* !a/* a/** !a/** a/b !a/b !a/b/ a/b/* !a/b/c.* **/b !**/b
    a/**/c.py !a/**/c.py *.py !*.py *.csv !c.csv d* !d* ? !? [ab] ![ab]
""".split()


@given(st.lists(st.lists(st.sampled_from(PATTERNS), max_size=4), min_size=3, max_size=3))
@settings(max_examples=100)
def test_gitignore_excludes_what_git_ignores(tmp_path_factory: pytest.TempPathFactory, rules: list[list[str]]) -> None:
    folder = tmp_path_factory.mktemp("repository")
    fill(folder, *FILES)
    for path, lines in zip(("", "a", "a/b"), rules, strict=True):
        (folder / path / ".gitignore").write_text("\n".join(lines))
    subprocess.run(["git", "init", "-q", folder], check=True)
    command = ["git", "ls-files", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    # A folder with no files at all is refused.
    packed = paths(folder, files={"train.py": ""})
    assert sorted({*listed.split(), "train.py"}) == [path for path in packed if not path.endswith("/")]


BYTE_NAMES = [
    b"data.csv",
    b"caf\xe9",
    b"caf\xc3\xa9",
    b"cr",
    b"a\x0cb",
    b"a\x85b",
    b"u\xe2\x80\xa8v",
    b"sp",
    b"sp ",
    b"z",
]
LINES = [
    *(
        b"data.csv",
        b"caf\xe9",
        b"caf\xc3\xa9",
        b"cr\r",
        b"a\x0cb",
        b"a\x85b",
        b"u\xe2\x80\xa8v",
        b"sp ",
        b"sp\\ ",
        b" ",
        b"*\0",
    ),
    *(b"# comment", b"!data.csv", b"!", b"data.csv\\", b"\\", b"[y-b]", b"[", b"!\\", b"z\rz", "*\n".encode("utf-16")),
]


@given(st.sampled_from([b"", b"\xef\xbb\xbf"]), st.lists(st.sampled_from(LINES), max_size=5))
@settings(max_examples=50)
def test_gitignore_is_read_as_bytes(tmp_path_factory: pytest.TempPathFactory, mark: bytes, lines: list[bytes]) -> None:
    folder = tmp_path_factory.mktemp("repository")
    for name in BYTE_NAMES:
        (folder / os.fsdecode(name)).write_bytes(b"")
    (folder / ".gitignore").write_bytes(mark + b"\n".join(lines))
    subprocess.run(["git", "init", "-q", folder], check=True)
    command = ["git", "ls-files", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout
    packed = paths(folder, files={"train.py": ""})
    assert packed == sorted([*map(os.fsdecode, listed.split(b"\0")[:-1]), "train.py"])
    for why in left_out(folder, files={"train.py": ""}).values():
        why.encode()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_paiignore_may_have_a_byte_order_mark(folder: Path, encoding: str) -> None:
    fill(folder, "a.py", "数据/x.csv")
    (folder / ".paiignore").write_text("数据/\r\n", encoding, newline="")
    assert left_out(folder)["数据/"] == ".paiignore: 数据/"


@pytest.mark.parametrize("field", ["include", "exclude"])
def test_invalid_pattern_is_named(folder: Path, field: str) -> None:
    fill(folder, "a.py")
    with pytest.raises(SourceError, match=r"Invalid pattern `data\\`") as error:
        paths(folder, **{field: ["*.csv", "data\\"]})
    assert error.value.details["faults"] == {f"source.{field}": str(error.value)}


@pytest.mark.parametrize("name", [".gitignore", ".paiignore"])
def test_list_of_files_to_include_holds_in_subfolders(folder: Path, name: str) -> None:
    fill(folder, "a.py", "sub/b.py", "sub/c.bin", ".git/hooks/d.py", "__pycache__/e.py")
    (folder / name).write_text("*\n!*/\n!*.py\n")
    assert paths(folder) == ["a.py", "sub/b.py"]


def test_rules_of_the_deepest_folder_come_first(folder: Path) -> None:
    fill(folder, "a.tmp", "sub/a.tmp", "sub/deep/a.tmp", "sub/b.bin", "sub/deep/b.bin")
    for name in (".gitignore", ".paiignore"):
        (folder / name).write_text("*.tmp\n")
        (folder / "sub" / name).write_text("!*.tmp\n*.bin\n")
        (folder / "sub/deep" / name).write_text("*.tmp\n!*.bin\n")
        assert [path for path in paths(folder) if "ignore" not in path] == ["sub/a.tmp", "sub/deep/b.bin"]
        assert left_out(folder)["sub/deep/a.tmp"] == f"sub/deep/{name}: *.tmp"
        for path in ("", "sub", "sub/deep"):
            (folder / path / name).unlink()


def test_gitignore_of_the_enclosing_repository_applies(folder: Path) -> None:
    notebooks = folder / "notebooks"
    fill(folder, ".git/HEAD", "notebooks/a.py", "notebooks/out/b.py", "notebooks/c.log")
    (folder / ".gitignore").write_text("*.log\nnotebooks/out/\n")
    assert paths(notebooks) == ["a.py"]


@pytest.mark.parametrize("rules", ["build/\n", "/build\n", "build/*\n", "lab/\n", "*\n!*.log\n", "build/**\nlab\n"])
def test_packed_folder_may_be_excluded_by_the_enclosing_repository(folder: Path, rules: str) -> None:
    lab = folder / "build/lab"
    fill(folder, ".git/HEAD", "build/lab/a.py", "build/lab/sub/b.py", "build/lab/c.tmp")
    (folder / ".gitignore").write_text(rules + "*.tmp\n")
    (folder / "build/.gitignore").write_text("*\n")
    assert paths(lab) == ["a.py", "sub/b.py"]
    assert left_out(lab)["c.tmp"] == ".gitignore: *.tmp"


@pytest.mark.parametrize("rules", ["*\n!*/\n!*.py\n", "/*\n!/lab\n*.csv\n", "lab/*\n!lab/*.py\n"])
def test_enclosing_repository_may_list_the_files_to_include(folder: Path, rules: str) -> None:
    fill(folder, ".git/HEAD", "lab/a.py", "lab/b.csv")
    (folder / ".gitignore").write_text(rules)
    assert paths(folder / "lab") == ["a.py"]


def test_matching_rule_is_named_after_comments_and_empty_lines(folder: Path) -> None:
    fill(folder, "a.py", "data/x.csv")
    (folder / ".gitignore").write_text("# Caches\n\n*.tmp\n\n# Data\ndata/\n")
    assert left_out(folder)["data/"] == ".gitignore: data/"


@pytest.mark.parametrize(("rule", "again"), [("data/", "!data/"), ("data/*", "!data/**"), ("*.csv", "!data/**")])
def test_folder_is_included_again(folder: Path, rule: str, again: str) -> None:
    fill(folder, "a.py", "data/x.csv", "data/sub/y.csv")
    (folder / ".gitignore").write_text(rule)
    (folder / ".paiignore").write_text(again)
    assert paths(folder)[2:] == ["a.py", "data/sub/y.csv", "data/x.csv"]


def test_paiignore_overrides_all_but_secrets(folder: Path) -> None:
    fill(folder, "a.py", "data/x.csv", "b.ckpt", ".vscode/s.json", "server.pem")
    (folder / ".gitignore").write_text("data/\n")
    (folder / ".paiignore").write_text("*.ckpt\n!data/\n!.vscode/\n!*.pem\n")
    assert paths(folder) == [".gitignore", ".paiignore", ".vscode/s.json", "a.py", "data/x.csv"]
    assert left_out(folder)["server.pem"] == "may contain secrets"


def test_include_and_exclude_patterns_select_files(folder: Path) -> None:
    fill(folder, "train.py", "run.sh", "sub/model.py", "notes.txt", "sub/old.py")
    include = ["**/*.py", "**/*.sh"]
    assert paths(folder, include=include, exclude=["old.py"]) == ["run.sh", "sub/model.py", "train.py"]
    assert left_out(folder, include=include)["notes.txt"] == "not matched by --include"
    assert left_out(folder, exclude=["old.py"])["sub/old.py"] == "--exclude: old.py"


def test_input_folders_are_not_packed(folder: Path) -> None:
    fill(folder, "a.py", "data/big.bin")
    manifest = source.scan(Source(folder=str(folder)), LIMIT, {str(folder / "data"): "an input of the job"})
    assert [entry.path for entry in manifest.entries] == ["a.py"]
    assert manifest.excluded[0].why == "an input of the job"


@pytest.mark.parametrize("target", ["/etc/passwd", "../secret", "sub/../../secret"])
def test_links_to_the_outside_are_rejected_by_name(folder: Path, target: str) -> None:
    fill(folder, "a.py", "sub/b.py")
    fill(folder.parent, "secret")
    (folder / "way-out").symlink_to(target)
    with pytest.raises(SourceError, match="way-out -> ") as caught:
        paths(folder)
    assert caught.value.fix.endswith(f": --input way_out={folder}/way-out")
    assert paths(folder, exclude=["way-out"]) == ["a.py", "sub/b.py"]


def test_link_to_a_folder_with_the_same_prefix_is_outside(folder: Path) -> None:
    fill(folder, "a.py")
    fill(folder.parent / (folder.name + "-secret"), "x")
    (folder / "link").symlink_to(f"../{folder.name}-secret/x")
    with pytest.raises(SourceError, match="link -> "):
        paths(folder)


def test_inner_links_are_kept(folder: Path, sources: Path, tmp_path: Path) -> None:
    fill(folder, "a.py", "sub/b.py")
    (folder / "sub/up.py").symlink_to("../a.py")
    archive.unpack(pack(folder, sources).path, tmp_path / "there")
    assert os.readlink(tmp_path / "there/sub/up.py") == "../a.py"


@pytest.mark.parametrize(
    ("link", "target", "straight"),
    [
        ("a", "sub/../a.py", "a.py"),
        ("sub/a", "../../{folder}/a.py", "../a.py"),
        ("sub/a", "deep/../../a.py", "../a.py"),
        # A link on the way: `..` leads where it leads on disk, not where the text says.
        ("a", "there/../c.py", "sub/c.py"),
        ("a", "sub/../gone", "gone"),
    ],
)
def test_indirect_inner_links_are_simplified(
    folder: Path, sources: Path, tmp_path: Path, link: str, target: str, straight: str
) -> None:
    fill(folder, "a.py", "sub/c.py", "sub/deep/b.py")
    (folder / "there").symlink_to("sub/deep")
    (folder / link).symlink_to(target.format(folder=folder.name))
    archive.unpack(pack(folder, sources).path, tmp_path / "there")
    assert os.readlink(tmp_path / "there" / link) == straight


def test_oversized_folder_names_its_largest_files(folder: Path) -> None:
    fill(folder, "train.py")
    fill(folder, "data/big.bin", text="x" * 5000)
    with pytest.raises(SourceError, match=r"data/big.bin \(5 kB\)") as caught:
        source.scan(Source(folder=str(folder)), 1000)
    assert "--input" in caught.value.fix
    size = source.scan(Source(folder=str(folder)), 10**9).bytes
    assert source.scan(Source(folder=str(folder)), size).bytes == size
    with pytest.raises(SourceError):
        source.scan(Source(folder=str(folder)), size - 1)


@pytest.mark.parametrize("hidden", [False, True])
def test_empty_folder_is_reported(folder: Path, hidden: bool) -> None:
    if hidden:
        fill(folder, ".git/HEAD")
    with pytest.raises(SourceError, match="No files to pack") as caught:
        paths(folder)
    assert ("excluded by" in caught.value.fix) == hidden


def test_missing_folder_is_named(folder: Path) -> None:
    with pytest.raises(SourceError, match=str(folder / "nowhere")):
        paths(folder / "nowhere")


def test_pipes_are_excluded(folder: Path) -> None:
    fill(folder, "a.py")
    os.mkfifo(folder / "pipe")
    assert paths(folder) == ["a.py"]
    assert left_out(folder) == {"pipe": "not a file"}


def test_modes_and_empty_folders_are_kept_in_the_archive(folder: Path, sources: Path, tmp_path: Path) -> None:
    fill(folder, "run.sh", "readonly.txt")
    (folder / "run.sh").chmod(0o755)
    (folder / "readonly.txt").chmod(0o440)
    (folder / "logs").mkdir()
    fill(folder, "cache/a.tmp")
    (folder / ".gitignore").write_text("*.tmp\n")
    archive.unpack(pack(folder, sources).path, tmp_path / "there")
    assert (tmp_path / "there/run.sh").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "there/readonly.txt").stat().st_mode & 0o777 == 0o640  # and its owner may remove it
    assert stat.filemode((tmp_path / "there/logs").stat().st_mode) == "drwxr-xr-x"
    assert not (tmp_path / "there/cache").exists()  # Its files are excluded.


def test_folder_may_be_read_only() -> None:
    become = "os.setgroups([]); os.setgid(65534); os.setuid(65534)" if os.getuid() == 0 else ""
    with tempfile.TemporaryDirectory() as name:
        fill(Path(name), "a.py")
        os.chmod(name, 0o555)
        code = f"""
import os
from jupyter_pai.jobs.spec import Source
from jupyter_pai.source import pack
pack.scan(Source(folder={name!r}), 1000)  # The other user may be unable to read the modules that it imports.
{become}
manifest = pack.scan(Source(folder={name!r}), 1000)
print(os.access({name!r}, os.W_OK), [entry.path for entry in manifest.entries])
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        os.chmod(name, 0o755)
    assert done.stdout == "False ['a.py']\n", done.stderr


def test_archive_bytes_depend_on_content_only(tmp_path: Path, sources: Path) -> None:
    packed = []
    for name in ("one", "two"):
        folder = tmp_path / name
        names = ["b.py", "a/c.py", "z.txt"]
        fill(folder, *(names if name == "one" else reversed(names)))
        os.utime(folder / "b.py", (1, 1) if name == "one" else (2e9, 2e9))
        other = tmp_path / f"sources-{name}"
        other.mkdir()
        packed.append(pack(folder, other))
    assert packed[0].path.read_bytes() == packed[1].path.read_bytes()
    assert packed[0].digest == packed[1].digest


def test_digest_depends_on_content_names_and_modes(folder: Path, sources: Path) -> None:
    fill(folder, "a.py", "b.py")
    seen = {pack(folder, sources).digest}
    for change in (
        lambda: fill(folder, "a.py", text="y"),
        lambda: (folder / "b.py").rename(folder / "c.py"),
        lambda: (folder / "a.py").chmod(0o755),
        (folder / "empty").mkdir,
        lambda: (folder / "link").symlink_to("a.py"),
    ):
        change()
        digest = pack(folder, sources).digest
        assert digest not in seen
        seen.add(digest)


def test_unchanged_content_is_not_packed_again(folder: Path, sources: Path) -> None:
    fill(folder, "a.py", "b.py")
    first = pack(folder, sources)
    before = {path: path.stat().st_mtime_ns for path in sources.iterdir()}
    assert pack(folder, sources) == first
    assert first.path.stat().st_mtime_ns == before[first.path]
    (folder / "a.py").touch()
    assert pack(folder, sources) == first
    assert first.path.stat().st_mtime_ns == before[first.path]


def test_edit_with_a_restored_time_is_noticed(folder: Path, sources: Path) -> None:
    fill(folder, "a.py", text="one")
    # Older than what counts as racy, as files mostly are.
    os.utime(folder / "a.py", (1e9, 1e9))
    first = pack(folder, sources)
    fill(folder, "a.py", text="two")
    os.utime(folder / "a.py", (1e9, 1e9))
    second = pack(folder, sources)
    assert second.digest != first.digest
    with tarfile.open(second.path) as tar:
        member = tar.extractfile("a.py")
        assert member and member.read() == b"two"


def test_notebooks_are_packed_without_outputs(folder: Path, sources: Path) -> None:
    text = '{"cells": [{"cell_type": "code", "source": "1", "outputs": [%s], "execution_count": %s}], "nbformat": 4}'
    fill(folder, "a.ipynb", text=text % ('{"secret": 1}', "7"))
    first = pack(folder, sources)
    with tarfile.open(first.path) as tar:
        member = tar.extractfile("a.ipynb")
        assert member and b"secret" not in member.read()
    fill(folder, "a.ipynb", text=text % ("", "8"))
    assert pack(folder, sources).digest == first.digest


def test_only_notebooks_lose_outputs(folder: Path, sources: Path, tmp_path: Path) -> None:
    text = '{"cells": [{"cell_type": "code", "source": "1", "outputs": [1], "execution_count": 7}], "nbformat": 4}'
    fill(folder, "template.json", text=text)
    archive.unpack(pack(folder, sources).path, tmp_path / "there")
    assert (tmp_path / "there/template.json").read_text() == text


def test_invalid_notebooks_are_packed_unchanged(folder: Path, sources: Path, tmp_path: Path) -> None:
    fill(folder, "broken.ipynb", text="{")
    archive.unpack(pack(folder, sources).path, tmp_path / "there")
    assert (tmp_path / "there/broken.ipynb").read_text() == "{"


def test_spec_files_override_the_folder(folder: Path, sources: Path, tmp_path: Path) -> None:
    fill(folder, "a.py", text="old")
    packed = pack(folder, sources, files={"a.py": "new", "sub/cell.py": "print(1)"})
    archive.unpack(packed.path, tmp_path / "not yet/there")
    assert (tmp_path / "not yet/there/a.py").read_text() == "new"
    assert (tmp_path / "not yet/there/sub/cell.py").read_text() == "print(1)"


def test_cut_archive_is_named(folder: Path, sources: Path, tmp_path: Path) -> None:
    fill(folder, "a.py", text="".join(map(str, range(50_000))))
    whole = pack(folder, sources).path.read_bytes()
    path = tmp_path / "cut.tar.gz"
    for size in (len(whole) // 2, len(whole) - 1000, 20, 0):
        path.write_bytes(whole[:size])
        with pytest.raises(SourceError, match=r"cut\.tar\.gz"):
            list(archive.contents(path, {"a.py"}, 10**9))


def test_damaged_archive_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.tar.gz"
    path.write_bytes(b"no archive")
    with pytest.raises(SourceError, match=r"x\.tar\.gz"):
        archive.unpack(path, tmp_path / "there")


@pytest.mark.parametrize(
    "members",
    [
        [("../outside", "", b"x")],
        [("/tmp/jupyter-pai-outside", "", b"x")],
        [("link", "..", None), ("link/outside", "", b"x")],
        [("link", "/etc", None)],
        [("d", ".", None), ("link", "d/..", None)],
        [("sub/link", "../../x", None)],
        [("sub", "elsewhere", None), ("sub/x", "", b"x")],
        [("a", "", b"x"), ("a", "", b"y")],
        [("device", "", "device")],
    ],
)
def test_foreign_archive_cannot_write_outside_its_folder(
    tmp_path: Path, members: list[tuple[str, str, object]]
) -> None:
    import io

    path = tmp_path / "evil.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        for name, link, data in members:
            info = tarfile.TarInfo(name)
            info.type = tarfile.SYMTYPE if link else tarfile.CHRTYPE if data == "device" else tarfile.REGTYPE
            info.linkname = link
            info.size = len(data) if isinstance(data, bytes) else 0
            tar.addfile(info, io.BytesIO(data) if isinstance(data, bytes) else None)
    with pytest.raises(SourceError, match=r"evil\.tar\.gz"):
        archive.unpack(path, tmp_path / "there")
    assert not (tmp_path / "outside").exists()
    assert not Path("/tmp/jupyter-pai-outside").exists()


def test_file_that_vanishes_is_named(folder: Path, sources: Path) -> None:
    fill(folder, "a.py", "gone.py")
    manifest = source.scan(Source(folder=str(folder)), LIMIT)
    (folder / "gone.py").unlink()
    with pytest.raises(SourceError, match=r"gone\.py"):
        source.pack(manifest, sources)
    assert [path for path in sources.iterdir() if path.suffix == ".new"] == []


NAMES = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=40).filter(
    lambda name: name not in (".", "..") and len(name.encode()) < 200
)


@MANY
@given(st.dictionaries(NAMES, st.binary(max_size=50), min_size=1, max_size=4))
def test_any_file_name_survives_a_round_trip(files: dict[str, bytes]) -> None:
    import io

    target = io.BytesIO()
    hashes = archive.write([Entry(name, 0o644, len(data), data=data) for name, data in files.items()], target)
    assert hashes.keys() == files.keys()
    target.seek(0)
    with tarfile.open(fileobj=target) as tar:
        assert {m.name: tar.extractfile(m).read() for m in tar if m.isfile()} == files  # type: ignore[union-attr]
