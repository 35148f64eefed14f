"""The environment variables that the service sets in a job."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

from .jobs import TrainingJob

__all__ = ["hyperparameters", "of_instance"]


def hyperparameters(job: TrainingJob) -> dict[str, str]:
    """Names and values; all of them text."""
    return {row["Name"]: str(row.get("Value", "")) for row in job.request.get("HyperParameters") or []}


def name_of(word: str) -> str:
    """Return the form of a name in variables."""
    return re.sub(r"[^A-Za-z0-9]", "_", word).upper()


def of_instance(job: TrainingJob, rank: int, port: int, region: str, files: dict[str, str]) -> dict[str, str]:
    """The variables of one node. `files` has the name of the file for each input that is one."""
    values = hyperparameters(job)
    variables: dict[str, Any] = dict(job.request.get("Environments") or {})
    variables |= {
        "PAI_TRAINING_JOB_ID": job.id,
        "PAI_WORKING_DIR": "/ml/usercode/",
        "PAI_CONFIG_DIR": "/ml/input/config/",
        "PAI_HPS": json.dumps(values, ensure_ascii=False),
        "PAI_USER_ARGS": " ".join(f"--{name} {shlex.quote(value)}" for name, value in values.items()),
        "PAI_ODPS_CREDENTIAL": "/ml/input/credential/odps.json",
        "PAI_TRAINING_USE_ECI": "true",
        "REGION_ID": region,
        "TZ": "UTC",
        # All nodes are processes of one machine.
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(job.nodes),
        "RANK": str(rank),
    }
    variables |= {f"PAI_HPS_{name_of(name)}": value for name, value in values.items()}
    for channel in job.request.get("InputChannels") or []:
        name = channel["Name"]
        variables[f"PAI_INPUT_{name_of(name)}"] = f"/ml/input/data/{name}/{files.get(name, '')}"
    for channel in job.request.get("OutputChannels") or []:
        variables[f"PAI_OUTPUT_{name_of(channel['Name'])}"] = f"/ml/output/{channel['Name']}/"
    return {name: str(value) for name, value in variables.items()}
