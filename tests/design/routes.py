"""The routes of the server as the browser's code knows them: one table, written from Python's.

python -m tests.design.routes     write labextension/src/api/routes.ts
"""

from __future__ import annotations

import json
from pathlib import Path

from jupyter_pai.api.routes import PREFIX, ROUTES

TABLE = Path(__file__).parents[2] / "labextension" / "src" / "api" / "routes.ts"

_HEAD = """/**
 * How each verb of the server is called. Written by `python -m tests.design.routes` from `jupyter_pai/api/routes.py`.
 */

"""


def text() -> str:
    """What the file should say."""
    lines = "".join(
        f"  {verb}: {{ method: '{route.method}', path: '{route.path}' }},\n" for verb, route in ROUTES.items()
    )
    return (
        f"{_HEAD}export const PREFIX = {json.dumps(PREFIX).replace(chr(34), chr(39))};\n\n"
        f"export const ROUTES = {{\n{lines.removesuffix(',' + chr(10))}\n}} as const;\n\n"
        "export type Verb = keyof typeof ROUTES;\n"
    )


if __name__ == "__main__":
    TABLE.write_text(text(), "utf-8")
