"""Checks of `doctor` for the local backend."""

from __future__ import annotations

import subprocess
import sys

from ...core.errors import BadInput, Unsupported
from ...core.i18n import _
from ..base import Finding
from . import container, interpreter, process, user_mapping
from .options import LocalSettings
from .supervisor import namespaces


def examine(settings: LocalSettings) -> list[Finding]:
    """Check the requirements of local jobs."""
    return [_check_ml(), _check_interpreter(settings.python), _check_installer(), _check_containers(settings)]


def _check_containers(settings: LocalSettings) -> Finding:
    if settings.container == "none":
        return Finding("ok", _("containers"), _("disabled by the profile"))
    try:
        engine = container.find(settings.container or "auto")
    except Unsupported as error:
        return Finding("bad", _("containers"), error.message, error.fix)
    if not engine:
        return Finding("ok", _("containers"), _("neither podman nor docker found: jobs run without images"))
    mapping = user_mapping.of(engine, again=True)
    if not mapping.failures:
        return Finding("ok", _("containers"), engine)
    text = _("{engine} maps root of the container to you, because another user mapping failed ({tried})")
    return Finding(
        "warn",
        _("containers"),
        text.format(engine=engine, tried="; ".join(mapping.failures)),
        _("For images with other users, install newuidmap and add ids: usermod --add-subuids 100000-165535 USER"),
    )


def _check_ml() -> Finding:
    mode, reason = process.machine_allows()
    if mode == namespaces.PLAIN:
        text = _("not available ({why}); jobs find their folders by the PAI_… variables").format(why=reason)
        return Finding("warn", "/ml", text, _("Allow user namespaces if scripts use paths below /ml."))
    text = (
        _("each job has a private /ml and process tree")
        if mode == namespaces.PRIVATE
        else _("each job has a private /ml, without a process tree of its own ({why})")
    )
    return Finding("ok", "/ml", text.format(why=reason))


def _check_interpreter(name: str) -> Finding:
    try:
        python = interpreter.find(name, sys.executable)
        version = subprocess.run(
            [python, "-c", "import sys; print(sys.version.split()[0])"], check=False, capture_output=True, text=True
        )
    except (BadInput, OSError) as error:
        return Finding("bad", _("interpreter"), str(error), _("Correct `python` in the profile."))
    if version.returncode != 0:
        return Finding("bad", _("interpreter"), version.stderr.strip(), _("Correct `python` in the profile."))
    return Finding("ok", _("interpreter"), f"{python} ({version.stdout.strip()})")


def _check_installer() -> Finding:
    if uv := interpreter.find_uv():
        return Finding("ok", "requirements.txt", uv)
    pip = subprocess.run([sys.executable, "-m", "pip", "--version"], check=False, capture_output=True, text=True)
    if pip.returncode == 0:
        return Finding("ok", "requirements.txt", _("pip; uv is about ten times faster: pip install uv"))
    return Finding("warn", "requirements.txt", _("neither uv nor pip is installed"), "python -m ensurepip")
