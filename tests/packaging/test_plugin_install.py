"""A backend of another package: built, installed and used, without code for it in jupyter-pai."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from jupyter_pai.jobs.state_dir import Home

from ..conftest import script, until
from ..integration.notebook.test_form_widget import FormPage, value
from ..integration.notebook.test_job_widget import Kernel
from ..integration.server.real_server import RealServer
from ..support import example_plugin

Cli = Callable[..., subprocess.CompletedProcess[str]]


def python(*words: str, **options: Any) -> str:
    done: subprocess.CompletedProcess[str] = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs started from now on have the plug-in installed."""
    monkeypatch.setenv("PYTHONPATH", str(example_plugin.site()))


@pytest.fixture
def shared(tmp_path: Path, installed: None) -> Iterator[Path]:
    """A folder with a running example daemon."""
    with example_plugin.running_daemon(tmp_path / "shared") as folder:
        yield folder


@pytest.fixture
def den(shared: Path, cli: Cli, folder: Path) -> Cli:
    """The command line, with a profile `den` for the example plug-in, and a script to submit."""
    script(
        folder,
        """
        import os, pathlib
        from jupyter_pai import report
        print("rate is", os.environ["PAI_HPS_RATE"])
        for step in range(3):
            report.metric("loss", 1 / (step + 1), step=step)
        print("data:", pathlib.Path(os.environ["PAI_INPUT_TRAIN"]).read_text())
        pathlib.Path(os.environ["PAI_OUTPUT_MODEL"], "model.txt").write_text("trained")
        """,
    )
    (folder / "data.txt").write_text("seven")
    made = cli("profile", "set", "den", "backend=neighbour", f"folder={shared}")
    assert made.returncode == 0, made.stderr
    return cli


@pytest.mark.slow("environment")
@pytest.mark.timeout(900)  # It runs 168 tests, which takes minutes on a loaded machine.
def test_plugin_passes_its_conformance_tests(installed: None, tmp_path: Path) -> None:
    """Run its tests in a folder without our files."""
    shutil.copy(example_plugin.EXAMPLE / "test_neighbour.py", tmp_path)
    reply = python("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_neighbour.py", cwd=tmp_path)
    assert " passed" in reply
    assert "skipped" not in reply


@pytest.mark.slow("environment")
def test_command_line_logs_in(installed: None, cli: Cli, tmp_path: Path) -> None:
    password = "it rains " + "in the den"
    with example_plugin.running_daemon(tmp_path / "shared", "--user", "ada", NEIGHBOUR_PASSWORD=password) as folder:
        assert cli("profile", "set", "den", "backend=neighbour", f"folder={folder}").returncode == 0
        refused = cli("instances", "--profile", "den")
        assert (refused.returncode, "profile login" in refused.stderr) == (2, True)
        wrong = cli("profile", "login", "den", stdin=None, input="ada\nit snows\n")
        assert (wrong.returncode, "not the user's password" in wrong.stderr) == (2, True)
        assert "it snows" not in wrong.stdout + wrong.stderr
        done = cli("profile", "login", "den", stdin=None, input=f"ada\n{password}\n")
        assert done.returncode == 0, done.stderr
        assert "local" in cli("instances", "--profile", "den").stdout
        (folder / "shelves/data").mkdir(parents=True)
        assert cli("ls", "neighbour://data/", "--profile", "den").returncode == 0
    with example_plugin.running_daemon(folder, "--user", "ada", NEIGHBOUR_PASSWORD=password):
        revoked = cli("instances", "--profile", "den")
        assert (revoked.returncode, "Log in again: jupyter pai profile login" in revoked.stderr) == (2, True)


@pytest.mark.slow("environment")
def test_command_line_uses_the_plugin(den: Cli, shared: Path, folder: Path) -> None:
    assert "neighbour" in den("profile", "list").stdout
    assert "local" in den("instances", "--profile", "den").stdout
    doctor = den("doctor", "--profile", "den")
    assert doctor.returncode == 0, doctor.stdout
    assert "instance types" in doctor.stdout
    words = ("train.py", "--backend", "neighbour", "--hp", "rate=0.5", "--input")
    copied = den("submit", *words, "train=data.txt", "--wait")
    assert copied.returncode == 0, copied.stdout + copied.stderr
    assert "data: seven" in den("logs", "last").stdout
    assert den("delete", "last", "--yes").returncode == 0
    assert den("put", "data.txt", "neighbour://data/").returncode == 0
    done = den("submit", *words, "train=neighbour://data/data.txt", "--wait")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rate is 0.5" in done.stdout
    assert "data: seven" in den("logs", "last").stdout
    assert "model.txt" in den("outputs", "last", "model").stdout
    assert den("download", "last", "model", "here").returncode == 0
    assert (folder / "here/model.txt").read_text() == "trained"
    assert json.loads(den("metrics", "last", "--json").stdout)["loss"]
    result = json.loads(den("show", "last", "--json").stdout)
    assert (result["backend"], result["profile"], result["status"]) == ("neighbour", "den", "succeeded")
    deleted = den("delete", "last", "--yes")
    assert f"cannot delete jobs, and keeps: {result['id']}" in deleted.stdout
    assert json.loads(den("list", "--json").stdout) == []
    assert (shared / "home/jobs" / result["id"]).exists()


