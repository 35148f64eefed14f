"""The site that `make docs` builds has complete references and no broken links."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.site.__main__ import build
from docs.site.links import broken
from docs.site.pages import LANGUAGES, ROOT, led
from docs.site.reference.commands import verbs
from docs.site.reference.environment import _MEANING, environment, mentioned
from docs.site.reference.jupyterlab import commands
from jupyter_pai.api.routes import ROUTES
from jupyter_pai.api.subscriptions import _TOPICS, Subscribe
from jupyter_pai.backends import load_backends
from jupyter_pai.commands.parser import parser as grammar
from jupyter_pai.config.policy import PolicyRules
from jupyter_pai.jobs.spec import JobSpec


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build both languages strictly, so that broken links are errors."""
    made = tmp_path_factory.mktemp("site")
    build(made)
    return made


@pytest.mark.parametrize("language", LANGUAGES)
def test_reference_is_complete(folder: Path, language: str) -> None:
    words = {path.stem: path.read_text("utf-8") for path in (folder / language).glob("*.md")}
    for name, _verb in verbs(grammar.parser()):
        assert f"## `%pai {name}`" in words["commands"]
        for option in grammar.options_of(grammar.parser(), name):
            assert option == "--help" or f"`{option}" in words["commands"], option
    for backend in load_backends().values():
        assert all(f"| `{key}` |" in words["settings"] for key in backend.settings_model.model_fields)
    assert all(f"| `{key}` |" in words["settings"] for key in PolicyRules.model_fields)
    assert all(f"| `{key}` |" in words["spec"] for key in JobSpec.model_fields)
    assert all(f"## `{route.method} {route.path or '/'}`" in words["http"] for route in ROUTES.values())
    for address in ("`GET /stream`", "`GET /pai/tensorboard/{id}/…`"):
        assert f"## {address}" in words["http"]
    assert all(f"| `{field}` |" in words["http"] for field in Subscribe.model_fields)
    assert all(f"""`{{"type": "{topic}",""" in words["http"] for topic in _TOPICS)
    assert all(f"| `{command}` | " in words["jupyterlab"] for command in commands())
    assert all(f"| `{name}` |" in words["environment"] for name in mentioned())


@pytest.mark.parametrize("page", ["settings", "spec", "commands", "environment", "http", "jupyterlab"])
def test_reference_is_translated(folder: Path, page: str) -> None:
    text = (folder / "zh-CN" / f"{page}.md").read_text("utf-8")
    rows = [line[2:-2].split(" | ") for line in text.splitlines() if line.startswith("| `")]
    assert rows
    texts = [row[-1] for row in rows if not row[-1].startswith("`")]
    texts += [line for line in text.splitlines() if " " in line and line[0] not in "|#`"]
    assert [text for text in texts if re.search("[a-z]", text) and not re.search("[\u4e00-\u9fff]", text)] == []


def test_pages_are_in_their_language(folder: Path) -> None:
    for language, place in LANGUAGES.items():
        page = (folder / "html" / place / "guide/index.html").read_text("utf-8")
        assert f'<html lang="{language[:2]}"' in page
        assert ("使用指南" in page) == (language == "zh-CN")
        other = "../guide/index.html" if place else "zh/guide/index.html"
        assert (folder / "html" / place / other).resolve().exists()


def test_nothing_is_loaded_from_other_hosts(folder: Path) -> None:
    for path in (folder / "html").rglob("*.html"):
        text = path.read_text("utf-8")
        assert not re.findall(r"""<(?:script|img|iframe)[^>]*\ssrc=["']?(?:https?:)?//[^>]*>""", text), path
        assert not re.findall(r"""<link[^>]*rel=["']?stylesheet["']?[^>]*href=["']?(?:https?:)?//[^>]*>""", text), path


def test_broken_site_link_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<p id='here'><a href='b.html#part'>x</a><a href='#here'>y</a><img src='c.png'>")
    (tmp_path / "b.html").write_text("<p id='other'><a href='a.html#here'>z</a><a href='https://example.com'>w</a>")
    assert broken(tmp_path) == ["a.html: b.html#part is broken", "a.html: c.png is broken"]


def test_broken_document_link_is_reported() -> None:
    document = ROOT / "binder/tutorials/tutorial.ipynb"
    assert (
        led("[a](folder.ipynb) [b](../demo.py) [c](https://x)", document)
        == "[a](folder.md) [b](#nowhere) [c](https://x)"
    )
    with pytest.raises(SystemExit, match=r"tutorial\.ipynb: gone\.ipynb#part is broken"):
        led("[a](gone.ipynb#part)", document)


def test_every_variable_is_explained_in_both_languages() -> None:
    english, chinese = (set(re.findall(r"^\| `(\w+)`", environment(language), re.MULTILINE)) for language in LANGUAGES)
    assert english == chinese == mentioned() == set(_MEANING)
    assert {"PAI_CONFIG_PATH", "DLC_JOB_ID", "ALIBABA_CLOUD_CREDENTIALS_FILE", "JUPYTERHUB_API_URL"} < english
