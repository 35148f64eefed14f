"""Run a stand-in: `python -m tests.fakes.tione FOLDER [SETTINGS-AS-JSON]`. It ends with its standard input.

It writes one line of JSON: the address, the region, the bucket and a key.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from .handle import tione

with tione(Path(sys.argv[1]), **json.loads("".join(sys.argv[2:]) or "{}")) as server:
    place = {"url": server.url, "region": server.region, "bucket": server.bucket, "key": [*server.key]}
    sys.stdout.write(json.dumps(place | {"ports": server.ports}) + "\n")
    sys.stdout.flush()
    sys.stdin.read()
