"""A plug-in for engines of this process: its platform is a folder of files, and its storage has hosts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from jupyter_pai.backends import load_backends
from jupyter_pai.storage import load_storages

from .waiting import until

__all__ = ["installed"]

# `queues.json` has the queues of the platform: a list, or the message of an error. Without it, the platform does not
# respond, except to a user named `ada`. While there is a file `busy`, it prepares no job.
_SOURCE = """
import asyncio, json
from pathlib import Path
from pydantic import BaseModel, Field, SecretStr
from jupyter_pai import Choice, errors, picked_from
from jupyter_pai.backends.local.backend import LocalBackend
from jupyter_pai.backends.local.options import LocalSettings
from jupyter_pai.storage.local import LocalStorage

class SmallSettings(LocalSettings):
    folder: str = Field(description="The platform.")
    queue: str = Field("", description="The default queue.", json_schema_extra=picked_from("queues"))
    host: str = Field("", description="The host of its storage.")

class Options(BaseModel):
    queue: str = Field("", json_schema_extra=picked_from("queues"))

class Login(BaseModel):
    user: str
    password: SecretStr

class Token(BaseModel):
    user: str
    token: SecretStr

class Small(LocalBackend):
    name, settings_model, options_model, credentials_model, login_model = "small", SmallSettings, Options, Token, Login

    async def choices(self, name):
        if name != "queues":
            return await super().choices(name)
        path = Path(self.settings.folder, "queues.json")
        with Path(self.settings.folder, "asked").open("a") as asked:
            asked.write("x")
        await asyncio.sleep(0)
        if not path.exists():
            await asyncio.sleep(600)
        found = json.loads(path.read_text())
        if isinstance(found, str):
            raise errors.BackendError(found, fix="Ask later.")
        return [Choice(*one) for one in found]

    async def prepare(self, job, folder):
        Path(self.settings.folder, f"{job.name}.begun").touch()
        while Path(self.settings.folder, "busy").exists():
            await asyncio.sleep(0.01)
        return await super().prepare(job, folder)

    @classmethod
    async def profile_notes(cls, settings, changed):
        if settings.host == "silent":
            await asyncio.sleep(600)
        if settings.host == "refusing":
            raise errors.BackendError("It does not respond.", fix="Ask later.")
        if settings.host == "broken":
            raise RuntimeError("a fault")
        return [f"Changed: {', '.join(sorted(changed))}"]

    @classmethod
    async def log_in(cls, settings, login):
        password = login.password.get_secret_value()
        if login.user == "eve":
            raise RuntimeError(f"nothing for {password}")
        if login.user != "ada":
            await asyncio.sleep(600)
        if password != "open sesame":
            raise errors.SpecError(f"password: {password} is wrong.", fix=f"Not {password}.").at("password")
        return Token(user=login.user, token="token of ada")

class SmallStorage(LocalStorage):
    scheme, settings_model = "small", SmallSettings

    def __init__(self, settings):
        self.settings = settings

    @classmethod
    def of(cls, settings, state):
        return cls(settings)

    @classmethod
    def serves(cls, uri, settings):
        return uri.startswith(f"small://{settings.host}/")

    async def roots(self):
        return [f"small://{self.settings.host}/"]
"""
_ENTRIES = """
[jupyter_pai.backends]
small = small_plugin_module:Small
[jupyter_pai.storages]
small = small_plugin_module:SmallStorage
"""


@contextmanager
def installed(site: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install the plug-in in a folder for this process."""
    about = site / "small-1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: small\nVersion: 1\n")
    (about / "entry_points.txt").write_text(_ENTRIES)
    (site / "small_plugin_module.py").write_text(_SOURCE)
    patch.syspath_prepend(str(site))
    until(lambda: not _is_loading())
    assert _found()
    try:
        yield
    finally:
        for load in (load_backends, load_storages):
            load.cache_clear()


def _is_loading() -> bool:
    """Return whether a thread of an earlier engine looks for plug-ins: it would store what it found before."""
    codes = {load.__wrapped__.__code__ for load in (load_backends, load_storages)}
    for frame in sys._current_frames().values():
        while frame:
            if frame.f_code in codes:
                return True
            frame = frame.f_back  # type: ignore[assignment]
    return False


def _found() -> bool:
    """Look for plug-ins anew."""
    for load in (load_backends, load_storages):
        load.cache_clear()
    return "small" in load_backends() and "small" in load_storages()
