"""The rules of the secret scan: keys of providers, ordinary files, other encodings, archives, and fields of a spec."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import re
import tarfile
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.core.errors import SourceError, SpecError
from jupyter_pai.jobs.spec import JobSpec, Source, parse_spec
from jupyter_pai.source import archive, pack as source, secret_fields, secret_scan
from jupyter_pai.source.archive import Entry
from jupyter_pai.source.ignore import is_excluded
from jupyter_pai.source.secret_rules import KINDS, PROVIDERS, RULES, title
from jupyter_pai.source.secret_scan import Leak

from ...support.fake_keys import CERTAIN, HEX, chance
from ...support.provider_keys import is_held_out, positives

GITHUB = CERTAIN["github"][0]
PACKAGES = Path(pytest.__file__).parents[1]


def leaks_of(data: bytes) -> tuple[Leak, ...]:
    return archive.inspect(Entry("file", 0o644, len(data), data=data)).leaks


# How the third was held out: `is_held_out` takes a name by the first byte of its SHA-256. The texts were written from
# the documents of the providers before the rules, and the rules were changed by the other two thirds only.
@pytest.mark.parametrize("held_out", [False, True])
def test_95_percent_of_the_secrets_of_providers_are_found(held_out: bool) -> None:
    texts = {name: text for name, text in positives().items() if is_held_out(name) == held_out}
    assert len(positives()) >= 150
    assert len(texts) >= 50
    missed = [name for name, text in texts.items() if not leaks_of(text)]
    assert len(missed) <= 0.05 * len(texts), missed


@pytest.mark.parametrize("provider", ["baidu", "huawei", "twilio"])
def test_all_keys_of_a_provider_are_certain(provider: str) -> None:
    texts = {name: text for name, text in positives().items() if name.startswith(provider)}
    found = {name: {(leak.kind, leak.certain) for leak in leaks_of(text)} for name, text in texts.items()}
    assert found == {name: {(provider, True)} for name in texts}


def test_no_secrets_are_found_in_ordinary_files() -> None:
    """The first 5,000 files, by the SHA-256 of their paths, of the installed packages."""
    paths = [
        os.path.relpath(os.path.join(folder, name), PACKAGES)
        for folder, _folders, names in os.walk(PACKAGES)
        for name in names
        if not is_excluded(name) and "__pycache__" not in folder
    ]
    chosen = sorted(paths, key=lambda path: sha256(path.encode()).digest())[:5000]
    assert len(chosen) == 5000
    found = {}
    for path in chosen:
        leaks = archive.inspect(Entry(path, 0o644, file=str(PACKAGES / path))).leaks
        if leaks:
            found[path] = leaks
    assert found == {}


def test_each_kind_has_a_name_and_each_rule_one_group() -> None:
    for rule in RULES:
        assert re.compile(rule.pattern).groups == 1, rule
        assert title(rule.kind)
    assert not KINDS.keys() & PROVIDERS.keys()
    assert {rule.kind for rule in RULES} | {"keystore", "openpai"} == {*KINDS, *PROVIDERS}


@pytest.mark.parametrize(
    "text",
    [
        "WANDB_GIT_COMMIT={sha}",
        'os.environ["WANDB_GIT_COMMIT"] = "{sha}"',
        "wandb: commit: {sha}",
        "wandb.init(settings=wandb.Settings(git_commit='{sha}'))",
        "GITHUB_SHA={sha}",
        "image: ada/app@sha256:{sha256}",
        "access-control: {sha}",
    ],
)
def test_hash_of_a_commit_is_not_a_secret(text: str) -> None:
    text = text.format(sha=chance(40, HEX), sha256=chance(64, HEX)) + "\n"
    assert leaks_of(text.encode()) == ()
    parse_and_check(environment={"WANDB_GIT_COMMIT": chance(40, HEX)})


def test_key_inside_encoded_data_is_not_a_secret() -> None:
    data = chance(900) + "/" + "LT" + "AI" + chance(20) + "/" + chance(900)
    for text in (data, "\r\n".join(data[n : n + 76] for n in range(0, len(data), 76))):
        assert leaks_of(f'image = "{text}"'.encode()) == ()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_secret_in_utf_16_is_found_in_its_line(encoding: str) -> None:
    text = "# 训练\nDEBUG = 1\n" * 4000 + f"key = '{GITHUB}'\n"
    mark = "\ufeff" if encoding != "utf-16" else ""
    assert leaks_of((mark + text).encode(encoding)) == (Leak(8001, "github", True),)
    plain = "DEBUG = 1\n" * 20 + f"key = '{GITHUB}'\n"
    assert leaks_of(plain.encode(encoding)) == (Leak(21, "github", True),)


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_utf_16_may_be_read_in_chunks_of_any_size(size: int) -> None:
    data = f"DEBUG = 1\nkey = '{GITHUB}'\n".encode("utf-16")
    scanner = secret_scan.Scanner()
    for place in range(0, len(data), size):
        scanner.feed(data[place : place + size])
    assert scanner.leaks() == [Leak(2, "github", True)] * (size > 1)


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as packed:
        for name, data in members.items():
            packed.writestr(name, data)
    return file.getvalue()


def tarred(members: dict[str, bytes], mode: str) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as packed:  # type: ignore[call-overload]  # mode is a variable
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            packed.addfile(info, io.BytesIO(data))
    return file.getvalue()


SECRET = f"DEBUG = 1\nkey = '{GITHUB}'\n".encode()
MEMBERS = {"weights": bytes(3_000_000), "conf/.env": SECRET, "readme": b"x"}


@pytest.mark.parametrize(
    "data",
    [
        zipped(MEMBERS),
        zipped(MEMBERS, zipfile.ZIP_STORED),
        tarred(MEMBERS, "w"),
        tarred(MEMBERS, "w:gz"),
        tarred(MEMBERS, "w:bz2"),
        tarred(MEMBERS, "w:xz"),
    ],
    ids=["zip", "stored zip", "tar", "tar.gz", "tar.bz2", "tar.xz"],
)
def test_secret_in_an_archive_is_found_with_its_file(data: bytes) -> None:
    assert leaks_of(data) == (Leak(2, "github", True, member="conf/.env"),)


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_file_is_scanned(compress: Callable[[bytes], bytes]) -> None:
    assert leaks_of(compress(SECRET)) == (Leak(2, "github", True),)
    assert leaks_of(compress(b"x = 1\n" * 1000) + compress(SECRET)) == (Leak(1002, "github", True),)


@pytest.mark.slow("large files", first=1)
@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_bytes_of_a_compressed_file_are_bounded(compress: Callable[[bytes], bytes]) -> None:
    text = compress(b"x = 1\n" * 500_000)
    for count, found in ((20, True), (45, False)):
        assert bool(leaks_of(text * count + compress(SECRET))) == found


def test_archives_are_scanned_one_level_deep_and_never_fail() -> None:
    assert leaks_of(zipped({"inner.zip": zipped(MEMBERS)})) == ()
    good = zipped({"a": b"x", **MEMBERS})
    encrypted = bytearray(good)
    for place in (match.start() for match in re.finditer(b"PK\x01\x02", good)):
        encrypted[place + 8] |= 1
    assert leaks_of(bytes(encrypted)) == ()
    compressed = [compress(SECRET) for compress in (gzip.compress, bz2.compress, lzma.compress)]
    for data in (good, *(tarred(MEMBERS, mode) for mode in ("w", "w:gz", "w:bz2", "w:xz")), *compressed):
        for cut in (5, 30, 300, len(data) // 2, len(data) - 10):
            leaks_of(data[:cut])
            leaks_of(data[:cut] + bytes(10) + data[cut + 10 :])


def test_binary_members_do_not_count() -> None:
    zeros = bytes(30 << 20)
    assert leaks_of(zipped(dict.fromkeys("abcde", zeros) | {"last": SECRET}))


def test_bytes_and_members_of_an_archive_are_bounded() -> None:
    text = b"x = 1\n" * 500_000
    for count, found in ((20, True), (60, False)):
        assert bool(leaks_of(zipped(dict.fromkeys(map(str, range(count)), text) | {"last": SECRET}))) == found
    for count, found in ((100, True), (6000, False)):
        assert bool(leaks_of(zipped(dict.fromkeys(map(str, range(count)), b"") | {"last": SECRET}))) == found


def test_secret_in_an_archive_is_reported_and_cached_with_its_file(tmp_path: Path) -> None:
    folder, sources = tmp_path / "code", tmp_path / "sources"
    folder.mkdir()
    sources.mkdir()
    (folder / "data.zip").write_bytes(zipped(MEMBERS))
    manifest = source.scan(Source(folder=str(folder)), 10**9)
    for _again in range(2):
        with pytest.raises(SourceError) as caught:
            source.pack(manifest, sources)
        assert caught.value.message == "Secret detected in data.zip, file conf/.env, line 2 (GitHub token)."
        assert caught.value.details["leaks"] == [
            {"path": "data.zip", "line": 0, "cell": 0, "kind": "github", "what": "GitHub token in conf/.env, line 2"}
        ]
    (folder / "data.zip").write_bytes(zipped({"a.py": f'secret = "{chance(30)}"\n'.encode()}))
    note = "data.zip, file a.py, line 1: possible secret (secret value); the file is packed."
    for _again in range(2):
        assert source.pack(source.scan(Source(folder=str(folder)), 10**9), sources).notes == (note,)


def test_keystore_is_reported_without_a_line(tmp_path: Path) -> None:
    folder, sources = tmp_path / "code", tmp_path / "sources"
    folder.mkdir()
    sources.mkdir()
    (folder / "store.bin").write_bytes(positives()["keystore: java"])
    with pytest.raises(SourceError, match=re.escape("Secret detected in store.bin (keystore).")):
        source.pack(source.scan(Source(folder=str(folder)), 10**9), sources)


# Fields of a spec.


def parse_and_check(**fields: object) -> tuple[str, ...]:
    base: dict[str, object] = {"name": "x", "command": "python train.py"}
    return secret_fields.check(parse_spec(base | fields))


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"command": f"HF_TOKEN={CERTAIN['huggingface'][0]} python train.py"}, "command"),
        ({"command": "python a.py $PAI_USER_ARGS", "args": ["--token", GITHUB]}, "args"),
        ({"environment": {"A": "1", "ANY_NAME": GITHUB}}, "environment.ANY_NAME"),
        ({"environment": {"WANDB_API_KEY": chance(40, HEX)}}, "environment.WANDB_API_KEY"),
        ({"hyperparameters": {"lr": 0.1, "key": GITHUB}}, "hyperparameters.key"),
        ({"labels": {"team": GITHUB}}, "labels.team"),
    ],
)
def test_secret_in_a_field_is_rejected_without_its_value(fields: dict[str, Any], path: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse_and_check(**fields)
    assert caught.value.details["faults"].keys() == {path}  # type: ignore[attr-defined]  # a dict
    assert "--secret NAME" in caught.value.fix
    assert f"--allow-secret {path}" in caught.value.fix
    assert GITHUB[8:] not in json.dumps(caught.value.as_json())
    assert parse_and_check(**fields, source={"allow_secret": [path]}) == ()
    assert isinstance(JobSpec.model_validate({"name": "x", "command": "x"} | fields), JobSpec)  # As stored.


def test_fix_names_no_secrets_if_the_backend_does_not_pass_them() -> None:
    spec = parse_spec({"name": "x", "command": "x", "environment": {"A": GITHUB}})
    with pytest.raises(SpecError) as caught:
        secret_fields.check(spec, passes_secrets=False)
    assert caught.value.fix == "The platform stores and displays it. To send it anyway: --allow-secret environment.A."


def test_possible_secret_in_a_field_is_a_note() -> None:
    notes = parse_and_check(
        environment={"DB_PASSWORD": chance(24)}, hyperparameters={"url": "redis://:" + "hunter2@h/0"}
    )
    assert notes == (
        "Possible secret in environment variable `DB_PASSWORD` (secret value).",
        "Possible secret in hyperparameter `url` (password in a URL).",
    )


def test_ordinary_fields_are_accepted() -> None:
    assert (
        parse_and_check(
            command="torchrun --nproc_per_node 8 train.py --tokenizer bert-base-uncased-v2 $PAI_USER_ARGS",
            args=["--pad_token", "<|endoftext|>", "--revision", chance(40, HEX)],
            environment={
                "GIT_COMMIT": chance(40, HEX),
                "TOKENIZERS_PARALLELISM": "false",
                "PYTHONPATH": "/ml/usercode",
            },
            hyperparameters={"max_tokens": 4096, "lr": 3e-4, "data": "oss://bucket/part-00000-of-00032"},
            labels={"sha": chance(64, HEX), "team": "vision"},
        )
        == ()
    )
