"""The data sources of a job as folders of its pods."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..datasets import Datasets
from ..mirrors import Mirrors, Unreachable, place_of
from ..oss import Oss
from ..service_errors import Refusal
from .jobs import DlcJob, Pod

__all__ = ["Folder", "check_sources"]

_SHARED = ("nas", "cpfs")
# Where data sets are mounted that are given no path.
_DEFAULT = "/mnt/data"


def check_sources(sources: list[dict[str, Any]], datasets: Datasets) -> list[str]:
    """Return the URI of each data source. Raises Refusal."""
    places, seen = [], set()
    for number, source in enumerate(sources):
        what, path = f"DataSources[{number}]", _path_of(source)
        if not path.startswith("/") or path == "/" or ".." in path.split("/"):
            raise Refusal(400, "InvalidDataSources", f"{what}.MountPath must be an absolute path, not {path!r}.")
        if path in seen:
            raise Refusal(400, "InvalidDataSources", f"{what}.MountPath {path} is used twice.")
        if source.get("MountAccess") not in (None, "", "RO", "RW"):
            raise Refusal(400, "InvalidDataSources", f"{what}.MountAccess must be RO or RW.")
        seen.add(path)
        uri, version = source.get("Uri"), source.get("DataSourceVersion")
        places.append(datasets.place(what, "InvalidDataSources", uri, source.get("DataSourceId"), version))
        _check_uri(what, places[-1])
    return places


def _check_uri(what: str, uri: str) -> None:
    split = urlsplit(uri)
    if split.scheme not in ("oss", *_SHARED):
        raise Refusal(400, "InvalidDataSources", f"{what}.Uri {uri} is none of OSS, NAS or CPFS.")
    if "." not in split.netloc:
        form = "oss://<bucket>.<endpoint>/path" if split.scheme == "oss" else "nas://<file system>.<region>/path"
        raise Refusal(400, "InvalidDataSources", f"{what}.Uri {uri} must look like {form}.")


def _path_of(source: dict[str, Any]) -> str:
    return (source.get("MountPath") or _DEFAULT).rstrip("/") or "/"


class Folder:
    """The folder of a job: its mounts, and for each pod a `/ml` of its own that is empty at its start."""

    def __init__(self, path: Path, shared: Path, job: DlcJob, oss: Oss) -> None:
        self.path, self._shared, self._job, self._oss = path, shared, job, oss
        self._mirrors = Mirrors(oss)
        self._options: list[str] = []

    def prepare(self) -> None:
        """Fetch the data. Raises Unreachable."""
        self.path.mkdir(parents=True)
        for number, source in enumerate(self._job.request.get("DataSources") or []):
            read = source.get("MountAccess") == "RO"
            folder = self._mounted(self._job.places[number], self.path / f"source-{number}", read)
            self._options.append(f"--{'read' if read else 'mount'}={_path_of(source)}={folder}")
        for target, text in self._job.cluster.files().items():
            file = self.path / target.replace("/", "-")
            file.write_text(text, "utf-8")
            self._options.append(f"--read={target}={file}")

    def _mounted(self, uri: str, target: Path, read: bool) -> Path:
        split = urlsplit(uri)
        if split.scheme in _SHARED:
            target = self._shared / split.netloc / split.path.strip("/")
            target.mkdir(parents=True, exist_ok=True)
            return target
        bucket, key = place_of(uri, self._oss)
        if key and not key.endswith("/") and self._oss.buckets[bucket].get(key):
            raise Unreachable(f"{uri}: an object cannot be mounted, only a folder")
        if read:
            self._mirrors.fetch(bucket, key if key.endswith("/") or not key else f"{key}/", target)
        else:
            self._mirrors.keep(bucket, key, target)
        return target

    def ml(self, pod: Pod) -> Path:
        """The folder that a pod has as `/ml`, where nothing is mounted."""
        return self.path / f"ml-{pod.uid}"

    def options(self, pod: Pod) -> list[str]:
        """Return the options of the pod's launch."""
        self.ml(pod).mkdir(exist_ok=True)
        return ["--keep", "--in=/", f"--mount=/ml={self.ml(pod)}", *self._options]

    def save(self) -> None:
        """Write changes back."""
        self._mirrors.save()