@pytest.mark.slow("environment")
def test_plugin_storage_is_available_to_all_profiles(den: Cli, folder: Path) -> None:
    assert den("put", "data.txt", "neighbour://data/raw/").returncode == 0
    assert "data.txt" in den("ls", "neighbour://data/raw/").stdout
    assert den("get", "neighbour://data/raw/data.txt", "back").returncode == 0
    assert (folder / "back/data.txt").read_text() == "seven"
    for profile in ("den", "local"):
        words = ("train.py", "--profile", profile, "--hp", "rate=1", "--input", "train=neighbour://data/raw/data.txt")
        done = den("submit", *words, "--wait")
        assert "data: seven" in done.stdout, done.stderr
    assert den("rm", "neighbour://data/raw/data.txt", "--yes").returncode == 0
    missing = den("submit", *words)
    assert missing.returncode == 2
    assert "neighbour://data/raw/data.txt does not exist" in missing.stderr


def test_storage_without_a_profile_names_its_backend(installed: None, cli: Cli) -> None:
    refused = cli("ls", "neighbour://data/")
    assert refused.returncode == 2
    assert "profile set NAME backend=neighbour" in refused.stderr


def test_plugin_errors_are_reported_with_a_fix(den: Cli, tmp_path: Path) -> None:
    refused = den("submit", "train.py", "--profile", "den", "--input", "train=oss://x/y", "--hp", "rate=1")
    assert refused.returncode == 2
    assert "a neighbour reads nothing from oss://x/y" in refused.stderr
    wrong = den("profile", "set", "other", "backend=neighbour", "folder=here")
    assert wrong.returncode == 2
    assert "`here` is not an absolute path" in wrong.stderr
    assert den("profile", "set", "far", "backend=neighbour", f"folder={tmp_path}/nobody").returncode == 0
    alone = den("submit", "--profile", "far", "--command", "true")
    assert alone.returncode != 0
    assert "Nobody is working" in alone.stderr
    assert "Traceback" not in alone.stderr


@pytest.mark.slow("environment")
def test_python_uses_the_plugin(den: Cli, folder: Path, shared: Path) -> None:
    shutil.copy(folder / "data.txt", shared / "data.txt")
    code = f"""
        import os, jupyter_pai
        job = jupyter_pai.submit(
            name="x", entry_point="train.py", source={{"folder": os.getcwd()}}, profile="den",
            hyperparameters={{"rate": 2}}, inputs={{"train": "{shared}/data.txt"}},
        )
        print(job.wait().status, "rate is 2" in job.logs(), sorted(job.outputs))
        job.download("model", "here")
    """
    assert "succeeded True" in python("-c", dedent(code), cwd=folder)
    assert (folder / "here/model.txt").read_text() == "trained"


@pytest.mark.slow("environment")
def test_magic_uses_the_plugin(shared: Path, folder: Path, home: Home) -> None:
    (folder / "train.py").write_text("print('there')")
    code = f"""
        from IPython.core.interactiveshell import InteractiveShell
        shell = InteractiveShell.instance()
        shell.run_line_magic("load_ext", "jupyter_pai")
        shell.run_line_magic("pai", "profile set den backend=neighbour folder={shared}")
        shell.run_line_magic("pai", "submit train.py --profile den --wait")
    """
    assert "there\n" in python("-c", dedent(code), cwd=folder)


@pytest.mark.slow("environment")
def test_notebook_form_shows_plugin_options(den: Cli, folder: Path) -> None:
    (folder / "nice.py").write_text("import os\nprint('nice', os.nice(0))")
    kernel = Kernel(folder)
    try:
        page = FormPage(kernel, kernel.run("%load_ext jupyter_pai\nform = %pai form nice.py --profile den\nform"))
        (neighbour,) = (one for one in page.call("backends")["value"]["backends"] if one["name"] == "neighbour")
        field = neighbour["options"]["properties"]["nice"]
        assert field["title"] == "Niceness"
        assert "stands back" in field["description"]
        page.edit(options={"nice": 20})
        assert "must be 19 or less" in page.call("preview")["details"]["faults"]["options.nice"]
        page.edit(options={"nice": 7})
        assert page.call("submit")["type"] == "result"
        kernel.run("job = form.job.wait()")
        assert value(kernel, "job.logs()") == f"nice {os.nice(0) + 7}\n"
        spec = value(kernel, "job.spec")
        assert (spec["profile"], spec["options"]) == ("den", {"nice": 7})
    finally:
        kernel.stop()


