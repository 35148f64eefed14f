"""What `doctor` looks at for the local backend."""

from __future__ import annotations

import subprocess
import sys

from ...core.errors import BadInput, Unsupported
from ...core.i18n import _
from ..base import Finding
from . import container, interpreter, process
from .options import LocalSettings
from .supervisor import namespaces
from .workspace import find_uv

__all__ = ["examine"]


def examine(settings: LocalSettings) -> list[Finding]:
    """Check what local jobs need, by trying it."""
    return [_examine_ml(), _examine_interpreter(settings.python), _examine_installer(), _examine_containers(settings)]


def _examine_containers(settings: LocalSettings) -> Finding:
    wanted = settings.container or "auto"
    if wanted == "none":
        return Finding("ok", _("containers"), _("switched off by the profile"))
    try:
        engine = container.find(wanted)
    except Unsupported as error:
        return Finding("bad", _("containers"), error.message, error.fix)
    return Finding("ok", _("containers"), engine or _("no podman or docker: jobs run without images"))


def _examine_ml() -> Finding:
    mode, reason = process.machine_allows()
    if mode == namespaces.PRIVATE:
        return Finding("ok", "/ml", _("each job gets its own, and a process tree of its own"))
    if mode == namespaces.MOUNTS:
        return Finding(
            "ok", "/ml", _("each job gets its own, without a process tree of its own ({why})").format(why=reason)
        )
    return Finding(
        "warn",
        "/ml",
        _("not possible here ({why}); jobs find their folders by the PAI_… variables").format(why=reason),
        _("Allow user namespaces, if scripts spell paths below /ml."),
    )


def _examine_interpreter(asked: str) -> Finding:
    try:
        python = interpreter.find(asked, sys.executable)
        told = subprocess.run(
            [python, "-c", "import sys; print(sys.version.split()[0])"], check=False, capture_output=True, text=True
        )
    except (BadInput, OSError) as error:
        return Finding("bad", _("interpreter"), str(error), _("Correct `python` in the profile."))
    if told.returncode != 0:
        return Finding("bad", _("interpreter"), told.stderr.strip(), _("Correct `python` in the profile."))
    return Finding("ok", _("interpreter"), f"{python} ({told.stdout.strip()})")


def _examine_installer() -> Finding:
    if uv := find_uv():
        return Finding("ok", "requirements.txt", uv)
    told = subprocess.run([sys.executable, "-m", "pip", "--version"], check=False, capture_output=True, text=True)
    if told.returncode == 0:
        return Finding("ok", "requirements.txt", _("pip; uv would be ten times as fast: pip install uv"))
    return Finding("warn", "requirements.txt", _("neither uv nor pip is installed"), "python -m ensurepip")
