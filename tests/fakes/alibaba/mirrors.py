"""Local folders that show the objects of a bucket, and are written back when they change."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from .oss import Oss

__all__ = ["Mirrors", "Unreachable", "check_bucket", "place_of"]

_State = tuple[int, int]


class Unreachable(Exception):
    """A URI of code, an input or an output that does not exist: the job cannot be initialized."""


def place_of(uri: str, oss: Oss) -> tuple[str, str]:
    """Return bucket and key of `oss://bucket[.endpoint]/key`. Raises Unreachable."""
    split = urlsplit(uri)
    if split.scheme != "oss":
        raise Unreachable(f"{uri}: the stand-in mounts nothing but OSS")
    bucket, _, endpoint = split.netloc.partition(".")
    endpoint = endpoint or "".join(parse_qs(split.query).get("endpoint", []))
    check_bucket(bucket, endpoint, oss, uri)
    return bucket, split.path.lstrip("/")


def check_bucket(bucket: str, endpoint: str, oss: Oss, what: str) -> None:
    """Raises Unreachable if the bucket does not exist in this region."""
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


class Mirrors:
    """The folders of one job."""

    def __init__(self, oss: Oss) -> None:
        self._oss = oss
        # Folders that are written back: bucket and prefix of each.
        self._places: dict[Path, tuple[str, str]] = {}
        self._known: dict[str, _State] = {}
        self._saving = threading.Lock()

    def fetch(self, bucket: str, prefix: str, target: Path) -> None:
        """Copy the objects with a prefix into a folder."""
        target.mkdir(parents=True, exist_ok=True)
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

    def keep(self, bucket: str, prefix: str, target: Path) -> None:
        """Copy the objects with a prefix into a folder, and write its changes back from now on."""
        prefix = prefix if prefix.endswith("/") or not prefix else f"{prefix}/"
        self.fetch(bucket, prefix, target)
        self._places[target] = (bucket, prefix)
        self._known |= {name: state for name, (state, *_) in self._files(target).items()}

    def save(self) -> list[Path]:
        """Write changes back, forget deleted files, and return the files that exist.

        One at a time: a slow one would delete the files of a later one.
        """
        with self._saving:
            return self._save()

    def _save(self) -> list[Path]:
        result = {name: file for target in self._places for name, file in self._files(target).items()}
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
        return [path for _state, path, *_ in result.values()]

    def _files(self, target: Path) -> dict[str, tuple[_State, Path, str, str]]:
        """Return the files of a folder by their objects: time and size, path, bucket and key."""
        bucket, prefix = self._places[target]
        result = {}
        for path in target.rglob("*"):
            try:
                status = path.stat()
            except OSError:
                continue
            if path.is_file():
                key = f"{prefix}{path.relative_to(target).as_posix()}"
                result[f"{bucket}/{key}"] = ((status.st_mtime_ns, status.st_size), path, bucket, key)
        return result
