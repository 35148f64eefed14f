"""`docs/asks.md` names tests and sections that exist, in both languages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pymdownx.slugs import slugify

ROOT = Path(__file__).parents[2]
BOTH = ["docs/asks.md", "docs/asks.zh-CN.md"]
slug = slugify(case="lower")


def text(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def answers(name: str) -> dict[int, str]:
    """Return the answer to each request, by its number."""
    parts = re.split(r"^## (\d+)\. .*$", text(name), flags=re.MULTILINE)[1:]
    return {int(number): words for number, words in zip(parts[::2], parts[1::2], strict=True)}


@pytest.mark.parametrize("name", BOTH)
def test_each_request_is_answered(name: str) -> None:
    matches = answers(name)
    assert list(matches) == list(range(1, 26))
    for number, words in matches.items():
        assert re.search(r"https://github\.com/[\w.-]+/[\w.-]+/issues/\d+", words), number
        assert re.search(r"`tests/[\w/.]+(::\w+)?`", words), number


@pytest.mark.parametrize("name", BOTH)
def test_named_tests_and_sections_exist(name: str) -> None:
    for path, _both, test in re.findall(r"`(tests/[\w/.]+)(::(\w+))?`", text(name)):
        assert (ROOT / path).exists(), path
        assert not test or f"def {test}(" in text(path), f"{path}::{test}"
    for document, part in re.findall(r"\]\(([\w./-]+\.md)#([^)]+)\)", text(name)):
        headings = re.findall(r"^#+ (.*)$", text(f"docs/{document}"), re.MULTILINE)
        assert part in {slug(heading.replace("`", ""), "-") for heading in headings}, f"{document}#{part}"


def test_both_languages_name_the_same_tests_and_issues() -> None:
    for pattern in (r"`(tests/[^`]+)`", r"(https://[^)]+)"):
        english, chinese = (re.findall(pattern, text(name)) for name in BOTH)
        assert english == chinese
