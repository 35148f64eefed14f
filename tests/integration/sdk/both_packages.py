"""One program with the official SDK and with the names here, on the stand-in of PAI."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from textwrap import dedent
from typing import Any

from ...fakes.alipai import run_alipai
from .snippet_platforms import SnippetPlatform

__all__ = ["COMMON", "Here", "both"]

# `PACKAGE` is the SDK's package. `kinds` are the built-in kinds of an error.
COMMON = """
    def kinds(call):
        try:
            call()
        except Exception as error:
            return [kind.__name__ for kind in (RuntimeError, ValueError) if isinstance(error, kind)]
        return "no error"

    bucket, code, image = session.oss_bucket_name, arguments["code"], arguments["image"]
    session.oss_bucket.put_object("one/train.csv", "1,2")
    data = {"train": f"oss://{bucket}/one/train.csv"}
"""

# The fields of a request that both send alike.
SENT = ("ComputeResource", "HyperParameters", "InputChannels", "Scheduler", "Environments", "PythonRequirements")


class Here(SnippetPlatform):
    """The names here, on the stand-in."""

    def run_script(self, script: str, **arguments: str) -> dict[str, Any]:
        """Run a script as `run_alipai` does."""
        assert self.pai
        values = {name: value for name, value in self.pai.settings().items() if name != "endpoint"}
        text = "import json, sys\narguments, results = json.loads(sys.argv[1]), {}\n"
        text += "from jupyter_pai.sdk.session import setup_default_session\n"
        text += f"session = setup_default_session(**{values!r})\n"
        text += dedent(script).replace("PACKAGE", "jupyter_pai.sdk") + "\nprint('\\n' + json.dumps(results))"
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", text, json.dumps(arguments)],
            cwd=self.folder, env=dict(os.environ), capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        output, _, last = done.stdout.rstrip().rpartition("\n")
        reply: dict[str, Any] = json.loads(last)
        return reply | {"output": output}


def requests(jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what both send for each job: without our label, our wrapper of the command, and names with a time."""
    kept = []
    for job in jobs:
        body = job["request"]
        algorithm = body["AlgorithmSpec"]
        outputs = {one["Name"]: one["OutputUri"].split("/")[-2] for one in body["OutputChannels"]}
        kept.append(
            {name: body.get(name) or None for name in SENT}
            | {"OutputChannels": {name: outputs[name] for name in ("model", "checkpoints", "tensorboard")}}
            | {"JobType": algorithm["JobType"], "Image": algorithm["Image"], "Code": bool(algorithm.get("CodeDir"))}
        )
    return kept


def both(here: Here, script: str, **arguments: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run a script with the official SDK and with the names here. Return the results, with the sent `requests`."""
    pai, replies = here.pai, list[dict[str, Any]]()
    assert pai
    for package in ("pai", "jupyter_pai.sdk"):
        before, text = len(pai.jobs), script.replace("PACKAGE", package)
        reply = run_alipai(pai, text, **arguments) if package == "pai" else here.run_script(text, **arguments)
        replies.append(reply | {"requests": requests(pai.jobs[before:])})
    return replies[0], replies[1]
