"""Contents of a pod: its folder `/opt/ml`, with code and inputs from COS, its variables, and outputs that go to COS."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from .cos import Cos
from .tasks import Pod, Run, Task

__all__ = ["PodFolder", "Unreachable", "variables_of"]

_DATA = "/opt/ml/input/data"
_OWN = ("/opt/ml/code", _DATA, "/opt/ml/model", "/opt/ml/output")


class Unreachable(Exception):
    """Data of a task that cannot be mounted or copied."""


class PodFolder:
    """The folder of one pod: `opt-ml` is its `/opt/ml`, and `mounts` are further folders by their path in the pod."""

    def __init__(self, path: Path, task: Task, cos: Cos, file_systems: dict[str, str]) -> None:
        self.path, self._task, self._cos, self._file_systems = path, task, cos, file_systems
        self.mounts: dict[str, str] = {}
        self._outputs: list[tuple[Path, str, str]] = []

    def prepare(self) -> None:
        """Make the folders; copy code and inputs. Raises Unreachable."""
        for name in ("ml/usercode", "ml/output", "root", "home"):
            (self.path / name).mkdir(parents=True)
        self.mounts = {f"/opt/{name}": f"/opt/{name}" for name in _other_folders()}
        self.mounts["/opt/ml"] = str(self.path / "opt-ml")
        for place in _OWN:
            self._place(place).mkdir(parents=True)
        if code := self._task.request.get("CodePackagePath"):
            self._copy(code, "/opt/ml/code")
        for config in self._task.request.get("DataConfigs") or []:
            self._add(config)
        output = self._task.request.get("Output")
        if output and output["Paths"]:
            prefix = f"{output['Paths'][0].lstrip('/')}{self._task.id}/"
            for name in ("model", "output"):
                self._outputs.append((self._place(f"/opt/ml/{name}"), output["Bucket"], f"{prefix}{name}/"))

    def save(self) -> None:
        """Copy the outputs to COS."""
        for folder, bucket, prefix in self._outputs:
            for path in sorted(folder.rglob("*")):
                if path.is_file() and not path.is_symlink() and bucket in self._cos.buckets:
                    self._cos.store(bucket, f"{prefix}{path.relative_to(folder).as_posix()}", path)

    def _place(self, target: str) -> Path:
        """Return the folder that is at a path of the pod."""
        if target == "/opt/ml" or target.startswith("/opt/ml/"):
            return self.path / "opt-ml" / target.removeprefix("/opt/ml").lstrip("/")
        folder = self.path / "mounted" / target.strip("/").replace("/", "__")
        self.mounts[target.rstrip("/")] = str(folder)
        return folder

    def _add(self, config: dict[str, Any]) -> None:
        target, kind = config["MappingPath"].rstrip("/"), config["DataSourceType"]
        if ".." in target.split("/"):
            raise Unreachable(f"the path {target} is invalid")
        if kind in ("COS", "COSFS"):
            place = self._place(target)
            place.mkdir(parents=True, exist_ok=True)
            if config.get("DataSourceUsage") == "OUTPUT":
                source = config["COSSource"]
                self._outputs.append((place, source["Bucket"], source["Paths"][0].lstrip("/")))
            else:
                self._copy(config["COSSource"], target)
            return
        self.mounts[target] = self._mounted(config, kind)

    def _mounted(self, config: dict[str, Any], kind: str) -> str:
        """Return the local folder of a file system."""
        names = {"CFS": "CFSSource", "CFSTurbo": "CFSTurboSource", "HDFS": "HDFSSource", "DATASET": "DataSetSource"}
        source = config.get(names.get(kind, "GooseFSSource")) or {}
        key, path = source.get("Id", ""), source.get("Path") or ""
        if key not in self._file_systems:
            raise Unreachable(f"mount of {kind} {key} failed: not found")
        folder = Path(self._file_systems[key]) / path.lstrip("/")
        if not folder.is_dir():
            raise Unreachable(f"mount of {kind} {key} failed: no path {path}")
        return str(folder)

    def _copy(self, source: dict[str, Any], target: str) -> None:
        place, bucket = self._place(target), self._cos.buckets.get(source["Bucket"])
        if bucket is None:
            raise Unreachable(f"the bucket {source['Bucket']} does not exist")
        place.mkdir(parents=True, exist_ok=True)
        for key in (path.lstrip("/") for path in source["Paths"]):
            prefix = key if key.endswith("/") or not key else f"{key}/"
            if (single := bucket.get(key)) and not key.endswith("/"):
                single.blob.copy_to(place / key.rpartition("/")[2])
            for stored in bucket.below(prefix):
                path = place / stored.key.removeprefix(prefix)
                if stored.key.endswith("/") or not path.resolve().is_relative_to(place.resolve()):
                    continue
                path.parent.mkdir(parents=True, exist_ok=True)
                stored.blob.copy_to(path)


def _other_folders() -> list[str]:
    """Return what else this machine has in `/opt`: programs of the images may be there."""
    return [name for name in os.listdir("/opt") if name != "ml"] if os.path.isdir("/opt") else []


def variables_of(task: Task, run: Run, pod: Pod, port: int) -> dict[str, str]:
    """Return the variables of a pod."""
    nodes = [other for other in run.pods if other.role not in ("PS",)] or run.pods
    chief, count = nodes[0].ip, len(run.pods)
    gpus = sum(other.gpus for other in run.pods)
    found = {
        "NODE_NUM": str(count), "INDEX": str(pod.rank), "GPU_NUM_PER_NODE": str(pod.gpus), "GPU_NUM": str(gpus),
        "CHIEF_IP": chief, "NODE_LIST": ",".join(f"{other.ip}:{other.gpus}" for other in run.pods),
        "NODE_IP_SLOT_LIST": ",".join(f"{other.ip}:{max(1, other.gpus)}" for other in run.pods),
        "TI_TASK_ID": task.id, "TI_INSTANCE_ID": run.instance, "REGION": task.region,
        "KUBERNETES_SERVICE_HOST": "127.0.0.1", "HOSTNAME": pod.name,
    }  # fmt: skip
    mode = task.request.get("TrainingMode") or "DDP"
    if mode == "DDP":
        found |= {"MASTER_ADDR": chief, "MASTER_PORT": str(port), "WORLD_SIZE": str(count), "RANK": str(pod.rank)}
    if mode == "PS_WORKER":
        cluster = {
            role.lower(): [f"{other.ip}:2222" for other in run.pods if other.role == role] for role in ("PS", "WORKER")
        }
        own = {"type": pod.role.lower(), "index": pod.index}
        found["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": own})
    return found | {row["Name"]: row.get("Value") or "" for row in task.request.get("Envs") or []}
