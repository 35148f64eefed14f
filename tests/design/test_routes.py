"""The generated route tables are those of the endpoints, and the endpoints leave the server's thread to others."""

from __future__ import annotations

import re

from .routes import ROOT, files


def test_generated_files_match_the_endpoints() -> None:
    for path, text in files().items():
        assert path.read_text("utf-8") == text, f"{path}: run python -m tests.design.routes"


def test_endpoints_parse_bodies_in_their_turn() -> None:
    calls = re.compile(r"(?<![\w.])(?:parse|\w+_request)\(.*")
    modules = {*(ROOT / "jupyter_pai" / "api").glob("*.py")} - {ROOT / "jupyter_pai" / "api" / "endpoint.py"}
    found = {path.name: calls.findall(path.read_text("utf-8")) for path in modules}
    assert {name: lines for name, lines in found.items() if lines} == {}, "use Context.read"
