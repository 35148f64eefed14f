"""The verbs over HTTP, and what is answered to what cannot be."""

from __future__ import annotations

import asyncio
import gc
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jsonschema
import pytest
from tornado.httpclient import HTTPClientError

from jupyter_pai.api.routes import ROUTES
from jupyter_pai.jobs.state_dir import Home
from jupyter_pai.server.app import Engine
from jupyter_pai.server.handlers import LARGEST_BODY

from ...conftest import PATIENCE
from .conftest import PREFIX

Check = Callable[[str, object], Any]

# Verbs that need a platform, in `test_platform_endpoints.py`.
ON_PLATFORMS = {
    "adopt",
    "delete_model",
    "images",
    "job_models",
    "model_version",
    "model_versions",
    "models",
    "open_platform_board",
    "open_terminal",
    "platform_boards",
    "register_model",
    "remote_jobs",
    "stop_platform_board",
    "try_jobs",
}


async def ask(jp_fetch: Any, method: str, *path: str, body: object = None, **params: Any) -> Any:
    data = json.dumps(body) if body is not None else ("{}" if method in ("POST", "PUT") else None)
    reply = await jp_fetch(*PREFIX, *path, method=method, params=params, body=data)
    return json.loads(reply.body)


async def run(jp_fetch: Any, spec: dict[str, Any]) -> dict[str, Any]:
    """Submit a job and wait for its end."""
    job: dict[str, Any] = (await ask(jp_fetch, "POST", "jobs", body={"spec": spec}))["job"]
    async with asyncio.timeout(PATIENCE):
        while not job["ended_at"]:
            await asyncio.sleep(0.02)
            job = await ask(jp_fetch, "GET", "jobs", job["id"])
    return job


