"""Reuse of steps of earlier runs: a step is the same if its digest is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping

from ...core.errors import PaiError
from ...core.file_uri import is_here
from ...jobs.workflows.references import replaced
from ...jobs.workflows.run import StepState, StepStatus
from ...jobs.workflows.run_folder import RunFolder
from ...jobs.workflows.workflow import Step
from ..data.inputs import fingerprint, path_of
from ..data.storages import Storages

__all__ = ["Versions", "digest", "earlier_steps"]

# Fields of a spec that do not change what a job does. The code has a digest of its own.
_IGNORED = {"name", "labels", "source"}


class Versions:
    """The versions of the inputs of a run: the digest of files on this machine, else names, sizes and versions of the
    files. Each is read once."""

    def __init__(self, storages: Storages) -> None:
        self.storages = storages
        self._known: dict[tuple[str, str], object] = {}

    def __call__(self, uri: str, profile: str) -> object:
        """Return the version of an input as a JSON value. May block.

        Raises:
            PaiError: if it has none.
            OSError: if it cannot be read.
        """
        if (uri, profile) not in self._known:
            self._known[uri, profile] = self._read(uri, profile)
        return self._known[uri, profile]

    def _read(self, uri: str, profile: str) -> object:
        if is_here(uri):
            return fingerprint(path_of(uri), self.storages.profiles.home)
        place = self.storages.at(uri, profile)
        entry = place.storage.stat(place.uri)
        content = place.storage.list(place.folder.uri) if entry is None or entry.is_folder else [entry]
        return [[file.path, file.size, file.version] for file in content]


def digest(step: Step, code: str, dependencies: Mapping[str, str], version: Callable[[str, str], object]) -> str:
    """Return the SHA-256 of what a step does: its spec, the digest of its code, the digests of the steps that it
    depends on, and the versions of its inputs. Empty if one of them is unknown. May block."""
    if not all(dependencies.values()):
        return ""
    spec = step.spec
    if step.used_in_spec:
        spec = replaced(spec, lambda reference: f"{dependencies[reference.step]}.{reference}")
    own = {channel: uri for channel, uri in step.spec.inputs.items() if uri == spec.inputs.get(channel)}
    try:
        versions = {channel: version(uri, spec.profile) for channel, uri in own.items()}
    except (PaiError, OSError):
        return ""
    values = [spec.model_dump(mode="json", exclude=_IGNORED), code, sorted(dependencies.values()), versions]
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def earlier_steps(runs: Iterable[RunFolder]) -> dict[str, StepState]:
    """Return the succeeded steps of runs by digest. The first run that has a digest counts. May block."""
    found: dict[str, StepState] = {}
    for run in runs:
        for state in run.states()[0].values():
            if state.digest and state.status is StepStatus.SUCCEEDED:
                found.setdefault(state.digest, state)
    return found
