"""A job's folder: code and inputs are fetched from OSS, outputs are written back while it runs."""

from __future__ import annotations

import json
import re
import tarfile
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from .jobs import TrainingJob
from .oss import Oss
from .variables import hyperparameters

__all__ = ["Folder", "Unreachable"]


class Unreachable(Exception):
    """A URI of code, an input or an output that does not exist: the job cannot be initialized."""


def place_of(uri: str, oss: Oss) -> tuple[str, str]:
    """Return bucket and key of `oss://bucket[.endpoint]/key`. Raises Unreachable."""
    split = urlsplit(uri)
    if split.scheme != "oss":
        raise Unreachable(f"{uri}: the stand-in mounts nothing but OSS")
    bucket, _, endpoint = split.netloc.partition(".")
    endpoint = endpoint or "".join(parse_qs(split.query).get("endpoint", []))
    _check(bucket, endpoint, oss, uri)
    return bucket, split.path.lstrip("/")


def _check(bucket: str, endpoint: str, oss: Oss, what: str) -> None:
    host = re.sub(r":\d+$", "", endpoint)
    if host not in (
        "",
        "127.0.0.1",
        "localhost",
        f"oss-{oss.region}.aliyuncs.com",
        f"oss-{oss.region}-internal.aliyuncs.com",
    ):
        raise Unreachable(f"{what}: endpoint {endpoint} is not of region {oss.region}")
    if bucket not in oss.buckets:
        raise Unreachable(f"{what}: the bucket {bucket} does not exist or may not be read")


class Folder:
    """The folder of a job, which sees `path/ml` as `/ml`."""

    def __init__(self, path: Path, job: TrainingJob, oss: Oss, unpack: bool) -> None:
        self.path, self._job, self._oss, self._unpack = path, job, oss, unpack
        self._ml = path / "ml"
        # Files that were named as inputs, by channel.
        self.files: dict[str, str] = {}
        self._known: dict[str, tuple[int, int]] = {}

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
                bucket, key = place_of(channel["OutputUri"], self._oss)
                self._fetch(bucket, key, target)
        self._known = {name: state for name, (state, *_) in self._outputs().items()}

    def _fetch_code(self) -> None:
        code = self._job.request.get("CodeDir") or self._job.spec.get("CodeDir")
        if not code:
            return
        if (kind := code.get("LocationType", "")).upper() != "OSS":
            raise Unreachable(f"CodeDir: location type {kind!r} is not supported here")
        value = code.get("LocationValue") or {}
        bucket, key, target = value.get("Bucket", ""), value.get("Key", ""), self._ml / "usercode"
        _check(bucket, value.get("Endpoint", ""), self._oss, "CodeDir")
        single = self._oss.buckets[bucket].get(key)
        if single is not None and not key.endswith("/"):
            single.blob.copy_to(target / key.rsplit("/", 1)[-1])
        else:
            self._fetch(bucket, key if key.endswith("/") or not key else f"{key}/", target)
        archives = [path for path in target.iterdir() if path.name.endswith(".tar.gz")]
        if self._unpack and len(archives) == 1:
            with tarfile.open(archives[0]) as archive:
                archive.extractall(target, filter="tar")

    def _fetch_input(self, channel: dict[str, Any]) -> None:
        name, uri = channel["Name"], self._job.places[channel["Name"]]
        target = self._ml / "input/data" / name
        target.mkdir(parents=True, exist_ok=True)
        bucket, key = place_of(uri, self._oss)
        if not key.endswith("/"):
            # The folder that holds the file is mounted.
            self.files[name] = key.rsplit("/", 1)[-1]
            key = key[: len(key) - len(self.files[name])]
        self._fetch(bucket, key, target)

    def _fetch(self, bucket: str, prefix: str, target: Path) -> None:
        for stored in self._oss.buckets[bucket].below(prefix):
            name = stored.key.removeprefix(prefix)
            path = target / name
            if not name or not path.resolve().is_relative_to(target.resolve()):
                continue
            if name.endswith("/"):
                path.mkdir(parents=True, exist_ok=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            stored.blob.copy_to(path)

    def save(self) -> None:
        """Write changes back, and forget deleted files."""
        result = self._outputs()
        self._job.written = {path.relative_to(self._ml / "output").parts[0] for _state, path, *_ in result.values()}
        for name, (state, path, bucket, key) in result.items():
            if self._known.get(name) != state:
                try:
                    self._oss.store(bucket, key, path)
                except FileNotFoundError:  # It was there a moment ago.
                    continue
                self._known[name] = state
        for name in [name for name in self._known if name not in result]:
            del self._known[name]
            bucket, key = name.split("/", 1)
            self._oss.buckets[bucket].delete(key)

    def _outputs(self) -> dict[str, tuple[tuple[int, int], Path, str, str]]:
        """Yield files of the outputs with a URI: time and size, path, and the target object."""
        result = {}
        for channel in self._job.request.get("OutputChannels") or []:
            if not channel.get("OutputUri"):
                continue
            bucket, prefix = place_of(channel["OutputUri"], self._oss)
            prefix = prefix if prefix.endswith("/") or not prefix else f"{prefix}/"
            root = self._ml / "output" / channel["Name"]
            for path in root.rglob("*"):
                try:
                    status = path.stat()
                except OSError:
                    continue
                if path.is_file():
                    key = f"{prefix}{path.relative_to(root).as_posix()}"
                    result[f"{bucket}/{key}"] = ((status.st_mtime_ns, status.st_size), path, bucket, key)
        return result
