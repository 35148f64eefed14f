"""Tikit, the official SDK of TI-ONE, in an environment of its own: it pins certifi and setuptools."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any

from ..support.own_environments import python_with, run_script
from .tione import TiOne

__all__ = ["python_of_tikit", "run_tikit"]


def python_of_tikit() -> Path:
    """The interpreter that has Tikit."""
    return python_with("tikit")


def run_tikit(server: TiOne, script: str, **arguments: str) -> dict[str, Any]:
    """Run a script with `client`: see `run_script`."""
    # Its copy of the official library reads no variable with certificates.
    text = "import certifi, os\ncertifi.where = lambda: os.environ['REQUESTS_CA_BUNDLE']\n"
    text += "from tikit.client import Client\n"
    text += f"client = Client({server.key.id!r}, {server.key.secret!r}, {server.region!r})\n{dedent(script)}"
    home = server.ca_file.parent / "home"
    return run_script(python_of_tikit(), text, arguments, home, **server.proxy_environment())
