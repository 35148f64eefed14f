"""Every route and method needs authentication and authorization."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tornado.httpclient import HTTPClientError
from tornado.web import RequestHandler

from jupyter_pai.api.route import PREFIX
from jupyter_pai.api.routes import ROUTES
from jupyter_pai.server import tensorboard_proxy as tensorboard
from jupyter_pai.server.app import PaiApp
from jupyter_pai.server.handlers import ProofHandler


def ours(app: Any) -> dict[str, type[RequestHandler]]:
    """Return our handlers by their patterns."""
    rules = [rule for group in app.web_app.default_router.rules for rule in getattr(group.target, "rules", ())]
    return {rule.matcher.regex.pattern: rule.target for rule in rules if "/pai/" in rule.matcher.regex.pattern}


async def test_every_route_and_method_needs_authentication(jp_serverapp: Any, jp_fetch: Any) -> None:
    assert isinstance(jp_serverapp.extension_manager.extension_apps["jupyter_pai"].copy().pop(), PaiApp)
    addresses = [PREFIX + re.sub(r"\{\w+\}", "x", route.path) for route in ROUTES.values()]
    boards = [f"{tensorboard.PATH}/x", f"{tensorboard.PATH}/x/data/runs"]
    tried = 0
    for address in {*addresses, f"{PREFIX}/stream", f"{PREFIX}/nothing", *boards}:
        for method in ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD"):
            with pytest.raises(HTTPClientError) as caught:
                await jp_fetch(
                    *address.strip("/").split("/"), method=method, body=None,
                    headers={"Authorization": "token wrong"}, allow_nonstandard_methods=True,
                )  # fmt: skip
            assert caught.value.code in (403, 405), f"{method} {address}"
            tried += caught.value.code == 403
    assert tried >= len(ROUTES)
    # The only other address of ours.
    rest = {pattern for pattern, handler in ours(jp_serverapp).items() if handler is ProofHandler}
    assert len(rest) == 1
    assert "proof" in rest.pop()


async def test_every_handler_uses_the_resource_jupyter_pai(jp_serverapp: Any) -> None:
    handlers = ours(jp_serverapp)
    assert len(handlers) >= len({route.path for route in ROUTES.values()})
    for pattern, handler in handlers.items():
        assert getattr(handler, "auth_resource", "") == "jupyter_pai", pattern


async def test_unauthorized_user_is_rejected(jp_serverapp: Any, jp_fetch: Any, jp_ws_fetch: Any) -> None:
    from jupyter_server.auth import Authorizer

    class Nobody(Authorizer):
        def is_authorized(self, handler: Any, user: Any, action: str, resource: str) -> bool:
            return resource != "jupyter_pai"

    jp_serverapp.web_app.settings["authorizer"] = Nobody(parent=jp_serverapp)
    for route in ROUTES.values():
        address = re.sub(r"\{\w+\}", "x", route.path)
        body = None if route.method in ("GET", "DELETE") else "{}"
        with pytest.raises(HTTPClientError) as caught:
            await jp_fetch(*PREFIX.split("/"), *address.strip("/").split("/"), method=route.method, body=body)
        assert caught.value.code == 403, route
    for method, body in (("GET", None), ("HEAD", None), ("POST", "")):
        with pytest.raises(HTTPClientError) as caught:
            await jp_fetch(*tensorboard.PATH.split("/"), "x", "data", method=method, body=body)
        assert caught.value.code == 403
    with pytest.raises(HTTPClientError) as caught:
        await jp_ws_fetch(*PREFIX.split("/"), "stream")
    assert caught.value.code == 403


async def test_user_with_read_access_cannot_write(jp_serverapp: Any, jp_fetch: Any) -> None:
    from jupyter_server.auth import Authorizer

    class ReadOnly(Authorizer):
        def is_authorized(self, handler: Any, user: Any, action: str, resource: str) -> bool:
            return action == "read"

    jp_serverapp.web_app.settings["authorizer"] = ReadOnly(parent=jp_serverapp)
    for _ in range(2):
        assert (await jp_fetch(*PREFIX.split("/"), "jobs")).code == 200
        for method, address, body in (
            ("POST", "jobs", "{}"),
            ("DELETE", "jobs/x", None),
            ("PATCH", "jobs/x/labels", "{}"),
        ):
            with pytest.raises(HTTPClientError) as caught:
                await jp_fetch(*PREFIX.split("/"), *address.split("/"), method=method, body=body)
            assert caught.value.code == 403, f"{method} {address}"


async def test_kernel_secret_is_valid_for_this_extension_only(jp_serverapp: Any, jp_fetch: Any) -> None:
    secret = jp_serverapp.web_app.settings["jupyter_pai_engine"].secret
    headers = {"Authorization": f"jupyter-pai {secret}"}
    assert (await jp_fetch(*PREFIX.split("/"), "jobs", headers=headers)).code == 200
    for address in (("api", "contents"), ("api", "kernels")):
        with pytest.raises(HTTPClientError) as caught:
            await jp_fetch(*address, headers=headers)
        assert caught.value.code == 403


async def test_cookie_without_xsrf_token_is_rejected(
    jp_serverapp: Any, http_server_client: Any, jp_base_url: str
) -> None:
    """A foreign page makes the browser post: without the XSRF token nothing happens."""
    cookie = {"Cookie": "username-localhost=abc"}
    with pytest.raises(HTTPClientError) as caught:
        await http_server_client.fetch(f"{jp_base_url}{PREFIX}/jobs", method="POST", body="{}", headers=cookie)
    assert caught.value.code == 403


async def test_files_that_jupyterlab_does_not_show_need_the_permission_to_execute(
    jp_serverapp: Any, jp_fetch: Any, jp_root_dir: Path, tmp_path: Path
) -> None:
    from jupyter_server.auth import Authorizer

    allowed = {"read"}

    class Some(Authorizer):
        def is_authorized(self, handler: Any, user: Any, action: str, resource: str) -> bool:
            return action in allowed

    jp_serverapp.web_app.settings["authorizer"] = Some(parent=jp_serverapp)
    outside, hidden, link = tmp_path / "outside.py", jp_root_dir / ".env", jp_root_dir / "link.py"
    shown = jp_root_dir / "sub/shown.py"
    shown.parent.mkdir()
    hidden_folder, odd_folder = jp_root_dir / ".ssh", tmp_path / f"{jp_root_dir.name}?"
    for folder in (hidden_folder, odd_folder):
        folder.mkdir()
    for path in (outside, hidden, shown, hidden_folder / "id_rsa", odd_folder / "x"):
        path.write_text(path.name)
    link.symlink_to(outside)

    async def status(address: str, path: Path | str, name: str = "uri") -> int:
        uri = path.as_uri() if isinstance(path, Path) and name == "uri" else str(path)
        try:
            reply = await jp_fetch(*PREFIX.split("/"), *address.split("/"), params={name: uri})
        except HTTPClientError as error:
            assert error.response
            assert json.loads(error.response.body)["code"] in ("BadInput", "PermissionDenied")
            return error.code
        return int(reply.code)

    async def names() -> set[str]:
        reply = await jp_fetch(*PREFIX.split("/"), "data", params={"uri": f"{jp_root_dir.as_uri()}/"})
        return {entry["path"] for entry in json.loads(reply.body)["entries"]}

    roads: list[Path | str] = [
        outside, hidden, link,
        f"FILE://{outside}", f"file://{jp_root_dir}/sub/../../{outside.name}", f"file://{outside}%00",
        f"file://{jp_root_dir}?/.ssh%2Fid_rsa", f"file://{jp_root_dir}%3F/.ssh%252Fid_rsa", odd_folder / "x",
        f"file://{jp_root_dir}#/.ssh%2Fid_rsa", f"file://{jp_root_dir}/.ssh%2Fid_rsa", f"file://x@{shown}",
    ]  # fmt: skip
    for address in ("data/file", "data", "data/size"):
        assert await status(address, shown) == 200
        for road in roads:
            assert await status(address, road) == 400, (address, road)
    assert await status("form", outside, "path") == 400
    assert await status("form", link, "path") == 400
    assert await status("form", shown, "path") == 200
    # The folder of code is that of a project around JupyterLab's.
    mark = jp_root_dir.parent / "pyproject.toml"
    mark.touch()
    assert await status("form", shown, "path") == 400
    mark.unlink()
    assert await names() == {"sub/"}
    allowed.add("execute")
    for path in (shown, outside, hidden, odd_folder / "x"):
        assert await status("data/file", path) == 200
    reply = await jp_fetch(*PREFIX.split("/"), "data", "file", params={"uri": f"file://{jp_root_dir}%3F/x"})
    assert reply.body == b"x"
    assert await status("data/file", f"file://{jp_root_dir}?/x") == 400
    assert await status("form", outside, "path") == 200
    assert await names() >= {"sub/", ".env"}


async def test_query_values_are_unchanged_or_rejected(jp_fetch: Any) -> None:
    """Tornado replaces control characters by blanks, which names another job or file."""

    async def text_of(query: str) -> str:
        with pytest.raises(HTTPClientError) as caught:
            await jp_fetch(*PREFIX.split("/"), "data", params={"uri": f"none://{query}"})
        assert caught.value.code == 400
        assert caught.value.response
        return str(json.loads(caught.value.response.body)["message"])

    for text in ("a b ", "a\tb", "a\nb", "a\u0080b"):
        assert await text_of(text) == f"No storage supports `none://{text}`."
    for text in ("a\0", "a\x01b", "a\x08", "a\x0b", "\x0c", "\x1b[2J", "\x7f"):
        assert await text_of(text) == "Invalid value of `uri`: it contains control characters."
