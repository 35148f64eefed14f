"""A job's folder: code and inputs are fetched from OSS, outputs are written back while it runs."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

from .jobs import TrainingJob
from .mirrors import Mirrors, Unreachable, check_bucket, place_of
from .oss import Oss
from .variables import hyperparameters

__all__ = ["Folder"]


class Folder:
    """The folder of a job, which sees `path/ml` as `/ml`."""

    def __init__(self, path: Path, job: TrainingJob, oss: Oss, unpack: bool) -> None:
        self.path, self._job, self._oss, self._unpack = path, job, oss, unpack
        self._ml = path / "ml"
        self._mirrors = Mirrors(oss)
        # Files that were named as inputs, by channel.
        self.files: dict[str, str] = {}

    def prepare(self) -> None:
        """Fetch code and inputs. Raises Unreachable."""
        for name in ("usercode", "input/config", "input/data", "output"):
            (self._ml / name).mkdir(parents=True, exist_ok=True)
        text = json.dumps(hyperparameters(self._job), ensure_ascii=False)
        (self._ml / "input/config/hyperparameters.json").write_text(text, "utf-8")
        self._fetch_code()
        for channel in self._job.request.get("InputChannels") or []:
            self._fetch_input(channel)
        for channel in self._job.request.get("OutputChannels") or []:
            target = self._ml / "output" / channel["Name"]
            target.mkdir(parents=True, exist_ok=True)
            if channel.get("OutputUri"):
                self._mirrors.keep(*place_of(channel["OutputUri"], self._oss), target)

    def _fetch_code(self) -> None:
        code = self._job.request.get("CodeDir") or self._job.spec.get("CodeDir")
        if not code:
            return
        if (kind := code.get("LocationType", "")).upper() != "OSS":
            raise Unreachable(f"CodeDir: location type {kind!r} is not supported here")
        value = code.get("LocationValue") or {}
        bucket, key, target = value.get("Bucket", ""), value.get("Key", ""), self._ml / "usercode"
        check_bucket(bucket, value.get("Endpoint", ""), self._oss, "CodeDir")
        single = self._oss.buckets[bucket].get(key)
        if single is not None and not key.endswith("/"):
            single.blob.copy_to(target / key.rsplit("/", 1)[-1])
        else:
            self._mirrors.fetch(bucket, key if key.endswith("/") or not key else f"{key}/", target)
        archives = [path for path in target.iterdir() if path.name.endswith(".tar.gz")]
        if self._unpack and len(archives) == 1:
            with tarfile.open(archives[0]) as archive:
                archive.extractall(target, filter="tar")

    def _fetch_input(self, channel: dict[str, Any]) -> None:
        name, uri = channel["Name"], self._job.places[channel["Name"]]
        bucket, key = place_of(uri, self._oss)
        if not key.endswith("/"):
            # The folder that holds the file is mounted.
            self.files[name] = key.rsplit("/", 1)[-1]
            key = key[: len(key) - len(self.files[name])]
        self._mirrors.fetch(bucket, key, self._ml / "input/data" / name)

    def save(self) -> None:
        """Write changes back, and forget deleted files."""
        outputs = self._ml / "output"
        self._job.written = {path.relative_to(outputs).parts[0] for path in self._mirrors.save()}
