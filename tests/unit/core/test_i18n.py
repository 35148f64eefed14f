"""The selection of the language, and texts that are shown in the language of their reader."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from jupyter_pai.core.errors import NotFound, PaiError
from jupyter_pai.core.i18n import (
    Message,
    _,
    join,
    language,
    ngettext,
    text_from_json,
    text_to_json,
    translated,
    use_language,
)

SAY = "from jupyter_pai.core.i18n import _, language; print(language(), _('running'))"


def printed_by(**environment: str) -> str:
    clean = {name: value for name, value in os.environ.items() if name not in ("LANG", "LANGUAGE")}
    return subprocess.run(
        [sys.executable, "-c", SAY], env=clean | environment, capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({}, "en running"),
        ({"LANG": "zh_CN.UTF-8"}, "zh-CN 运行中"),
        ({"LANG": "en_US.UTF-8", "LANGUAGE": "zh_CN:en"}, "zh-CN 运行中"),
        ({"LANG": "zh_TW.UTF-8"}, "en running"),
        ({"LANG": "de_DE.UTF-8"}, "en running"),
        ({"LANG": "zh_CN.UTF-8", "JUPYTER_PAI_LANGUAGE": "en"}, "en running"),
        ({"LANG": "C.UTF-8", "JUPYTER_PAI_LANGUAGE": "zh-CN"}, "zh-CN 运行中"),
    ],
)
def test_environment_selects_the_language(home: object, environment: dict[str, str], words: str) -> None:
    assert printed_by(PYTHONIOENCODING="utf-8", **environment) == words


def test_jupyterlab_setting_selects_the_language(home: object, tmp_path: Path) -> None:
    folder = tmp_path / "jupyter-config/lab/user-settings/@jupyterlab/translation-extension"
    folder.mkdir(parents=True)
    text = '{\n    // Language\n    "locale": "zh_CN"\n}'
    (folder / "plugin.jupyterlab-settings").write_text(text)
    assert printed_by(PYTHONIOENCODING="utf-8") == "zh-CN 运行中"


def test_accept_language_header_selects_the_language() -> None:
    with use_language("zh-CN,zh;q=0.9,en;q=0.8"):
        assert (language(), _("running")) == ("zh-CN", "运行中")
    with use_language("fr, en"):
        assert _("running") == "running"
    assert _("running") == "running"


def test_plural_forms_are_translated() -> None:
    with use_language("en"):
        assert ngettext("one", "many", 1) == "one"
        assert ngettext("one", "many", 2) == "many"


def kept(text: str, reader: str) -> str:
    """Store a text as JSON, and read it in the language of a reader."""
    stored = json.dumps(text_to_json(text))
    with use_language(reader):
        return text_from_json(json.loads(stored))


def unknown(name: object) -> NotFound:
    return NotFound(_("No job matches `{word}`.").format(word=name), fix=_("List all jobs: %pai list"))


# Texts of each form, as each writer makes them, in both languages.
TEXTS: dict[str, tuple[Callable[[], str], str, str]] = {
    "plain": (lambda: _("running"), "running", "运行中"),
    "value": (
        lambda: _("Ended by signal {name}.").format(name="SIGSEGV"),
        "Ended by signal SIGSEGV.",
        "被信号 SIGSEGV 结束。",
    ),
    "number": (lambda: _("cell {n}: {reason}").format(n=3, reason="x"), "cell 3: x", "单元格 3：x"),
    "path": (lambda: _("command: {command}").format(command=Path("/a")), "command: /a", "命令：/a"),
    "plural": (lambda: ngettext("{n} GPU", "{n} GPUs", 2).format(n=2), "2 GPUs", "2 块 GPU"),
    "nested": (
        lambda: _("cell {n}: {reason}").format(n=1, reason=_("Out of memory.")),
        "cell 1: Out of memory.",
        "单元格 1：内存不足。",
    ),
    "sum": (
        lambda: "worker-1: " + _("Out of memory.") + " {x}",
        "worker-1: Out of memory. {x}",
        "worker-1: 内存不足。 {x}",
    ),
    "joined": (
        lambda: join("{, ", ["2 x", ngettext("{n} GPU", "{n} GPUs", 1).format(n=1)]),
        "2 x{, 1 GPU",
        "2 x{, 1 块 GPU",
    ),
    "error": (
        lambda: str(unknown("a")),
        "No job matches `a`. List all jobs: %pai list",
        "没有作业 `a`。 查看所有作业：%pai list",
    ),
    "nested error": (
        lambda: _("cell {n}: {reason}").format(n=1, reason=PaiError(_("Out of memory."))),
        "cell 1: Out of memory.",
        "单元格 1：内存不足。",
    ),
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("writer", ["en", "zh-CN"])
def test_stored_text_is_read_in_the_language_of_the_reader(name: str, writer: str) -> None:
    make, english, chinese = TEXTS[name]
    with use_language(writer):
        text = make()
    assert text == (english if writer == "en" else chinese)
    assert (kept(text, "en"), kept(text, "zh-CN")) == (english, chinese)
    assert kept(copy.deepcopy(text), "zh-CN") == chinese
    with use_language("zh-CN"):
        assert translated(text) == chinese
        assert type(translated(text)) is str


@given(st.text())
def test_plain_texts_pass_unchanged(text: str) -> None:
    """Texts of platforms and of older releases, although the catalogue has some of them."""
    for one in (text, "running", "Out of memory."):
        assert text_to_json(one) == one
        assert kept(one, "zh-CN") == one
        assert kept(_("cell {n}: {reason}").format(n=1, reason=one), "zh-CN") == f"单元格 1：{one}"


@pytest.mark.parametrize(
    "stored",
    [
        {"text": "as written", "message": "Ended by signal {name}.", "values": {}},
        {"text": "as written", "message": "Ended by signal {name}.", "values": {"name": "x"}, "many": "", "n": None},
        {"text": "as written", "message": "{n:g} of another release", "values": {"n": "text"}},
        {"text": "as written"},
    ],
)
def test_text_of_another_release_is_shown(stored: dict[str, object]) -> None:
    with use_language("zh-CN"):
        assert text_from_json(stored) in ("as written", "被信号 x 结束。")
    assert text_from_json({}) == ""


def test_values_of_a_message_are_changed_without_its_text() -> None:
    text = _("cell {n}: {reason}").format(n=1, reason=_("Ended by signal {name}.").format(name="LONG"))
    assert isinstance(text, Message)
    assert kept(text.mapped(str.lower), "zh-CN") == "单元格 1：被信号 long 结束。"
