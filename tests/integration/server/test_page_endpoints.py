"""The verbs about the page itself: its texts, its tutorials, the settings that it shows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tornado.httpclient import HTTPClientError

from jupyter_pai.config import settings
from jupyter_pai.config.toml_file import user_file

from ...conftest import SystemFile
from .conftest import PREFIX

Fetch = Callable[..., Any]
CHINESE = {"Accept-Language": "zh-CN"}


async def ask(fetch: Fetch, method: str, *path: str, body: object = None, **more: Any) -> Any:
    text = None if body is None else json.dumps(body)
    return json.loads((await fetch(*PREFIX, *path, method=method, body=text, **more)).body)


async def test_catalogue_is_served_by_language(jp_fetch: Fetch, jp_auth_header: dict[str, str]) -> None:
    result = await ask(jp_fetch, "GET", "catalogue", params={"language": "zh-CN"})
    assert result["texts"][""]["language"] == "zh-CN"
    assert result["texts"]["running"] == ["运行中"]
    assert (await ask(jp_fetch, "GET", "catalogue", headers=jp_auth_header | CHINESE))["texts"] == result["texts"]
    for nothing in ("en", "fr", "../../zh_CN", "zh-TW"):
        assert (await ask(jp_fetch, "GET", "catalogue", params={"language": nothing}))["texts"] == {}


async def test_tutorials_are_copied_without_overwriting(
    jp_fetch: Fetch, jp_root_dir: Path, jp_auth_header: dict[str, str]
) -> None:
    (jp_root_dir / "work").mkdir()
    result = await ask(jp_fetch, "POST", "tutorials", body={"folder": "work"})
    assert (result["place"], result["first"]) == ("work/pai-tutorials", "tutorial.ipynb")
    folder = jp_root_dir / "work/pai-tutorials"
    assert sorted(result["given"]) == sorted(path.name for path in folder.iterdir())
    (folder / "folder.ipynb").write_text("mine")
    (folder / "metrics.ipynb").unlink()
    result = await ask(jp_fetch, "POST", "tutorials", body={"folder": "/work/"})
    assert result["given"] == ["metrics.ipynb"]
    assert (folder / "folder.ipynb").read_text() == "mine"
    result = await ask(jp_fetch, "POST", "tutorials", body={}, headers=jp_auth_header | CHINESE)
    assert result["first"] == "tutorial.zh-CN.ipynb"
    assert result["given"]
    assert all(name.endswith(".zh-CN.ipynb") for name in result["given"])
    (jp_root_dir / "file").write_text("")
    for folder_name, status in (("../out", 400), ("file", 409)):
        with pytest.raises(HTTPClientError) as caught:
            await ask(jp_fetch, "POST", "tutorials", body={"folder": folder_name})
        assert caught.value.code == status
    assert not (jp_root_dir.parent / "out").exists()


async def test_settings_are_written_into_the_user_file_only(
    jp_fetch: Fetch, jp_serverapp: Any, system: SystemFile
) -> None:
    context = await jp_serverapp.web_app.settings["jupyter_pai_engine"].context()
    context.service.profiles.system_file = system("[disk]\nenvironment_days = 7\n")
    file = user_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    text = '# mine\n[profiles.a]\nbackend = "local" # here\n'
    file.write_text(text)
    result = await ask(jp_fetch, "GET", "settings")
    assert result["values"] == {"disk": {}, "tensorboard": {}}
    assert result["defaults"] == {"disk": {"limit": "", "environment_days": 7}, "tensorboard": {"idle_minutes": 30}}
    body: dict[str, Any] = {"disk": {"limit": "5GB"}, "tensorboard": {"idle_minutes": 60}}
    assert (await ask(jp_fetch, "PUT", "settings", body=body))["values"] == body
    assert file.read_text().startswith(text)
    assert settings.load({"local": settings.ProfileSettings}).disk.limit == "5GB"
    for wrong in ({"disk": {"limit": "much"}}, {"disk": {"environment_days": 0}}, {"policy": {"local": True}}):
        before = file.read_text()
        with pytest.raises(HTTPClientError) as caught:
            await ask(jp_fetch, "PUT", "settings", body=wrong)
        assert caught.value.code == 400
        assert file.read_text() == before
    await ask(jp_fetch, "PUT", "settings", body={"disk": {"limit": ""}})
    assert file.read_text().strip() == text.strip()
