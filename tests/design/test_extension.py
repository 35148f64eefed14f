"""The page's part: its version is the server's, and its commands and settings are documented."""

from __future__ import annotations

import json
import re

import pytest

import jupyter_pai

from .test_documents import GUIDES, ROOT, text


def test_page_and_server_versions_are_equal() -> None:
    assert f"VERSION = '{jupyter_pai.__version__}'" in text("labextension/src/api/compatibility.ts")


@pytest.mark.parametrize("guide", GUIDES)
def test_commands_and_settings_are_documented(guide: str) -> None:
    commands = re.findall(r"'(jupyter-pai:[\w-]+)'", text("labextension/src/host/commandids.ts"))
    assert commands
    for path in (ROOT / "labextension/schema").glob("*.json"):
        commands += json.loads(path.read_text("utf-8"))["properties"]
    for name in commands:
        assert f"`{name}`" in text(guide), name