@pytest.mark.slow("environment")
def test_rest_api_lists_the_plugin(den: Cli, folder: Path) -> None:
    assert den("put", "data.txt", "neighbour://data/").returncode == 0
    server = RealServer(folder)
    try:
        about = server.rest("GET", "/pai/api/v1")
        assert "neighbour" in about["backends"]
        profiles = server.rest("GET", "/pai/api/v1/profiles")["profiles"]
        assert "neighbour" in {profile["settings"].get("backend") for profile in profiles}
        (kind,) = (one for one in server.rest("GET", "/pai/api/v1/backends")["backends"] if one["name"] == "neighbour")
        assert (kind["title"], [*kind["credentials"]["properties"]]) == ("A neighbour", ["user", "password"])
        assert kind["settings"]["properties"]["folder"]["title"] == "Shared folder"
        assert kind["settings"]["required"] == ["backend", "folder"]
        assert (kind["options"]["properties"]["nice"]["title"], kind["options"]["additionalProperties"]) == (
            "Niceness",
            False,
        )
        roots = server.rest("GET", "/pai/api/v1/storages")["storages"]
        assert [one["uri"] for one in roots if one["scheme"] == "neighbour"] == ["neighbour://data/"]
        spec = {"name": "x", "command": "echo there", "profile": "den", "source": {"files": {"a": ""}}}
        job = server.rest("POST", "/pai/api/v1/jobs", {"spec": spec})["job"]
        path = f"/pai/api/v1/jobs/{job['id']}"
        until(lambda: server.rest("GET", path)["status"] == "succeeded")
        assert server.rest("GET", "/pai/api/v1/remote-jobs?profile=den")["jobs"][0]["job_id"] == job["id"]
    finally:
        server.kill()


BROKEN = {
    "absent": ("import nothing_of_this_name\nclass Kind: pass", "nothing_of_this_name"),
    "unfinished": (
        "from jupyter_pai.backends.base import Backend\nclass Kind(Backend):\n    name = 'unfinished'",
        "missing methods: check, examine",
    ),
    "thief": (
        "from jupyter_pai.backends.local.backend import LocalBackend as Kind",
        "the name `local` is already in use",
    ),
    "other": ("Kind = 7", "not a subclass of Backend"),
}


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize("name", BROKEN)
def test_broken_plugin_is_named_and_isolated(
    name: str, cli: Cli, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, what = BROKEN[name]
    place = tmp_path / "site"
    about = place / f"{name}-1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (about / "entry_points.txt").write_text(f"[jupyter_pai.backends]\n{name} = plugin_{name}:Kind\n")
    (place / f"plugin_{name}.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", str(place))
    doctor = cli("doctor", "--json")
    (finding,) = [one for one in json.loads(doctor.stdout) if one["what"] == "plug-in"]
    assert finding["state"] == "warn"
    assert f"{name}: plugin_{name}:Kind: " in finding["text"]
    assert what in finding["text"]
    assert f"pip uninstall {name}" in finding["fix"]
    script(folder, "print('runs')")
    done = cli("submit", "train.py", "--wait")
    assert (done.returncode, "runs\n" in done.stdout) == (0, True), done.stderr


@pytest.mark.slow("environment")
def test_profile_of_a_removed_plugin_has_a_fix(den: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert den("submit", "--profile", "den", "--command", "echo there", "--wait").returncode == 0
    monkeypatch.delenv("PYTHONPATH")
    refused = den("submit", "--profile", "den", "--command", "true")
    assert refused.returncode == 2
    assert "line 2: Profile `den` has an unknown backend `neighbour`." in refused.stderr
    assert "install" in refused.stderr
    assert "den" in den("list").stdout
    assert "there" in den("logs", "last").stdout
    assert den("profile", "remove", "den").returncode == 0
    assert den("submit", "train.py", "--dry-run").returncode == 0


@pytest.mark.slow("environment")
def test_discovered_plugin_needs_no_settings(
    shared: Path, cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEIGHBOUR_FOLDER", str(shared))
    script(folder, "print('there')")
    done = cli("submit", "--backend", "neighbour", "train.py", "--wait")
    assert (done.returncode, "there\n" in done.stdout) == (0, True), done.stderr
    assert len(list((shared / "home/jobs").iterdir())) == 1
