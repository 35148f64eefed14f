"""Run a stand-in: `python -m tests.fakes.webhdfs FOLDER SETTINGS-AS-JSON`."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from .server import serve
from .settings import Settings

asyncio.run(serve(Path(sys.argv[1]), Settings(**json.loads(sys.argv[2]))))
