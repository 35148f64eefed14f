"""Forms over HTTP: defaults, fields, errors by field, and conversion to code."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import nbformat
import pytest
from tornado.httpclient import HTTPClientError

from jupyter_pai.source.secret_rules import KINDS

from ...support.fake_keys import CERTAIN
from .test_rest import ask, run


@pytest.fixture
def project(jp_root_dir: Path) -> Path:
    """A folder with a notebook, scripts, and what is none of either."""
    folder = jp_root_dir / "project"
    for name in ("lib", ".git", "venv"):
        (folder / name).mkdir(parents=True)
    (folder / "venv" / "pyvenv.cfg").touch()
    for name in ("train.py", "setup.sh", "lib/part.py", "venv/no.py", ".hidden.py", "notes.txt"):
        (folder / name).write_text("print(1)\n")
    cell = nbformat.v4.new_code_cell("lr = 0.1\nprint(lr)")
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), folder / "study.ipynb")
    return folder


async def form(jp_fetch: Any, path: str, **params: str) -> dict[str, Any]:
    result: dict[str, Any] = await ask(jp_fetch, "GET", "form", path=path, **params)
    return result


async def refused(jp_fetch: Any, verb: str, body: object) -> dict[str, Any]:
    """The details of a refusal."""
    with pytest.raises(HTTPClientError) as caught:
        await ask(jp_fetch, "POST", *verb.split("/"), body=body)
    assert 400 <= caught.value.code < 500
    assert caught.value.response
    message: dict[str, Any] = json.loads(caught.value.response.body)
    return message["details"]  # type: ignore[no-any-return]  # JSON


async def test_form_starts_with_the_existing_files(jp_fetch: Any, project: Path) -> None:
    result = await form(jp_fetch, "project/study.ipynb")
    notebook = str(project / "study.ipynb")
    source = {"folder": str(project)}
    spec = {"entry_point": "study.ipynb", "source": source}
    entries = ["setup.sh", "study.ipynb", "train.py", "lib/part.py"]
    request = {"spec": spec, "backend": "", "notebook": notebook, "form": "", "script_if_needed": True}
    both = {"request": request, "defaults": request}
    assert result == both | {"kind": "notebook", "last": None, "entries": entries, "notes": []}
    script = await form(jp_fetch, str(project / "setup.sh"), backend="local")
    assert (script["kind"], script["request"]["spec"]["entry_point"]) == ("script", "setup.sh")
    assert (script["request"]["backend"], script["request"]["notebook"]) == ("local", "")
    assert script["request"]["form"] == str(project / "setup.sh")
    assert (await form(jp_fetch, "project"))["request"]["spec"] == {"entry_point": "train.py", "source": source}
    (project / "train.py").unlink()
    assert (await form(jp_fetch, "project"))["request"]["spec"] == {"source": source}
    part = {"entry_point": "lib/part.py", "source": source}
    assert (await form(jp_fetch, "project/lib/part.py"))["request"]["spec"] == part
    (project / ".git").rmdir()
    part = {"entry_point": "part.py", "source": {"folder": f"{project}/lib"}}
    assert (await form(jp_fetch, "project/lib/part.py"))["request"]["spec"] == part
    assert (await ask(jp_fetch, "POST", "preview", body=result["request"]))["files"]


async def test_form_continues_with_the_settings_of_the_newest_job(jp_fetch: Any, project: Path, tmp_path: Path) -> None:
    """Values filled in by the profile and the code of the cell are not repeated."""
    values = {"backend": "local", "default_output": str(tmp_path / "out"), "default_image": "mine:1"}
    await ask(jp_fetch, "PUT", "profiles", "work", body={"values": values})
    notebook = str(project / "study.ipynb")
    source = {"folder": str(project), "files": {"pai_cell.py": "# %%pai_train\nprint(1)\n"}, "exclude": ["*.txt"]}
    wanted = {"entry_point": "pai_cell.py", "source": source, "profile": "work", "labels": {"of": "a"}}
    body = {"spec": wanted | {"hyperparameters": {"lr": "0.1"}}, "notebook": "project/study.ipynb"}
    first = (await ask(jp_fetch, "POST", "jobs", body=body))["job"]
    assert first["name"].startswith("study_20")
    assert first["spec"]["output_path"]
    assert first["spec"]["image"] == "mine:1"
    result = await form(jp_fetch, "project/study.ipynb")
    assert result["last"]["id"] == first["id"]
    assert result["request"]["spec"] == {
        "entry_point": "study.ipynb",
        "hyperparameters": {"lr": "0.1"},
        "labels": {"of": "a"},
        "profile": "work",
        "source": {"folder": str(project), "exclude": ["*.txt"]},
    }
    assert result["request"]["notebook"] == notebook
    other = await form(jp_fetch, "project/study.ipynb", profile="local")
    assert other["request"]["spec"]["profile"] == "local"
    # Of the folder and of its script they are none.
    assert (await form(jp_fetch, "project"))["last"] is None
    job = await run(jp_fetch, {"name": "mine", "entry_point": "train.py", "source": {"folder": str(project)}})
    script = await form(jp_fetch, "project/train.py")
    assert (script["last"]["id"], script["request"]["spec"]["name"]) == (job["id"], "mine")
    assert (await form(jp_fetch, "project"))["last"]["id"] == job["id"]
    assert (await form(jp_fetch, "project/setup.sh"))["last"] is None
    again = (await ask(jp_fetch, "POST", "jobs", job["id"], "rerun", body={}))["job"]
    assert again["name"] != "mine"
    newest = await form(jp_fetch, "project/train.py")
    assert (newest["last"]["id"], newest["request"]["spec"]["name"]) == (again["id"], "mine")


async def test_settings_belong_to_the_file_whose_form_submitted(jp_fetch: Any, project: Path) -> None:
    """Not to the folder that was packed: the answer to a question may be the folder around it."""

    async def submitted(path: str, **changes: Any) -> str:
        request = (await form(jp_fetch, path))["request"]
        body = request | {"spec": request["spec"] | {"source": {"folder": str(project.parent)}} | changes}
        return str((await ask(jp_fetch, "POST", "jobs", body=body))["job"]["id"])

    async def last(path: str) -> str:
        return str(((await form(jp_fetch, path))["last"] or {"id": ""})["id"])

    of_folder = await submitted("project/lib", command="true")
    of_script = await submitted("project/train.py", entry_point="project/setup.sh", hyperparameters={"n": "1"})
    assert [await last(path) for path in ("project/lib", "project/train.py")] == [of_folder, of_script]
    assert (await form(jp_fetch, "project/train.py"))["request"]["spec"] == {
        "entry_point": "project/setup.sh",
        "hyperparameters": {"n": "1"},
        "source": {"folder": str(project.parent)},
    }
    # Those of the script that it ran are known, too; those of the packed folder are not.
    paths = ("project/setup.sh", "project/lib/part.py", "project", ".")
    assert [await last(path) for path in paths] == [of_script, "", "", ""]
    again = (await ask(jp_fetch, "POST", "jobs", of_folder, "rerun", body={}))["job"]["id"]
    assert await last("project/lib") == again


async def test_defaults_are_those_of_a_first_visit(jp_fetch: Any, project: Path) -> None:
    """The settings of the newest job are not in them, such as an entry point that is gone."""
    await ask(jp_fetch, "PUT", "profiles", "work", body={"values": {"backend": "local"}})
    (project / "other.py").write_text("print(1)\n")
    first = await form(jp_fetch, "project")
    assert first["request"]["spec"] == {"source": {"folder": str(project)}} | {"entry_point": "train.py"}
    spec = {"entry_point": "other.py", "source": {"folder": str(project), "exclude": ["*.txt"]}, "profile": "work"}
    await run(jp_fetch, spec | {"hyperparameters": {"lr": "1"}})
    (project / "other.py").unlink()
    later = await form(jp_fetch, "project")
    assert later["request"]["spec"]["entry_point"] == "other.py"
    assert later["defaults"] == first["defaults"] == first["request"]
    for_profile = await form(jp_fetch, "project", profile="work")
    assert for_profile["defaults"]["spec"] == first["request"]["spec"] | {"profile": "work"}


async def test_folder_may_be_a_link_outside_the_root(
    jp_fetch: Any, jp_root_dir: Path, project: Path, tmp_path: Path
) -> None:
    """A link such as `~/data -> /mnt/data` is read and not written."""
    far = tmp_path / "mnt"
    project.rename(far)
    (jp_root_dir / "data").symlink_to(far)
    request = (await form(jp_fetch, "data/study.ipynb"))["request"]
    assert request["notebook"] == str(far / "study.ipynb")
    assert request["spec"]["source"] == {"folder": str(far)}
    assert (await form(jp_fetch, "data"))["kind"] == "folder"
    body = {"spec": {"command": "true", "source": {"folder": str(far)}}, "notebook": "data/study.ipynb"}
    job = (await ask(jp_fetch, "POST", "jobs", body=body))["job"]
    result = await ask(jp_fetch, "GET", "jobs", notebook="data/study.ipynb")
    assert [one["id"] for one in result["jobs"]] == [job["id"]]
    copy = {"uri": f"file://{tmp_path}/copy/", "path": "data/notes.txt"}
    assert (await ask(jp_fetch, "POST", "data", "put", body=copy))["files"] == 1
    for verb, wanted in (("data/get", copy | {"path": "data"}), (f"jobs/{job['id']}/download", {"folder": "data"})):
        with pytest.raises(HTTPClientError) as caught:
            await ask(jp_fetch, "POST", *verb.split("/"), body=wanted)
        assert caught.value.code == 400 and b"is outside the root folder" in caught.value.response.body  # type: ignore[union-attr]


@pytest.mark.parametrize("path", ["project/none.ipynb", "project/notes.txt", "../..", "a\0b"])
async def test_form_for_an_unsuitable_path_is_rejected(jp_fetch: Any, project: Path, path: str) -> None:
    with pytest.raises(HTTPClientError) as caught:
        await form(jp_fetch, path)
    assert caught.value.code in (400, 404)


async def test_backends_describe_fields_of_a_form(jp_fetch: Any) -> None:
    result = await ask(jp_fetch, "GET", "backends")
    by_name = {one["name"]: one for one in result["backends"]}
    assert by_name["pai"]["title"] == "Alibaba Cloud PAI"
    assert "paid" in by_name["pai"]["capabilities"]
    spot = by_name["pai"]["options"]["properties"]["spot"]
    inner = next(one for one in spot["anyOf"] if "properties" in one)
    assert inner["properties"]["strategy"]["enum"] == ["SpotWithPriceLimit", "SpotAsPriceGo"]
    assert "region_id" in by_name["pai"]["settings"]["properties"]
    assert "container" in by_name["local"]["options"]["properties"]
    text = json.dumps(result)
    assert "$ref" not in text
    assert "$defs" not in text
    for schema in [result["spec"], *(one["settings"] for one in result["backends"])]:
        jsonschema.Draft202012Validator.check_schema(schema)
        for name, field in schema["properties"].items():
            assert field["title"], name
    jsonschema.validate({"name": "x", "command": "true", "cpu": 2}, result["spec"])


async def test_every_field_has_a_title_in_both_languages(jp_fetch: Any) -> None:
    """Each field has a title and, unless the title suffices, a description, also in Chinese."""
    reply = await jp_fetch("pai", "api", "v1", "backends", headers={"Accept-Language": "zh-CN"})
    result = json.loads(reply.body)
    for name, field in _fields({"spec": result["spec"], **{one["name"]: one for one in result["backends"]}}):
        words = f"{field['title']} {field.get('description', '')}"
        assert any("\u4e00" <= letter <= "\u9fff" for letter in words), f"{name}: {words}"


def _fields(node: object, place: str = "") -> list[tuple[str, dict[str, Any]]]:
    """All fields in schemas, by their places."""
    results: list[tuple[str, dict[str, Any]]] = []
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "properties":
                results += [(f"{place}.{name}", field) for name, field in value.items()]
            results += _fields(value, f"{place}.{key}")
    elif isinstance(node, list):
        for item in node:
            results += _fields(item, place)
    return results


FAULTS: list[tuple[dict[str, Any], list[str]]] = [
    ({"name": " x"}, ["name"]),
    ({"command": ""}, ["command"]),
    ({"cpu": 0, "gpu": "two"}, ["cpu", "gpu"]),
    ({"memory": "much"}, ["memory"]),
    ({"hyperparameters": {"a b": "1"}}, ["hyperparameters.a b"]),
    ({"inputs": {"train": "/none/at/all"}}, ["inputs.train"]),
    ({"inputs": {"a/b": "/tmp"}}, ["inputs.a/b"]),
    ({"outputs": {"model": "/dev/null/x"}}, ["outputs.model"]),
    ({"outputs": {"MODEL": "/tmp"}}, ["outputs.MODEL"]),
    ({"output_path": "/dev/null/x"}, ["output_path"]),
    ({"environment": {"A=": ""}}, ["environment.A="]),
    ({"secrets": {"TOKEN": "none"}}, ["secrets.TOKEN"]),
    ({"metric_definitions": [{"name": "l", "regex": "("}]}, ["metric_definitions.0.regex"]),
    ({"metric_definitions": [{"name": "l"}]}, ["metric_definitions.0.regex"]),
    ({"python": "/no/python"}, ["python"]),
    ({"profile": "none"}, ["profile"]),
    ({"instance_count": 65}, ["instance_count"]),
    ({"options": {"container": "lxc"}}, ["options.container"]),
    ({"options": {"contaner": "none"}}, ["options.contaner"]),
    ({"options": {"container": "auto"}}, ["options.container", "image"]),
    ({"source": {"folder": "relative"}}, ["source.folder"]),
    ({"source": {"folder": "/none/at/all"}}, ["source.folder"]),
    ({"source": {"files": {"../a": ""}}}, ["source.files"]),
    ({"source": {}, "command": "", "entry_point": "train.py"}, ["source"]),
    ({"imag": "x"}, ["imag"]),
]


@pytest.mark.slow("cases", first=12)
@pytest.mark.parametrize(("fields", "paths"), FAULTS, ids=",".join)
async def test_preview_names_invalid_fields(jp_fetch: Any, spec: dict[str, Any], fields: Any, paths: Any) -> None:
    for verb in ("preview", "jobs"):
        details = await refused(jp_fetch, verb, {"spec": spec | fields})
        assert sorted(details["faults"]) == sorted(paths)
        assert all(details["faults"].values())


async def test_preview_names_lines_with_secrets(jp_fetch: Any, spec: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "likely.py").write_text('\npassword = "' + "qZ7vK2mX9wLp4RtB8nYc" + '"\n')
    source = {"folder": str(folder)}
    body = {"spec": spec | {"source": source}}
    result = await ask(jp_fetch, "POST", "preview", body=body)
    leak = {"path": "likely.py", "line": 2, "cell": 0, "kind": "assignment", "what": KINDS["assignment"]}
    assert result["leaks"] == [leak]
    quick = await ask(jp_fetch, "POST", "preview", body=body, quick="true")
    assert (quick["leaks"], quick["files"], quick["bytes"]) == (None, result["files"], result["bytes"])
    os.utime(folder / "likely.py")
    (folder / "certain.py").write_text(f"{CERTAIN['aliyun'][0]}\n")
    details = await refused(jp_fetch, "preview", body)
    assert [(one["path"], one["line"]) for one in details["leaks"]] == [("certain.py", 1)]
    assert details["leaks"][0]["what"]
    assert details["faults"].keys() == {"source"}
    (folder / "certain.py").write_text("now it is gone\n")
    assert (await ask(jp_fetch, "POST", "preview", body=body))["leaks"] == [leak]


async def test_preview_lists_the_twenty_largest_files(jp_fetch: Any, spec: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "code"
    folder.mkdir()
    for n in range(30):
        (folder / f"{n}.txt").write_text("x" * n)
    result = await ask(jp_fetch, "POST", "preview", body={"spec": spec | {"source": {"folder": str(folder)}}})
    assert [one["bytes"] for one in result["biggest"]] == list(range(29, 9, -1))


async def test_form_is_converted_to_cell_and_json(jp_fetch: Any, project: Path) -> None:
    request = (await form(jp_fetch, "project/train.py", backend="local"))["request"]
    request["spec"] |= {"hyperparameters": {"lr": "0.1"}, "options": {"container": "none"}}
    written = await ask(jp_fetch, "POST", "recipe", body=request)
    assert (
        written["cell"]
        == f"%pai submit {project}/train.py --source {project} --hp lr=0.1 --container none --backend local"
    )
    assert json.loads(written["json"]) == request["spec"] | {"profile": "local"}


async def test_notebook_becomes_a_script_on_other_backends(jp_fetch: Any, project: Path) -> None:
    """The form requests a script, and so do all converted forms."""
    values = {
        "backend": "pai",
        "region_id": "cn-hangzhou",
        "default_image": "i",
        "default_instance_type": "ecs.c6.large",
    }
    await ask(jp_fetch, "PUT", "profiles", "far", body={"values": values})
    request = (await form(jp_fetch, "project/study.ipynb", profile="far"))["request"]
    result = await ask(jp_fetch, "POST", "preview", body=request)
    assert result["command"] == "python study.py"
    assert "study.py" in result["notes"][-1] + result["notes"][0]
    details = await refused(jp_fetch, "preview", request | {"script_if_needed": False})
    assert details["faults"].keys() == {"entry_point"}
    here = await ask(jp_fetch, "POST", "preview", body=request | {"spec": request["spec"] | {"profile": "local"}})
    assert here["spec"]["entry_point"] == "study.ipynb"
    written = await ask(jp_fetch, "POST", "recipe", body=request)
    assert written["cell"].startswith(f"%pai submit {project}/study.ipynb ")
    spec = json.loads(written["json"])
    assert spec["source"]["files"] == {"study.py": "# [1]\nlr = 0.1\nprint(lr)\n"}
    assert (spec["entry_point"], spec["profile"]) == ("study.py", "far")


async def test_secret_in_a_field_is_reported_at_the_field(jp_fetch: Any, spec: dict[str, Any]) -> None:
    key = CERTAIN["github"][0]
    body = {"spec": spec | {"environment": {"B": key}, "labels": {"a": key}}}
    for verb in ("preview", "jobs"):
        details = await refused(jp_fetch, verb, body)
        assert details["faults"].keys() == {"environment.B", "labels.a"}
        assert key not in json.dumps(details)
    body = {"spec": spec | {"environment": {"DB_PASSWORD": "qZ7vK2mX9wLp4RtB8nYc", "WANDB_GIT_COMMIT": "4f" * 20}}}
    (note,) = [note for note in (await ask(jp_fetch, "POST", "preview", body=body))["notes"] if "DB_PASS" in note]
    assert note == "Possible secret in environment variable `DB_PASSWORD` (secret value)."
