"""The browser's table of routes is the server's."""

from __future__ import annotations

from .routes import TABLE, text


def test_the_browser_knows_the_same_routes() -> None:
    assert TABLE.read_text("utf-8") == text(), "run: python -m tests.design.routes"