class Document:
    """The served OpenAPI document. `check` validates a reply and returns it."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self.checked: set[str] = set()

    def check(self, verb: str, reply: object) -> Any:
        schema = {"$ref": f"#/components/schemas/{ROUTES[verb].reply}", "components": self.document["components"]}
        jsonschema.validate(reply, schema)
        self.checked.add(verb)
        return reply


async def check_forms(jp_fetch: Any, check: Check) -> None:
    """Check the replies about forms and code."""
    code = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--lr', type=float)\np.parse_args()\n(\n"
    files = {"a.py": code.removesuffix("(\n"), "b.py": code}
    script = {"name": "x", "source": {"files": files}, "command": "python b.py; python a.py $PAI_USER_ARGS"}
    script["hyperparameters"] = {"lr": "x"}
    check("backends", await ask(jp_fetch, "GET", "backends"))
    assert check("form", await ask(jp_fetch, "GET", "form"))["kind"] == "folder"
    check("recipe", await ask(jp_fetch, "POST", "recipe", body={"spec": script}))
    kinds = check("instances", await ask(jp_fetch, "GET", "instances"))
    assert (kinds["profile"], kinds["instances"][0]["name"]) == ("local", "local")
    result = check("inspect", await ask(jp_fetch, "POST", "inspect", body={"spec": script}))
    assert [(one["name"], one["type"], one["file"], one["line"]) for one in result["hyperparameters"]] == [
        ("lr", "float", "a.py", 3)
    ]
    assert [bool(file["problem"]) for file in result["files"]] == [True, False]
    assert (result["closed"], len(result["notes"])) == (True, 1)
    assert check("preview", await ask(jp_fetch, "POST", "preview", body={"spec": script}))["hyperparameters"]


async def check_job(jp_fetch: Any, check: Check, job: dict[str, Any]) -> None:
    """Check the replies about a job, its labels and its relatives."""
    check("rerun", await ask(jp_fetch, "POST", "jobs", job["id"], "rerun", body={}))
    body = {"changes": {"hyperparameters": {"lr": 1}}}
    again = check("rerun", await ask(jp_fetch, "POST", "jobs", job["id"], "rerun", body=body))["job"]
    check("provenance", await ask(jp_fetch, "GET", "jobs", job["id"], "provenance"))
    compared = check("diff", await ask(jp_fetch, "GET", "jobs", job["id"], "diff", again["id"]))
    assert compared["spec"] == [{"name": "hyperparameters.lr", "a": None, "b": "1"}]
    assert check("pin", await ask(jp_fetch, "PUT", "jobs", job["id"], "pin", body={}))["pinned"] is True
    assert check("unpin", await ask(jp_fetch, "DELETE", "jobs", job["id"], "pin"))["pinned"] is False
    assert check("disk", await ask(jp_fetch, "GET", "disk"))["largest"]
    pruned = await ask(jp_fetch, "POST", "prune", body={"keep": 0, "dry_run": True})
    assert check("prune", pruned)["jobs"]
    labels = {"best": "yes", "n": "1"}
    assert check("label", await ask(jp_fetch, "PATCH", "jobs", job["id"], "labels", body=labels))["labels"] == labels
    check("code", await ask(jp_fetch, "GET", "jobs", job["id"], "code"))
    (instance,) = check("job_instances", await ask(jp_fetch, "GET", "jobs", job["id"], "instances"))["instances"]
    assert (instance["name"], instance["status"], instance["exit_code"]) == ("worker-0", "succeeded", 0)
    check("list_jobs", await ask(jp_fetch, "GET", "jobs"))


async def check_workflows(jp_fetch: Any, check: Check, spec: dict[str, Any]) -> None:
    """Check the replies about workflows and components."""

    async def ended(run: str) -> None:
        while (await ask(jp_fetch, "GET", "workflows", run))["run"]["status"] in ("running", "stopping"):
            await asyncio.sleep(0)

    workflow = {
        "name": "flow",
        "steps": [{"name": "long", "spec": {"command": "sleep 1000", "source": spec["source"]}}],
    }
    body = {"workflow": workflow}
    assert check("check_workflow", await ask(jp_fetch, "POST", "workflows", "check", body=body))["steps"]
    run = check("run_workflow", await ask(jp_fetch, "POST", "workflows", body=body))["run"]["id"]
    check("show_workflow", await ask(jp_fetch, "GET", "workflows", run))
    definition = check("workflow_definition", await ask(jp_fetch, "GET", "workflows", run, "definition"))
    export = {"workflow": definition["workflow"]}
    assert (
        "sleep 1000"
        in check("export_workflow", await ask(jp_fetch, "POST", "workflows", "export", body=export))["text"]
    )
    check("stop_workflow", await ask(jp_fetch, "POST", "workflows", run, "stop"))
    await ended(run)
    check("resume_workflow", await ask(jp_fetch, "POST", "workflows", run, "resume", body={}))
    await ask(jp_fetch, "POST", "workflows", run, "stop")
    await ended(run)
    assert check("list_workflows", await ask(jp_fetch, "GET", "workflows"))["total"] == 1
    check("delete_workflow", await ask(jp_fetch, "DELETE", "workflows", run))

    component = {"identifier": "train", "version": "v1", "spec": spec | {"secrets": {}}}
    check("save_component", await ask(jp_fetch, "POST", "components", body=component))
    assert check("list_components", await ask(jp_fetch, "GET", "components"))["components"]
    check("component", await ask(jp_fetch, "GET", "components", "train", "versions", "v1"))


async def check_logs_and_outputs(jp_fetch: Any, check: Check, job: dict[str, Any], tmp_path: Path) -> None:
    """Check the replies about metrics, logs, events and outputs of a job."""
    check("about", await ask(jp_fetch, "GET"))
    metrics = check("metrics", await ask(jp_fetch, "GET", "jobs", job["id"], "metrics"))
    assert metrics["metrics"]["loss"]["value"] == ["NaN"]
    check("lines", await ask(jp_fetch, "GET", "jobs", job["id"], "lines"))
    check("search", await ask(jp_fetch, "GET", "jobs", job["id"], "search", text="loss"))
    check("texts", await ask(jp_fetch, "GET", "jobs", job["id"], "texts"))
    assert check("lines", await ask(jp_fetch, "GET", "jobs", job["id"], "lines"))["lines"] == 1
    assert check("search", await ask(jp_fetch, "GET", "jobs", job["id"], "search", text="nan"))["hits"]
    check("events", await ask(jp_fetch, "GET", "events", job=job["id"]))
    download = {"folder": str(tmp_path / "down"), "channel": "model"}
    copy = check("download", await ask(jp_fetch, "POST", "jobs", job["id"], "download", body=download))
    check("copy", await ask(jp_fetch, "GET", "copies", copy["id"]))
    check("cancel_copy", await ask(jp_fetch, "DELETE", "copies", copy["id"]))
    check("copies", await ask(jp_fetch, "GET", "jobs", job["id"], "copies"))
    assert check("outputs", await ask(jp_fetch, "GET", "jobs", job["id"], "outputs"))["channels"][0]["files"]
    assert (
        check("peek", await ask(jp_fetch, "GET", "jobs", job["id"], "outputs", "model", "text", path="m"))["text"]
        == "1\n"
    )


async def check_data(jp_fetch: Any, check: Check, tmp_path: Path) -> None:
    """Check the replies about data and transfers."""
    (tmp_path / "store").mkdir()
    (tmp_path / "store/a").write_text("1")
    uri, there = (tmp_path / "store").as_uri(), (tmp_path / "there").as_uri() + "/"
    assert check("list_data", await ask(jp_fetch, "GET", "data", uri=uri))["entries"][0]["path"] == "a"
    assert check("measure_data", await ask(jp_fetch, "GET", "data", "size", uri=uri))["files"] == 1
    check("make_data_folder", await ask(jp_fetch, "POST", "data", "folder", body={"uri": there}))
    up, down = ({"uri": place, "path": str(tmp_path / name)} for place, name in ((there, "store"), (uri, "got")))
    check("put_data", await ask(jp_fetch, "POST", "data", "put", body=up))
    check("get_data", await ask(jp_fetch, "POST", "data", "get", body=down))
    assert check("storages", await ask(jp_fetch, "GET", "storages"))["storages"][0]["scheme"] == "file"
    upload = check("begin_upload", await ask(jp_fetch, "POST", "uploads", body={"uri": uri, "path": "u", "bytes": 1}))
    sent = await jp_fetch(*PREFIX, "uploads", upload["id"], method="PUT", body=b"1")
    assert check("upload_data", json.loads(sent.body))["status"] == "done"
    moved = await ask(jp_fetch, "POST", "data", "move", body={"uri": f"{uri}/u", "name": "v"})
    assert check("rename_data", moved)["folder"] == f"{uri}/v"
    assert check("remove_data", await ask(jp_fetch, "DELETE", "data", uri=uri + "/a"))["verb"] == "remove"


async def check_profiles_and_secrets(jp_fetch: Any, check: Check) -> None:
    """Check the replies about profiles, credentials and secrets."""
    check("profiles", await ask(jp_fetch, "GET", "profiles"))
    check("set_profile", await ask(jp_fetch, "PUT", "profiles", "x", body={"values": {"backend": "local"}}))
    check("remove_profile", await ask(jp_fetch, "DELETE", "profiles", "x"))
    await ask(jp_fetch, "PUT", "profiles", "pai", body={"values": {"region_id": "cn-hangzhou"}})
    key = {"access_key_id": "LTAI5tTheIdOfAKey9xyz", "access_key_secret": "longenough"}
    check("set_credentials", await ask(jp_fetch, "PUT", "profiles", "pai", "credentials", body=key))
    check("remove_credentials", await ask(jp_fetch, "DELETE", "profiles", "pai", "credentials"))
    check("set_secret", await ask(jp_fetch, "PUT", "secrets", "x", body={"value": "long enough"}))
    assert check("secrets", await ask(jp_fetch, "GET", "secrets"))["secrets"] == [{"name": "x", "place": "file"}]
    check("remove_secret", await ask(jp_fetch, "DELETE", "secrets", "x"))


async def test_replies_conform_to_the_openapi_document(jp_fetch: Any, spec: dict[str, Any], tmp_path: Any) -> None:
    document = Document(await ask(jp_fetch, "GET", "openapi.json"))
    check = document.check
    spec |= {
        "command": "printf 'loss=nan\\n'; echo 1 > $PAI_OUTPUT_MODEL/m; : > $PAI_OUTPUT_TENSORBOARD/x.tfevents.1",
        "metric_definitions": [{"name": "loss", "regex": r"loss=(\S+)"}],
    }
    job = check("show", await run(jp_fetch, spec))
    check("submit", await ask(jp_fetch, "POST", "jobs", body={"spec": spec, "key": "k"}))
    assert check("find_submit", await ask(jp_fetch, "GET", "submits", "k"))["job"]
    assert check("find_submit", await ask(jp_fetch, "GET", "submits", "unknown")) == {"job": None}
    assert check("cancel_submit", await ask(jp_fetch, "DELETE", "submits", "k"))["job"]
    assert check("kernel_notebook", await ask(jp_fetch, "GET", "kernels", "x", "notebook")) == {"notebook": ""}
    check("preview", await ask(jp_fetch, "POST", "preview", body={"spec": spec}))
    await check_forms(jp_fetch, check)
    await check_job(jp_fetch, check, job)
    await check_logs_and_outputs(jp_fetch, check, job, tmp_path)
    await check_data(jp_fetch, check, tmp_path)
    await check_profiles_and_secrets(jp_fetch, check)
    assert check("bring", await ask(jp_fetch, "POST", "bring", body={"spec": spec}))["status"] == "done"
    board = check("start_tensorboard", await ask(jp_fetch, "POST", "tensorboards", body={"jobs": [job["id"]]}))
    assert check("tensorboards", await ask(jp_fetch, "GET", "tensorboards"))["tensorboards"] == [board]
    assert not check("stop_tensorboard", await ask(jp_fetch, "DELETE", "tensorboards", board["id"]))["tensorboards"]
    await check_workflows(jp_fetch, check, spec)
    check("doctor", await ask(jp_fetch, "GET", "doctor"))
    check("catalogue", await ask(jp_fetch, "GET", "catalogue"))
    assert check("choices", await ask(jp_fetch, "GET", "choices", name="instance_types"))["choices"]
    check("give_tutorials", await ask(jp_fetch, "POST", "tutorials", body={}))
    check("engine_settings", await ask(jp_fetch, "GET", "settings"))
    check("set_engine_settings", await ask(jp_fetch, "PUT", "settings", body={"disk": {"limit": "1GB"}}))
    check("stop", await ask(jp_fetch, "POST", "jobs", job["id"], "stop", body={}))
    check("delete", await ask(jp_fetch, "DELETE", "jobs", job["id"]))
    check("trials", await ask(jp_fetch, "GET", "trials"))
    assert document.checked | ON_PLATFORMS == {verb for verb, route in ROUTES.items() if route.reply}


async def test_job_is_returned_as_code(jp_fetch: Any, spec: dict[str, Any], tmp_path: Any) -> None:
    """A job submitted from it gets its own output folder."""
    values = {"backend": "local", "default_output": str(tmp_path / "out")}
    await ask(jp_fetch, "PUT", "profiles", "work", body={"values": values})
    wanted = spec | {"profile": "work", "hyperparameters": {"lr": "0.1"}, "secrets": {}, "labels": {"a": "b"}}
    job = await run(jp_fetch, wanted)
    assert job["spec"]["output_path"].startswith(str(tmp_path))
    await ask(jp_fetch, "PATCH", "jobs", job["id"], "labels", body={"a": None})
    result = await ask(jp_fetch, "GET", "jobs", job["id"], "code")
    assert result.keys() == {"cell", "cli", "python", "json", "document"}
    assert result["document"] == ""
    again = json.loads(result["json"])
    assert (again["hyperparameters"], again["labels"], "output_path" in again) == ({"lr": "0.1"}, {"a": "b"}, False)
    assert (await run(jp_fetch, again))["spec"]["output_path"] != job["spec"]["output_path"]


async def test_metrics_are_downsampled_and_sliced(jp_fetch: Any, spec: dict[str, Any]) -> None:
    count, nan = 5_000, 3_210
    command = f"seq 0 {count - 1} | sed 's/^{nan}$/nan/; s/^/n=/'"
    job = await run(jp_fetch, spec | {"command": command, "metric_definitions": [{"name": "n", "regex": r"n=(\w+)"}]})

    async def points(**params: Any) -> dict[str, Any]:
        result = await ask(jp_fetch, "GET", "jobs", job["id"], "metrics", **params)
        return dict(result["metrics"]["n"])

    whole = await points()
    assert (whole["start"], whole["end"], len(whole["step"])) == (0, count, count)
    few = await points(points=100)
    assert (few["start"], few["end"], len(few["step"])) == (0, count, 100)
    assert few["value"][few["step"].index(nan)] == "NaN"
    assert all(whole["value"][step] == value for step, value in zip(few["step"], few["value"], strict=True))
    assert all(whole["time"][step] == time for step, time in zip(few["step"], few["time"], strict=True))
    assert (await points(first=10, last=12))["step"] == [10, 11, 12]
    assert (await points(last=0))["step"] == (await points(first=-(2**63), last=0))["step"] == [0]
    assert (await points(start=count - 2, points=100))["step"] == [count - 2, count - 1]
    rest = await points(start=1000, points=50)
    assert (rest["start"], rest["end"], len(rest["step"]), min(rest["step"])) == (1000, count, 50, 1000)
    assert (await points(start=count + 5))["end"] == count + 5


async def test_profiles_are_created_changed_and_removed(jp_fetch: Any) -> None:
    body = {"values": {"backend": "local", "max_run_time": 60}, "default": True}
    result = await ask(jp_fetch, "PUT", "profiles", "work", body=body)
    assert result["default"] == "work"
    result = await ask(jp_fetch, "DELETE", "profiles", "work")
    assert [profile["name"] for profile in result["profiles"]] == ["local"]


async def test_log_is_served_byte_for_byte(jp_fetch: Any, spec: dict[str, Any]) -> None:
    job = await run(jp_fetch, spec | {"command": r"printf 'a\000\377\n'; printf 'two\nthree\n'"})
    whole = b"a\0\xff\ntwo\nthree\n"

    async def log(**params: Any) -> tuple[bytes, str]:
        reply = await jp_fetch(*PREFIX, "jobs", job["id"], "log", params=params)
        return reply.body, reply.headers["X-Offset"]

    assert await log() == (whole, "0")
    assert await log(offset=4, limit=3) == (b"two", "4")
    assert await log(tail=1) == (b"three\n", "8")
    assert await log(follow="true", offset=8) == (b"three\n", "8")
    assert (await log(offset=100))[0] == b""


async def test_log_is_paged_by_lines(jp_fetch: Any, spec: dict[str, Any]) -> None:
    job = await run(jp_fetch, spec | {"command": "seq 100000"})

    async def page(**params: Any) -> tuple[bytes, dict[str, str]]:
        reply = await jp_fetch(*PREFIX, "jobs", job["id"], "log", params=params)
        return reply.body, {name: reply.headers.get(f"X-{name}") for name in ("Offset", "Line", "Lines")}

    assert await page(lines=2) == (b"1\n2\n", {"Offset": "0", "Line": "0", "Lines": "100000"})
    offset = len("".join(f"{n}\n" for n in range(1, 50_001)))
    result = {"Offset": str(offset), "Line": "50000", "Lines": "100000"}
    assert await page(line=50_000, lines=3) == (b"50001\n50002\n50003\n", result)
    assert await page(line=50_000, lines=3, limit=8) == (b"50001\n50", result)
    assert (await page(line=99_999))[0] == b"100000\n"
    assert (await page(line=100_000, lines=5))[0] == b""
    assert (await page(line=10**9, lines=5))[1]["Line"] == "100000"
    assert (await page(line=99_998, follow="true"))[0] == b"99999\n100000\n"


async def test_following_a_log_ends_with_the_job(jp_fetch: Any, spec: dict[str, Any]) -> None:
    command = "for i in 1 2 3; do echo $i; sleep 0.05; done"
    job = (await ask(jp_fetch, "POST", "jobs", body={"spec": spec | {"command": command}}))["job"]
    reply = await jp_fetch(*PREFIX, "jobs", job["id"], "log", params={"follow": "true"})
    assert reply.body == b"1\n2\n3\n"


@pytest.mark.slow("server")
async def test_list_of_jobs_is_filtered(jp_fetch: Any, spec: dict[str, Any]) -> None:
    for n in range(3):
        await run(jp_fetch, spec | {"name": f"job {n}", "labels": {"n": n}, "hyperparameters": {"n": 9 + n}})
    result = await ask(jp_fetch, "GET", "jobs", name="job 1")
    assert [job["name"] for job in result["jobs"]] == ["job 1"]
    assert (await ask(jp_fetch, "GET", "jobs", label="n=2"))["total"] == 1
    assert (await ask(jp_fetch, "GET", "jobs", status="failed"))["total"] == 0
    assert (await ask(jp_fetch, "GET", "jobs", backend="local"))["total"] == 3
    assert (await ask(jp_fetch, "GET", "jobs", backend="elsewhere"))["total"] == 0
    page = await ask(jp_fetch, "GET", "jobs", limit=1, offset=1)
    assert ([job["name"] for job in page["jobs"]], page["total"]) == (["job 1"], 3)
    names = [job["name"] for job in (await ask(jp_fetch, "GET", "jobs", sort="name"))["jobs"]]
    assert names == ["job 0", "job 1", "job 2"]
    page = await ask(jp_fetch, "GET", "jobs", sort="hp:n", order="desc", limit=2)
    assert [job["name"] for job in page["jobs"]] == ["job 2", "job 1"]


async def test_items_of_the_list_are_bounded(jp_fetch: Any, spec: dict[str, Any], tmp_path: Path) -> None:
    labels = {f"label {n}": "x" * 900 for n in range(100)}
    outputs = {f"out{n}": str(tmp_path / f"{n}" / ("x" * 200)) for n in range(50)}
    job = await run(jp_fetch, spec | {"labels": labels, "outputs": outputs})
    reply = await jp_fetch(*PREFIX, "jobs")
    (listed,) = json.loads(reply.body)["jobs"]
    assert len(reply.body) < 8_000
    assert listed["labels"].items() < labels.items()
    assert listed["outputs"].items() < job["outputs"].items()
    assert job["labels"] == labels
    assert outputs.keys() <= job["outputs"].keys()


async def test_a_request_is_refused_by_its_size(jp_fetch: Any) -> None:
    for body, words in (
        (b"[" + b" " * LARGEST_BODY, "is 2.5 MB large, more than 2.5 MB."),
        (b'{"a": ' * 200, "JSON"),
        # They are counted before the parser, which would hold up other requests, would find the missing end.
        (b'{"a": [' + b"0," * 100_001, "it may have 100000 values"),
    ):
        with pytest.raises(HTTPClientError) as caught:
            await jp_fetch(*PREFIX, "jobs", method="POST", body=body)
        assert caught.value.response is not None
        assert words in json.loads(caught.value.response.body)["message"]
        assert caught.value.code == 400


async def test_large_requests_are_read_in_turn(jp_fetch: Any, jp_serverapp: Any) -> None:
    turn = jp_serverapp.web_app.settings["jupyter_pai_engine"].turn
    spec = {"command": "true", "source": {"files": {"a": "x" * 100_000}}}
    async with turn:
        large = asyncio.create_task(ask(jp_fetch, "POST", "inspect", body={"spec": spec}))
        async with asyncio.timeout(PATIENCE):
            while not turn._waiters:
                assert not large.done()
                await asyncio.sleep(0.01)
        assert await ask(jp_fetch, "POST", "inspect", body={"spec": {"command": "true"}})
        assert not large.done()
    assert await large


async def test_jobs_record_their_notebook(jp_fetch: Any, spec: dict[str, Any], jp_root_dir: Any) -> None:
    """The notebook may be named as in the kernel or as in JupyterLab."""
    work, path = jp_root_dir / "work", jp_root_dir / "work" / "a.ipynb"
    work.mkdir()
    path.write_text("{}")
    (jp_root_dir / "link").symlink_to(work)
    ids = []
    for named in (str(path), "work/a.ipynb", f"{jp_root_dir}/link/a.ipynb", "link/a.ipynb"):
        job = (await ask(jp_fetch, "POST", "jobs", body={"spec": spec, "notebook": named}))["job"]
        assert job["notebook"] == os.path.realpath(path)
        ids.append(job["id"])
    await run(jp_fetch, spec)
    for named in (str(path), "work/a.ipynb", "link/a.ipynb"):
        assert [job["id"] for job in (await ask(jp_fetch, "GET", "jobs", notebook=named))["jobs"]] == ids[::-1]
    assert (await ask(jp_fetch, "GET", "jobs", notebook="work"))["total"] == 0
    again = (await ask(jp_fetch, "POST", "jobs", ids[0], "rerun", body={}))["job"]
    assert again["notebook"] == os.path.realpath(path)
    # A notebook that is run is its own.
    source = {"folder": str(jp_root_dir), "include": ["work/*"]}
    runs = spec | {"command": "", "entry_point": "work/a.ipynb", "source": source}
    assert (await ask(jp_fetch, "POST", "jobs", body={"spec": runs}))["job"]["notebook"] == os.path.realpath(path)


@pytest.mark.slow("cases", first=17)
@pytest.mark.parametrize(
    ("method", "path", "params", "body", "status", "words"),
    [
        ("GET", ["jobs", "nothing"], {}, None, 404, "`nothing`"),
        ("GET", ["nothing"], {}, None, 404, "Nothing found at"),
        ("GET", ["jobs"], {"limit": "x"}, None, 400, "not an integer"),
        ("GET", ["jobs"], {"limit": 501}, None, 400, "between 1 and 500"),
        ("GET", ["jobs"], {"offset": 10**30}, None, 400, "not an integer"),
        ("GET", ["jobs"], {"status": "runing"}, None, 400, "runing"),
        ("GET", ["jobs"], {"sort": "size"}, None, 400, "hp:NAME"),
        ("GET", ["jobs"], {"sort": "hp:"}, None, 400, "hp:NAME"),
        ("GET", ["jobs"], {"order": "up"}, None, 400, "asc or desc"),
        ("GET", ["jobs"], {"label": "x"}, None, 400, "`x`"),
        ("GET", ["jobs"], {"notebook": "../a.ipynb"}, None, 400, "outside the root"),
        ("GET", ["events"], {"after": "²"}, None, 400, "not an integer"),
        ("GET", ["events"], {"after": "--5"}, None, 400, "not an integer"),
        ("GET", ["jobs", "last", "metrics"], {"points": -1}, None, 400, "-1 is not between 0 and"),
        ("GET", ["jobs", "last", "metrics"], {"start": -1}, None, 400, "-1 is not between 0 and"),
        ("GET", ["jobs", "last", "metrics"], {"last": "end"}, None, 400, "not an integer"),
        ("GET", ["jobs", "nothing", "texts"], {}, None, 404, "`nothing`"),
        ("POST", ["jobs"], {}, "{", 400, "not JSON"),
        ("POST", ["jobs"], {}, "", 400, "valid"),
        ("POST", ["jobs"], {}, "[]", 400, "valid"),
        ("POST", ["jobs"], {}, '{"spec": {"name": "x"}}', 400, "Nothing to run"),
        ("POST", ["jobs"], {}, '{"spec": {"name": "x", "command": "y"}, "notebook": "../x"}', 400, "outside the root"),
        ("POST", ["jobs"], {}, '{"spec": {"name": "x", "command": "y"}, "notebook": "/\\u0000"}', 400, "path"),
        ("POST", ["jobs"], {}, '{"spec": {"name": "x", "comand": "y"}}', 400, "did you mean"),
        ("POST", ["jobs"], {}, "[" * 100_000, 400, "not JSON"),
        ("POST", ["inspect"], {}, '{"spec": {"name": "x"}}', 400, "Nothing to run"),
        ("POST", ["inspect"], {}, "{", 400, "not JSON"),
        ("PUT", ["profiles", "x"], {}, "{}", 400, "Nothing to change"),
        ("PUT", ["profiles", "x"], {}, '{"values": {"backend": "lokal"}}', 400, "lokal"),
        ("DELETE", ["profiles", "x"], {}, None, 404, "`x`"),
        ("PUT", ["secrets", "x"], {}, '{"value": "abc"}', 400, "too short"),
        ("PUT", ["secrets", "x"], {}, '{"value": 12345678}', 400, "must be text"),
        ("PUT", ["secrets", "a b"], {}, '{"value": "long enough"}', 400, "Invalid name of a secret"),
        ("PUT", ["secrets", "x"], {}, '{"value": "long\\u0000enough"}', 400, "environment variable"),
        ("PUT", ["secrets", "x"], {}, '{"value": "long\\ud800enough"}', 400, "environment variable"),
        ("DELETE", ["secrets", "x"], {}, None, 404, "`x`"),
        ("PUT", ["jobs"], {}, "{}", 405, ""),
        ("POST", ["jobs", "nothing", "rerun"], {}, "{}", 404, "`nothing`"),
        ("POST", ["jobs", "nothing", "rerun"], {}, '{"change": {}}', 400, "change"),
        ("POST", ["jobs", "nothing", "rerun"], {}, '{"changes": 1}', 400, "changes"),
        ("GET", ["jobs", "nothing", "diff", "other"], {}, None, 404, "`nothing`"),
        ("GET", ["jobs", "nothing", "provenance"], {}, None, 404, "`nothing`"),
        ("PUT", ["jobs", "nothing", "pin"], {}, "{}", 404, "`nothing`"),
        ("PATCH", ["jobs", "nothing", "labels"], {}, "{}", 404, "`nothing`"),
        ("PATCH", ["jobs", "nothing", "labels"], {}, '{"a=b": "c"}', 400, "without `=`"),
        ("PATCH", ["jobs", "nothing", "labels"], {}, '{"": "c"}', 400, "needs a name"),
        ("PATCH", ["jobs", "nothing", "labels"], {}, '{"a": 1}', 400, "must be text"),
        ("GET", ["jobs", "nothing", "code"], {}, None, 404, "`nothing`"),
        ("POST", ["tensorboards"], {}, '{"jobs": []}', 400, "jobs"),
        ("POST", ["tensorboards"], {}, '{"jobs": ["nothing"]}', 404, "`nothing`"),
        ("DELETE", ["tensorboards", "nothing"], {}, None, 404, "is not running"),
        ("POST", ["prune"], {}, '{"older_than": -1}', 400, "older_than"),
        ("POST", ["prune"], {}, json.dumps({"labels": {f"n{n}": "" for n in range(101)}}), 400, "100 or fewer items"),
        ("POST", ["prune"], {}, '{"older_than": NaN}', 400, "older_than"),
        ("POST", ["prune"], {}, '{"status": ["runing"]}', 400, "status"),
        ("POST", ["prune"], {}, '{"all": true}', 400, "all"),
        ("POST", ["prune"], {}, '{"only_jobs": "last"}', 400, "only_jobs"),
    ],
)
async def test_impossible_requests_get_an_error_with_a_message(
    jp_fetch: Any, method: str, path: list[str], params: dict[str, Any], body: str | None, status: int, words: str
) -> None:
    with pytest.raises(HTTPClientError) as caught:
        await jp_fetch(*PREFIX, *path, method=method, params=params, body=body, allow_nonstandard_methods=True)
    assert caught.value.code == status
    assert caught.value.response is not None
    message = json.loads(caught.value.response.body)
    assert message.keys() == {"code", "message", "fix", "details"}
    assert words in message["message"] + message["fix"]
    assert "Traceback" not in message["message"]


async def test_errors_follow_the_accept_language_header(jp_fetch: Any) -> None:
    with pytest.raises(HTTPClientError) as caught:
        await jp_fetch(*PREFIX, "jobs", "没有", headers={"Accept-Language": "zh-CN"})
    assert caught.value.response is not None
    assert json.loads(caught.value.response.body)["message"] == "没有作业 `没有`。"


async def test_unusual_job_ids_in_urls_are_rejected(jp_fetch: Any) -> None:
    for word in ("..", "../..", "%00", "a/b", "\x01", "'; DROP TABLE job; --", "x" * 3000):
        with pytest.raises(HTTPClientError) as caught:
            await jp_fetch(*PREFIX, "jobs", quote(word, safe=""))
        assert caught.value.code in (400, 404)


async def test_openapi_document_has_every_verb(jp_fetch: Any) -> None:
    document = await ask(jp_fetch, "GET", "openapi.json")
    served = {operation["operationId"] for path in document["paths"].values() for operation in path.values()}
    assert served == set(ROUTES)
    text = json.dumps(document)
    for name in {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}:
        assert name in document["components"]["schemas"]


async def test_unusable_state_folder_leaves_the_server_running(jp_fetch: Any, home: Any, tmp_path: Any) -> None:
    home.path.write_text("a file where the folder should be")
    with pytest.raises(HTTPClientError) as caught:
        await jp_fetch(*PREFIX, "jobs")
    assert caught.value.code == 503
    assert caught.value.response is not None
    assert str(home.path) in json.loads(caught.value.response.body)["message"]
    assert (await jp_fetch("api")).code == 200
    home.path.unlink()
    assert (await jp_fetch(*PREFIX, "jobs")).code == 200


async def test_modules_of_a_server_are_not_searched_for_garbage(home: Home) -> None:
    gc.unfreeze()
    engine = Engine("/")
    await engine.context()
    frozen = gc.get_freeze_count()
    await engine.close()
    assert frozen
