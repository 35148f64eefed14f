"""The generated route tables are those of the endpoints."""

from __future__ import annotations

from .routes import files


def test_generated_files_match_the_endpoints() -> None:
    for path, text in files().items():
        assert path.read_text("utf-8") == text, f"{path}: run python -m tests.design.routes"
