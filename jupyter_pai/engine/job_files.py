"""Job files of the platforms: which backend reads a file, the profile that runs it, and its spec."""

from __future__ import annotations

from pathlib import Path

from ..backends import load_backends
from ..backends.base import Backend, Capability
from ..backends.job_files import LONGEST_JOB_FILE, JobFile
from ..config.settings import Settings
from ..core.errors import NotFound, UsageError
from ..core.i18n import _
from ..core.text import show_size
from ..jobs.names import generate_name
from .profiles import Profiles


def backend_of(path: Path) -> type[Backend] | None:
    """Return the backend that has a file among its job files; None if none has. May block."""
    return next((kind for kind in load_backends().values() if kind.is_job_file(path)), None)


def globs() -> str:
    """Return the globs of job files, by backend."""
    kinds = [kind for kind in load_backends().values() if kind.job_files]
    return "; ".join(f"{kind.title or kind.name}: {', '.join(kind.job_files)}" for kind in kinds)


def load(path: Path, kind: type[Backend], settings: Settings, profile: str, backend: str) -> JobFile:
    """Return the spec of a job file, with the profile that runs it, and notes. May block.

    The profile is the named one, or the default one of a named backend. Otherwise it is the default one if it has the
    backend of the file, else the only one with that backend. With a profile of this machine, the spec is that of
    `JobFile.here`, if the file has one.

    Raises:
        UsageError: if the file cannot be read, or no profile or several would run it.
        SpecError: naming the line that cannot be meant here.
    """
    read = kind.read_job_file(path, _text(path))
    chosen = settings.pick(profile, backend).name if profile or backend else _profile(kind, settings)
    spec = {"name": generate_name(path.stem), **read.spec, "profile": chosen}
    running = settings.profiles[chosen].backend
    if running == kind.name:
        return JobFile(spec, read.notes)
    if read.here:
        if Capability.RUNS_HERE not in Profiles.capabilities(running):
            text = _("{path} runs on {backend} or on this machine, and not with the profile {profile}.")
            raise UsageError(
                text.format(path=path.name, backend=kind.title or kind.name, profile=chosen),
                fix=_("Select another profile, or run it on this machine: --backend local"),
            ).at("profile")
        return JobFile({"name": spec["name"], **read.here.spec, "profile": chosen}, read.here.notes)
    options = spec.pop("options", {})
    text = _("The profile {profile} ignores what only {backend} has: {options}")
    names = ", ".join(f"{name}={_shown(value)}" for name, value in options.items() if value not in ("", [], False))
    note = [text.format(profile=chosen, backend=kind.title or kind.name, options=names)] if names else []
    return JobFile(spec, (*read.notes, *note))


def _shown(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(LONGEST_JOB_FILE + 1)
        if len(data) > LONGEST_JOB_FILE:
            raise UsageError(
                _("{path} has more than {size}.").format(path=path, size=show_size(LONGEST_JOB_FILE)),
                fix=_("Name a job file."),
            )
        return data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            _("{path} cannot be read: {error}.").format(path=path, error=error), fix=_("Name a job file.")
        ) from None


def _profile(kind: type[Backend], settings: Settings) -> str:
    """Return the name of the profile that runs a job file if the user names none."""
    names = [name for name, profile in settings.profiles.items() if profile.backend == kind.name]
    if settings.default in names:
        return settings.default
    if len(names) == 1:
        return names[0]
    if not names:
        return settings.pick("", kind.name).name  # Raises the error that says how to add one.
    raise NotFound(
        _("Several profiles can run this file: {names}.").format(names=", ".join(names)),
        fix=_("Name one of them with --profile."),
    )
