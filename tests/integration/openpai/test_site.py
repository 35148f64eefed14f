"""The address of a profile is enough: HTTPS, gateway, version and kind of login are found out, without credentials."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from aiohttp import web

from jupyter_pai.backends.openpai.site import Site, find_site
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.config.toml_file import user_file
from jupyter_pai.core.errors import PaiError, SettingsError, Throttled, Unreachable, Unsupported
from jupyter_pai.jobs.state_dir import Home

from ...fakes.openpai import OpenPai, openpai
from ...support.connections import run_and_close as ask
from .conftest import PASSWORD, PROFILE, USER, client_of, log_in, settings_of, write_profile


@pytest.fixture
def encrypted(tmp_path: Path, home: Home) -> Iterator[OpenPai]:
    """A stand-in with a certificate of its own."""
    with openpai(tmp_path / "encrypted", tls=True) as running:
        running.add_user(USER, PASSWORD)
        yield running


def host(server: OpenPai) -> str:
    return server.url.partition("://")[2]


def find(home: Home) -> Site:
    return ask(lambda: find_site(settings_of(home)))


def sent_credentials(server: OpenPai) -> list[dict[str, Any]]:
    """Return the requests that carry or ask for a credential."""
    return [
        request
        for request in server.requests
        if request["method"] != "GET" or {"Authorization", "Cookie"} & set(request["headers"]) or request["query"]
    ]


def test_gateway_by_https_is_found_by_its_host(encrypted: OpenPai, home: Home) -> None:
    write_profile(encrypted, endpoint=host(encrypted), ca_file=str(encrypted.ca_file), allow_http=False)
    assert find(home) == Site(f"{encrypted.url}/rest-server", encrypted.url, "1.8.1", "basic")
    assert not sent_credentials(encrypted)


def test_untrusted_certificate_ends_the_search(encrypted: OpenPai, server: OpenPai, home: Home) -> None:
    write_profile(encrypted, endpoint=host(encrypted))
    with pytest.raises(Unreachable, match="certificate") as caught:
        find(home)
    assert "ca_file" in caught.value.fix
    assert encrypted.requests == []


def test_host_without_https_is_found_by_http_and_gets_no_credentials(
    fresh_engine: EmbeddedClient, server: OpenPai, home: Home
) -> None:
    write_profile(server, endpoint=host(server))
    assert find(home).rest == f"{server.url}/rest-server"
    with pytest.raises(SettingsError, match="unencrypted") as caught:
        log_in(fresh_engine)
    assert server.url in caught.value.fix
    assert "allow_http" in caught.value.details["faults"]  # type: ignore[operator]  # JSON
    assert not sent_credentials(server)


@pytest.mark.parametrize(
    ("scheme", "allow", "goes"),
    [("", False, False), ("", True, False), ("http://", False, False), ("http://", True, True)],
)
def test_password_and_token_go_over_http_only_if_it_is_typed_and_agreed(
    engine: EmbeddedClient, server: OpenPai, home: Home, scheme: str, allow: bool, goes: bool
) -> None:
    values = {"endpoint": scheme + host(server), "allow_http": allow}
    engine.call("set_profile", profile="lab", body={"values": values})
    before = len(sent_credentials(server))
    assert settings_of(home).own_credentials
    outcomes = []
    for send in (
        lambda: ask(lambda: client_of(home).get("/tokens/check")),
        lambda: log_in(engine),
        lambda: engine.call("instances", profile="lab"),
    ):
        try:
            send()
            outcomes.append(True)
        except SettingsError:
            outcomes.append(False)
    assert outcomes == [goes] * 3
    assert (len(sent_credentials(server)) > before) == goes


def test_rest_server_without_the_gateway_is_found(engine: EmbeddedClient, server: OpenPai, home: Home) -> None:
    server.settings.gateway = False
    assert find(home) == Site(server.url, "", "1.8.1", "basic")
    assert ask(lambda: client_of(home).get("/tokens/check"))["username"] == USER


@pytest.mark.parametrize("page", ["/", "/home.html", "/job-detail.html?username=me&jobName=x", "/rest-server/api/v2"])
def test_address_of_a_page_is_that_of_the_portal(server: OpenPai, home: Home, page: str) -> None:
    write_profile(server, endpoint=server.url + page)
    assert find(home).origin == server.url


@pytest.mark.parametrize("version", [None, "v1.4.0", "v1.8.1", "1.10.2"])
def test_versions_that_work(server: OpenPai, home: Home, version: str | None) -> None:
    server.settings.version = version
    assert find(home).version == (version or "").removeprefix("v")


def test_version_before_1_4_is_refused(fresh_engine: EmbeddedClient, server: OpenPai, home: Home) -> None:
    server.settings.version = "v1.3.9"
    with pytest.raises(Unsupported, match=r"1\.3\.9.*1\.4"):
        find(home)
    with pytest.raises(Unsupported):
        log_in(fresh_engine)
    assert not sent_credentials(server)


def test_version_without_the_second_api_is_refused(tmp_path: Path, home: Home) -> None:
    async def absent(_request: web.Request) -> web.Response:
        return web.json_response({"code": "NoApiError", "message": "API is not found."}, status=404)

    async def first(_request: web.Request) -> web.Response:
        return web.json_response({"name": "PAI RESTful API", "version": "0.17.0"})

    old = [web.get("/rest-server/api/v2/info", absent), web.get("/rest-server/api/v1", first)]
    with openpai(tmp_path / "old", old) as server:
        write_profile(server)
        with pytest.raises(Unsupported, match=r"0\.17\.0"):
            find(home)


def test_other_server_is_no_cluster(tmp_path: Path, home: Home) -> None:
    async def page(_request: web.Request) -> web.Response:
        return web.Response(text="<html>Welcome</html>", content_type="text/html")

    with openpai(tmp_path / "other", [web.get("/{path:.*}", page)]) as server:
        write_profile(server)
        with pytest.raises(Unreachable, match="No OpenPAI") as caught:
            find(home)
        assert "portal" in caught.value.fix


def test_redirect_is_told_and_not_followed(tmp_path: Path, home: Home) -> None:
    async def elsewhere(_request: web.Request) -> web.Response:
        raise web.HTTPMovedPermanently("https://openpai.example.com/rest-server/api/v2/info?token=x")

    with openpai(tmp_path / "moved", [web.get("/{path:.*}", elsewhere)]) as server:
        write_profile(server)
        with pytest.raises(Unreachable, match=r"redirects to https://openpai\.example\.com\.") as caught:
            find(home)
        assert "endpoint" in caught.value.fix


@pytest.mark.parametrize("kind", ["500", "reset", "cut", "lost"])
def test_failed_search_is_repeated(server: OpenPai, home: Home, kind: str) -> None:
    server.faults.add(kind, "rest:info", count=2)
    assert find(home).origin == server.url
    assert server.faults.struck == 2


def test_cluster_that_fails_by_https_is_not_looked_for_by_http(encrypted: OpenPai, home: Home) -> None:
    write_profile(encrypted, endpoint=host(encrypted), ca_file=str(encrypted.ca_file))
    encrypted.faults.add("503", "rest:info")
    with pytest.raises(Unreachable, match="503") as caught:
        find(home)
    assert "http://" not in caught.value.message
    encrypted.faults.clear()
    assert find(home).is_encrypted


def test_limited_rate_is_told(server: OpenPai, home: Home) -> None:
    server.faults.add("throttled", "rest:info", seconds=30)
    with pytest.raises(Throttled) as caught:
        find(home)
    assert "30" in caught.value.fix


# What users see.


def test_cluster_is_shown_when_its_address_is_set(fresh_engine: EmbeddedClient, server: OpenPai) -> None:
    values = {"backend": "openpai", "endpoint": server.url, "allow_http": True}
    notes = fresh_engine.call("set_profile", profile="new", body={"values": values})["notes"]
    assert notes[0] == f"OpenPAI 1.8.1 responds at {server.url}."
    assert "http://" in notes[1]
    assert "profile login" in notes[2]
    assert fresh_engine.call("set_profile", profile="new", body={"values": {"max_run_time": 60}})["notes"] == []


def test_hdfs_of_the_cluster_is_called_temporary_once(fresh_engine: EmbeddedClient, server: OpenPai) -> None:
    def notes(**values: object) -> list[str]:
        found = fresh_engine.call("set_profile", profile=PROFILE, body={"values": values})["notes"]
        return [note for note in found if "guarantee" in note]

    assert notes(hdfs="hdfs://namenode.example.com/user/me") == []
    (note,) = notes(hdfs=f"{server.url}/webhdfs/api/v1")
    assert note.endswith("Download results soon.")
    assert notes(hdfs=f"{server.url}/webhdfs/api/v1", max_run_time=60) == []
    assert len(notes(hdfs="hdfs://127.0.0.1:9000/user/me")) == 1
    assert not sent_credentials(server)


def test_kind_of_login_is_shown(fresh_engine: EmbeddedClient, server: OpenPai) -> None:
    server.settings.authn = "OIDC"
    values = {"backend": "openpai", "endpoint": server.url, "allow_http": True}
    notes = fresh_engine.call("set_profile", profile="new", body={"values": values})["notes"]
    assert f"{server.url}/profile.html" in notes[-1]


def test_command_line_shows_the_cluster_and_how_to_agree(
    cli: Callable[..., CompletedProcess[str]], server: OpenPai
) -> None:
    done = cli("profile", "set", "new", "backend=openpai", f"endpoint={host(server)}")
    assert done.returncode == 0, done.stderr
    assert f"OpenPAI 1.8.1 responds at {server.url}." in done.stdout
    assert "allow_http" in done.stdout
    done = cli("profile", "set", "new", f"endpoint={server.url}", "allow_http=true")
    assert "profile login" in done.stdout
    assert "allow_http" not in done.stdout.splitlines()[-1]
    assert not sent_credentials(server)


def test_unreachable_cluster_is_stored_with_a_note(fresh_engine: EmbeddedClient, home: Home) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
        values = {"backend": "openpai", "endpoint": address}
        reply = fresh_engine.call("set_profile", profile="new", body={"values": values})
    assert address in reply["notes"][0]
    assert address in user_file().read_text()
    assert settings_of(home, "new").endpoint == address


def test_untrusted_certificate_is_a_note(encrypted: OpenPai, fresh_engine: EmbeddedClient) -> None:
    values = {"backend": "openpai", "endpoint": host(encrypted)}
    (note,) = fresh_engine.call("set_profile", profile="new", body={"values": values})["notes"]
    assert "ca_file" in note


def test_several_clusters_side_by_side(encrypted: OpenPai, server: OpenPai, fresh_engine: EmbeddedClient) -> None:
    values = {"backend": "openpai", "endpoint": host(encrypted), "ca_file": str(encrypted.ca_file)}
    fresh_engine.call("set_profile", profile="second", body={"values": values})
    log_in(fresh_engine)
    log_in(fresh_engine, "second")
    assert {quota["id"] for quota in fresh_engine.call("instances", profile="lab")["quotas"]} == {"default", "vision"}
    assert {quota["id"] for quota in fresh_engine.call("instances", profile="second")["quotas"]} == {"default"}


def test_mounts_are_set_and_removed_one_by_one(
    cli: Callable[..., CompletedProcess[str]], server: OpenPai, home: Home, tmp_path: Path
) -> None:
    assert cli("profile", "set", "lab", f"mounts.nfs={tmp_path}", "mounts.my.other=/other").returncode == 0
    assert settings_of(home).mounts == {"nfs": str(tmp_path), "my.other": "/other"}
    shown = cli("profile", "show", "lab")
    assert f"mounts.nfs={tmp_path}" in shown.stdout.replace("\n", "")
    assert cli("profile", "set", "lab", "mounts.nfs=").returncode == 0
    assert settings_of(home).mounts == {"my.other": "/other"}
    wrong = cli("profile", "set", "lab", "mounts.nfs=relative")
    assert wrong.returncode != 0
    assert "relative" in wrong.stderr
    assert cli("profile", "set", "lab", "mounts.my.other=").returncode == 0
    assert settings_of(home).mounts == {}
    assert "mounts" not in user_file().read_text()


@pytest.mark.parametrize("address", ["", "two words", "ftp://host", "http://user:secret@host", "host:99999", "http://"])
def test_invalid_address_is_refused_without_its_password(
    fresh_engine: EmbeddedClient, server: OpenPai, address: str
) -> None:
    with pytest.raises(PaiError) as caught:
        fresh_engine.call("set_profile", profile="new", body={"values": {"backend": "openpai", "endpoint": address}})
    assert caught.value.status == 400
    assert "secret" not in json.dumps(caught.value.as_json())
    assert "new" not in user_file().read_text()
