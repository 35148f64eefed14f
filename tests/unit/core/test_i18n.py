"""The selection of the language."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_pai.core.i18n import _, language, ngettext, use_language

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
