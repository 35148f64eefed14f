"""Secrets in files: certain ones, possible ones, and ordinary text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from jupyter_pai.core.errors import SourceError
from jupyter_pai.jobs.spec import Source
from jupyter_pai.source import archive, pack as source, secret_scan as leaks
from jupyter_pai.source.secret_scan import Leak

from ...support.fake_keys import BEARER, CERTAIN, HEX, chance, private_key
from ...support.fuzz import MANY

LIMIT = 10**9
KEYS = [(kind, key) for kind, keys in CERTAIN.items() for key in keys]
GITHUB = CERTAIN["github"][0]
WAYS = [
    "{}",
    'key = "{}"\n',
    "  key: {}\n",
    "export KEY='{}'\n",
    '{{"key": "{}", "n": 1}}',
    "密钥{}，\r\n",
    "# {} is old\n",
    'api_token = "{}"\n',
]


def kinds(text: str) -> list[tuple[str, bool]]:
    return [(leak.kind, leak.certain) for leak in leaks.find(text.encode())]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("kind", "key"), KEYS)
def test_certain_secrets_are_found(kind: str, key: str, way: str) -> None:
    assert kinds("x = 1\n" + way.format(key)) == [(kind, True)]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("jwt", f"Authorization: Bearer {BEARER}"),
        ("url", "postgresql://ada:" + "hunter2@db.local/x"),
        ("url", "https://ada:" + chance(20) + "@git.local/x.git"),
        ("assignment", f'access_key_secret = "{chance(30)}"'),
        ("assignment", f"'accessKeySecret': '{chance(30)}'"),
        ("assignment", f"SecretKey: {chance(32)}\n"),
        ("assignment", f"aws_secret_access_key={chance(40)}\n"),
        ("assignment", f'"source": "password = \\"{chance(20)}\\"\\n"'),
        ("assignment", f'os.environ["API_TOKEN"] = "{chance(40, HEX)}"'),
        ("assignment", f'connect(token="{chance(24)}")'),
    ],
)
def test_possible_secrets_are_found(kind: str, text: str) -> None:
    assert kinds(text) == [(kind, False)]


@pytest.mark.parametrize(
    "text",
    [
        'access_key_id = "YOUR_ACCESS_KEY"',
        "token = <token>",
        'key = "LT' + 'AIxxxxxxxxxxxxxxxxxxxx"',
        "AK" + "IAIOSFODNN7EXAMPLE",
        "AK" + "IDz8krbsJ5yKBZQpn74WFkmLPx3EXAMPLE" + "00",
        "h" + "f_" + "x" * 34,
        "s" + "k-" + "0" * 48,
        'secret = "' + "a" * 30 + '"',
        'password = "change-me-please-42"',
        'token = os.environ["HF_TOKEN"]',
        "api_key = settings.provider_2.access_key_v1",
        'pad_token = "<|endoftext|>"',
        'tokenizer = "bert-base-uncased-v2-finetuned-2024"',
        'secret_name = "projects-my-app-secret-v2-prod-eu1"',
        "max_tokens: 40960000000000000000",
        f'sha256 = "{chance(64, HEX)}"',
        "https://example.com:8080/path@version",
        "postgres://user:" + "password@localhost/x",
        "postgres://{user}:" + "{password}@localhost/x",
        "postgres://ada:" + "$DB_PASSWORD@localhost/x",
        'if line.startswith("-----BEGIN RSA PRIVATE ' + 'KEY-----"): pass',
        "-----BEGIN PRIVATE " + "KEY-----\n...\n-----END PRIVATE " + "KEY-----\n",
        "-----BEGIN CERTIFICATE-----\n" + chance(64) + "\n",
        "DEFAU" + "LTAINITIALISATIONSEQUENCE",
        "risk-" + "0f" * 20,
        "ta" + "sk-" + chance(32),
        "data:image/png;base64," + chance(400),
    ],
)
def test_ordinary_text_has_no_secrets(text: str) -> None:
    assert kinds(text) == []


def test_binary_files_are_skipped() -> None:
    assert leaks.find(b"\x7fELF\0" + GITHUB.encode()) == []
    assert leaks.find(b"x" * 9000 + b"\0" + b" " + GITHUB.encode()) == [Leak(1, "github", True)]


@MANY
@given(
    st.lists(
        st.sampled_from([*(key for _kind, key in KEYS), BEARER, "x = 1", "密", " ", "\n", "\\n", "-", "y" * 9000])
    ),
    st.lists(st.integers(1, 12000)),
)
def test_chunk_boundaries_do_not_change_the_matches(parts: list[str], cuts: list[int]) -> None:
    whole = " ".join(parts).encode()
    scanner = leaks.Scanner()
    rest = whole
    for cut in cuts:
        scanner.feed(rest[:cut])
        rest = rest[cut:]
    scanner.feed(rest)
    assert scanner.leaks() == leaks.find(whole)


# Packed.


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    path = tmp_path / "sources"
    path.mkdir()
    return path


def manifest(folder: Path | None, **fields: object) -> source.Manifest:
    return source.scan(Source.model_validate({"folder": str(folder or "")} | fields), LIMIT)


def refusal(folder: Path, sources: Path, **fields: object) -> SourceError:
    with pytest.raises(SourceError) as caught:
        source.pack(manifest(folder, **fields), sources)
    with pytest.raises(SourceError) as looked:
        source.inspect(manifest(folder, **fields).ready(), sources)
    assert str(looked.value) == str(caught.value)
    return caught.value


def test_secret_is_rejected_by_file_and_line_without_its_value(folder: Path, sources: Path) -> None:
    (folder / "train.py").write_text("import os\n\nkey = '%s'\n" % GITHUB)
    (folder / "conf").mkdir()
    (folder / "conf/deploy").write_text(private_key())
    error = refusal(folder, sources)
    assert error.message == ("2 secrets detected: conf/deploy, line 1 (private key); train.py, line 3 (GitHub token).")
    for word in ("--secret", "--exclude", "--allow-secret"):
        assert word in error.fix
    assert error.details["leaks"] == [
        {"path": "conf/deploy", "line": 1, "cell": 0, "kind": "private_key", "what": "private key"},
        {"path": "train.py", "line": 3, "cell": 0, "kind": "github", "what": "GitHub token"},
    ]
    assert GITHUB[4:] not in json.dumps(error.as_json())
    assert list(sources.glob("*.tar.gz*")) == []


def test_file_with_a_secret_can_be_excluded_or_allowed_by_name(folder: Path, sources: Path) -> None:
    (folder / "a.py").write_text("1")
    (folder / "key.py").write_text(GITHUB)
    assert source.pack(manifest(folder, exclude=["key.py"]), sources).hashes.keys() == {"a.py"}
    for name in ("key.py", "./key.py", str(folder / "key.py")):
        assert source.pack(manifest(folder, allow_secret=[name]), sources).hashes.keys() == {"a.py", "key.py"}
    # The cache knows the file, but the permission was for one call and one file.
    assert "key.py, line 1" in refusal(folder, sources).message
    (folder / "other.py").write_text(GITHUB)
    assert "key.py" not in refusal(folder, sources, allow_secret=["key.py"]).message
    refusal(folder, sources, allow_secret=["*.py"])


def test_possible_secret_is_a_note(folder: Path, sources: Path) -> None:
    (folder / "a.py").write_text('\nsecret = "%s"\n' % chance(30))
    notes = ("a.py, line 2: possible secret (secret value); the file is packed.",)
    for _again in range(2):
        assert source.pack(manifest(folder), sources).notes == notes
        assert leaks.messages(source.inspect(manifest(folder).ready(), sources)) == notes
    assert source.pack(manifest(folder, allow_secret=["a.py"]), sources).notes == ()


def test_number_of_reported_secrets_is_limited(folder: Path, sources: Path) -> None:
    (folder / "a.py").write_text("\n".join(f'secret = "{chance(30, seed=n)}"' for n in range(30)))
    notes = source.pack(manifest(folder), sources).notes
    assert (len(notes), notes[-1]) == (21, "and 10 more")
    assert len(refusal_of_many(folder, sources).details["leaks"]) == 30  # type: ignore[arg-type]  # a list


def refusal_of_many(folder: Path, sources: Path) -> SourceError:
    (folder / "a.py").write_text("\n".join("gh" + "p_" + chance(36, seed=n) for n in range(30)))
    error = refusal(folder, sources)
    assert error.message.startswith("30 secrets detected: a.py, line 1 (")
    assert error.message.endswith("; and 10 more.")
    return error


def test_unchanged_file_is_not_scanned_again(folder: Path, sources: Path) -> None:
    """Its times are those of a scanned file, although its content differs."""
    (folder / "a.py").write_text('secret = "%s"\n' % chance(30))
    first = source.pack(manifest(folder), sources)
    (notes,) = sources.glob("*.json")
    noted = json.loads(notes.read_text())
    noted["time"] += 10**10
    noted["files"]["a.py"][2][0] = 77
    notes.write_text(json.dumps(noted))
    again = source.pack(manifest(folder), sources)
    assert again.digest == first.digest
    assert again.notes[0].startswith("a.py, line 77:")
    # Found by other rules than ours: looked into anew.
    notes.write_text(json.dumps(noted | {"rules": 0}))
    assert source.pack(manifest(folder), sources).notes == first.notes


def test_secret_added_later_is_found(folder: Path, sources: Path) -> None:
    (folder / "a.py").write_text("1")
    source.pack(manifest(folder), sources)
    (folder / "a.py").write_text(GITHUB)
    refusal(folder, sources)


def test_script_of_a_cell_is_scanned(sources: Path) -> None:
    files = {"pai_cell.py": f"# %%pai_train\nx = 1\nkey = '{GITHUB}'\n"}
    with pytest.raises(SourceError, match=r"Secret detected in pai_cell.py, line 3 \(GitHub token\)"):
        source.pack(manifest(None, files=files), sources)
    assert source.pack(manifest(None, files=files, allow_secret=["pai_cell.py"]), sources).digest


def test_notebook_is_scanned_by_cell_without_outputs(folder: Path, sources: Path) -> None:
    def cell(text: str, **more: object) -> dict[str, object]:
        return {"cell_type": "code", "id": "a", "metadata": {}, "source": text.splitlines(True), **more}

    printed = [{"output_type": "stream", "name": "stdout", "text": GITHUB}]
    notebook = {"cells": [cell("x = 1"), cell("print(1)", outputs=printed)], "metadata": {}, "nbformat": 4}
    (folder / "work.ipynb").write_text(json.dumps(notebook))
    assert source.pack(manifest(folder), sources).notes == ()
    notebook["cells"] = [cell("x = 1"), cell(f"y = 2\nkey = '{GITHUB}'\n")]
    (folder / "work.ipynb").write_text(json.dumps(notebook))
    assert refusal(folder, sources).message == "Secret detected in work.ipynb, cell 2, line 2 (GitHub token)."
    notebook |= {"cells": [], "metadata": {"key": GITHUB}}
    (folder / "work.ipynb").write_text(json.dumps(notebook))
    assert "work.ipynb, line 4 (" in refusal(folder, sources).message


def test_file_excluded_by_name_is_allowed_by_name_alone(folder: Path) -> None:
    for name in (".env", ".aws/credentials", ".aws/config", ".aws/sso/cache/a", "server.pem", "old/id_rsa", "old/b"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    (folder / ".gitignore").write_text(".env\nold/\n")
    result = manifest(folder, allow_secret=[".env", ".aws/sso/cache/a", "old/id_rsa"])
    assert {entry.path for entry in result.entries} == {".gitignore", ".env", ".aws/sso/cache/a", "old/id_rsa"}
    why = {left.path: left.why for left in result.excluded}
    assert why[".aws/credentials"] == why["server.pem"] == "may contain secrets"
    assert why["old/b"] == ".gitignore: old/"


def test_allowed_name_does_not_match_as_a_prefix(folder: Path) -> None:
    for name in (".env", ".env.local"):
        (folder / name).write_text("x")
    assert [entry.path for entry in manifest(folder, allow_secret=[".env"]).entries] == [".env"]


def test_packed_bytes_are_the_scanned_bytes(folder: Path) -> None:
    """One read serves hashing, scanning and writing."""
    import io

    (folder / "a.py").write_text(GITHUB)
    (entry,) = manifest(folder).entries
    assert archive.write([entry], io.BytesIO()) == {"a.py": archive.inspect(entry)}
    assert archive.inspect(entry).leaks == (Leak(1, "github", True),)


def test_the_first_secrets_of_a_kind_are_recorded_and_every_kind_is_found() -> None:
    line = f'access_key_secret = "{chance(30)}"\n'.encode()
    text = line * 3_000 + GITHUB.encode()
    assert leaks.find(text) == [*(Leak(n, "assignment", False) for n in range(1, 1_001)), Leak(3_001, "github", True)]
    scanner = leaks.Scanner()
    # Where chunks overlap, there are too few to hide others.
    for start in range(0, len(text), 1 << 14):
        scanner.feed(text[start : start + (1 << 14)])
    assert scanner.leaks() == [*(Leak(n, "assignment", False) for n in range(1, 3_001)), Leak(3_001, "github", True)]
