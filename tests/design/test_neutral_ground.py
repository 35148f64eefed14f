"""Code that serves every platform names none: a user of one platform is not told of another.

A platform is named in its own folders, and in `sdk`, which has the names of another SDK.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from .messages import ROOT

PACKAGE = "jupyter_pai"
# Words by platform, and the folders that may use them. Words of all clouds belong to the folders of any.
PLATFORMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "Alibaba Cloud": (
        "alibaba alibabacloud aliyun aliyuncs alipai ecs oss dlc eas odps maxcompute",
        ("backends/pai", "cloud/alibaba", "storage/oss", "storage/odps"),
    ),
    "Slurm": ("slurm sbatch srun squeue sacct scontrol", ("backends/slurm",)),
    "OpenPAI": ("openpai", ("backends/openpai", "cloud/openpai", "storage/openpai")),
    "Tencent Cloud": ("tencent tencentcloud tione tccli cos", ("backends/tione", "cloud/tencent", "storage/cos")),
}
CLOUDS = "bucket buckets region regions"
# Uses of the name of the backend `pai`, which is also the name of this product and of its command.
BACKEND_PAI = r"--(?:backend|profile)[ =]pai\b|backend(?:s\.|=|: ?)[\"']?pai\b|\bPaiBackend\b|\bon PAI\b|\bPAI's\b"

# Files of generic code with such words: the words, and why they stay.
STAY: dict[str, tuple[str, str]] = {
    "backends/__init__.py": ("PaiBackend", "the list of built-in backends"),
    "storage/__init__.py": ("oss cos odps", "the list of built-in storages"),
    "core/errors.py": ("bucket region", "classes of errors that are part of the names for plug-ins"),
    "source/ignore.py": (
        "aliyun alibabacloud cos tccli tencentcloud",
        "folders and files with keys, which no job of any platform may contain",
    ),
    "engine/failure/last_line.py": ("srun", "a launcher, whose lines are in the logs of any backend"),
    "jobs/logs/tags.py": ("srun", "likewise"),
    "backends/pai/dlc/options.py": ("slurm", "SlurmJob is a type of jobs of that platform"),
    "backends/pai/dlc/roles.py": ("slurm", "likewise"),
    "source/secret_patterns.py": ("openpai", "keys in packed files are found whatever platform they are for"),
    "source/secret_rules.py": ("alibaba aliyun tencent openpai", "likewise, with names of the kinds of keys"),
}


def words_of(line: str) -> set[str]:
    """Return the words of a line in lower case, also those in names such as `BucketError` and `oss_uri`."""
    parts = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", line)
    return set(re.findall(r"[a-z]+", f"{line} {parts}".lower()))


def found(name: str, text: str) -> Iterator[tuple[int, str]]:
    """Yield line and name of each platform that a file of generic code may not name. `name`: below the package."""
    stay = {word for file, (words, _reason) in STAY.items() if file == name for word in words.split()}
    is_cloud = re.match(r"(backends|cloud|storage)/[^/]+/", name)
    forbidden = set() if is_cloud else {*CLOUDS.split()}
    for words, folders in PLATFORMS.values():
        if not name.startswith(tuple(f"{folder}/" for folder in folders)):
            forbidden |= {*words.split()}
    for number, line in enumerate(text.splitlines(), 1):
        # A landmark of a page has the role of a region.
        line = re.sub(r"role=\"region\"|getByRole\('region'|\[role=['\"]?region", "", line)
        yield from ((number, word) for word in sorted(words_of(line) & forbidden - stay))
        if not name.startswith(PLATFORMS["Alibaba Cloud"][1]):
            yield from ((number, match) for match in re.findall(BACKEND_PAI, line) if match not in stay)


def generic_files() -> Iterator[tuple[str, Path]]:
    """Yield the generic files of the package and of the extension, by their names below it."""
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        name = path.relative_to(ROOT / PACKAGE).as_posix()
        if not name.startswith("sdk/"):
            yield name, path
    for folder, pattern in (("src", "*.ts*"), ("style", "*.css"), ("schema", "*.json")):
        for path in sorted((ROOT / "labextension" / folder).rglob(pattern)):
            yield path.relative_to(ROOT).as_posix(), path


def test_generic_code_names_no_platform() -> None:
    named = [
        f"{path.relative_to(ROOT)}:{line}: {word}"
        for name, path in generic_files()
        for line, word in found(name, path.read_text("utf-8"))
    ]
    assert named == []


@pytest.mark.parametrize("file", STAY)
def test_what_stays_is_still_there(file: str) -> None:
    text = (ROOT / PACKAGE / file).read_text("utf-8")
    assert [word for word in STAY[file][0].split() if word.lower() not in text.lower()] == []


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("api/data.py", 'Uri = Annotated[str, "A file: oss://name/key"]'),
        ("engine/submit.py", "if isinstance(error, BucketError):"),
        ("commands/parser/help.py", '(N_("Run with a GPU"), "--backend pai --gpu 1")'),
        ("client/job.py", '"""As on PAI."""'),
        ("jobs/spec.py", "instance_type: ecs.g7.xlarge"),
        ("config/settings.py", "aliyun_profile = 1"),
        ("backends/pai/backend.py", "sbatch = 1"),
        ("storage/oss/uri.py", "# As OpenPAI does it."),
        ("labextension/src/train/data.tsx", "placeholder={trans.__('oss://bucket/')}"),
    ],
)
def test_name_in_generic_code_is_found(name: str, line: str) -> None:
    assert [*found(name, f"\n{line}\n")]


def test_own_names_and_common_words_are_allowed() -> None:
    for line in ("loss = cosine(specs, cost)", "%pai list --profile painting", "PAI_OUTPUT_MODEL", "import PaiError"):
        assert [*found("engine/x.py", line)] == []
    assert [*found("labextension/src/a.tsx", '<pre role="region" aria-label="x">')] == []
    assert [*found("storage/oss/uri.py", "oss://bucket/key in a region")] == []
