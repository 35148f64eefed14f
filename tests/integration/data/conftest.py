"""Profiles whose accounts are those of the stand-ins."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jupyter_pai.config.toml_file import user_file
from jupyter_pai.jobs.state_dir import Home

from ...fakes.tione import TiOne
from ...fakes.webhdfs import WebHdfsServer
from ..pai.conftest import engine, pai, timings
from ..tione.conftest import server_settings, tione

__all__ = ["cos_folder", "engine", "hdfs_folder", "pai", "server_settings", "timings", "tione"]


@pytest.fixture
def cos_folder(tione: TiOne) -> str:
    """The URI of an empty folder of COS, which the profile `tione` serves."""
    tione.objects.write("it's/", b"")
    return f"cos://{tione.bucket}/it's/"


@pytest.fixture
def hdfs_folder(hdfs: WebHdfsServer, home: Home, tmp_path: Path) -> str:
    """The URI of an empty folder of HDFS, which the profile `local` serves."""
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text(f"[profiles.local]\nhdfs = {json.dumps(hdfs.uri)}\nhdfs_user = 'me'\n", "utf-8")
    hdfs.path(f"/{tmp_path.name}/it's").mkdir(parents=True)
    hdfs.own(f"/{tmp_path.name}/it's", "me", 0o755)
    return f"{hdfs.uri}{tmp_path.name}/it's/"
