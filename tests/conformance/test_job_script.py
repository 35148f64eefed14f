"""The job script gives a command its whole contract: bare in several shells, as another user, in small containers."""

from __future__ import annotations

import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.backends.local.supervisor import namespaces
from jupyter_pai.backends.runtime.job_script import KeptFiles, Site, build
from jupyter_pai.jobs.job import Job, JobStatus, now
from jupyter_pai.jobs.spec import parse_spec

from ..conftest import NO_ML, PATIENCE, ROOT, allows
from ..integration.local.test_job_packages import TINY, make_wheel
from ..support import containers, node_scripts

SEEDS = ROOT / "tests/integration/sdk/code"
# Programs of the smallest container, and those of one for Python scripts.
SMALLEST = ["/bin/sh", "/bin/tar", "/bin/gzip", "/bin/mkdir", "/bin/ln"]
FURTHER = [
    "/bin/cat",
    "/bin/sleep",
    "/usr/bin/base64",
    "/usr/bin/mktemp",
    "/usr/bin/setsid",
    "/bin/ls",
    "/usr/bin/readlink",
]
# Another user may not have the permission to read this environment.
OWN = ["dash", "bash", "container"]
KINDS = [*OWN, "user"]


@dataclass(frozen=True)
class Machine:
    """A way to run scripts. `shared`: a folder with the same path in the script; `mounts`: further ones."""

    kind: str
    shared: Path
    programs: Sequence[str] = (*SMALLEST, *FURTHER)
    mounts: tuple[str, ...] = ()

    @property
    def site(self) -> Site:
        """The place of a job whose outputs stay in the shared folder."""
        return Site(in_container=self.kind == "container", outputs=str(self.shared / "outputs"))

    def start(self, script: str, path: str = "") -> subprocess.Popen[str]:
        environment = {"PATH": path or os.environ["PATH"], "TMPDIR": str(self.shared), "LANG": "C.UTF-8"}
        words = [f"/bin/{self.kind}", "-c", script]
        if self.kind == "user":
            words = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "/bin/sh", "-c", script]
        if self.kind == "container":
            environment = dict(os.environ)
            mounts = [f"--volume={folder}:{folder}" for folder in (str(self.shared), *self.mounts)]
            words = ["podman", "run", "--rm", *mounts, f"--env=PATH={path or '/bin:/usr/bin'}"]
            # Podman copies two streams, and their lines can change places.
            words += [image(self.programs), "/bin/sh", "-c", f"exec 2>&1\n{script}"]
        pipe = subprocess.PIPE
        return subprocess.Popen(words, env=environment, cwd="/", stdout=pipe, stderr=subprocess.STDOUT, text=True)

    def run(self, script: str, path: str = "") -> tuple[int, str]:
        """Run a script, and return its exit code and output."""
        process = self.start(script, path)
        output = process.communicate(timeout=PATIENCE)[0]
        return process.returncode, output


def image(programs: Sequence[str]) -> str:
    """Return the name of an image with these programs only, which is created at first."""
    name = f"localhost/job-script-{abs(hash(tuple(programs))):x}:1"
    if subprocess.run(["podman", "image", "exists", name], check=False).returncode:
        with tempfile.TemporaryDirectory() as folder:
            archive = containers.program_archive(Path(folder), programs)
            subprocess.run(["podman", "import", "-q", str(archive), name], check=True, capture_output=True)
    return name


@pytest.fixture(scope="module")
def storage() -> Iterator[None]:
    with containers.empty_storage():
        yield


@pytest.fixture(params=KINDS)
def machine(request: pytest.FixtureRequest) -> Iterator[Machine]:
    if request.param == "user" and os.getuid() != 0:
        pytest.skip("only root can become another user")
    if request.param == "container":
        request.getfixturevalue("storage")
    elif not allows(namespaces.MOUNTS):
        pytest.skip(NO_ML)
    with tempfile.TemporaryDirectory(prefix="job script ") as name:
        if request.param == "user":
            os.chown(name, 1000, 1000)
        yield Machine(request.param, Path(name))


@pytest.fixture
def container(storage: None) -> Iterator[Machine]:
    with tempfile.TemporaryDirectory(prefix="job script ") as name:
        yield Machine("container", Path(name))


def packed(files: dict[str, str]) -> bytes:
    """Return an archive of files."""
    data = BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(text.encode()), 315532800
            archive.addfile(member, BytesIO(text.encode()))
    return data.getvalue()


def job(command: str = "", **fields: Any) -> Job:
    spec = parse_spec({"name": "x", "command": command, "source": {"files": {"a.txt": ""}}} | fields)
    return Job(
        id="j1", spec=spec, backend="x", profile="x", status=JobStatus.STARTING, submitted_at=now(), source_files=1
    )


def script(one: Job, place: Site, **options: Any) -> str:
    return build(one, place, **options)


def reports(output: str) -> dict[str, Any]:
    """Return what the script wrote into the log: the exit code, and the output parameters by name."""
    lines = [json.loads(line[6:]) for line in output.splitlines() if line.startswith("[pai] ")]
    (code,) = [line["exit_code"] for line in lines if "exit_code" in line]
    return {"exit_code": code} | {line["output_parameter"]: line["value"] for line in lines if "value" in line}


def own(output: str) -> list[str]:
    """Return the lines of the command."""
    return [line for line in output.splitlines() if not line.startswith(("[pai] ", "[jupyter-pai] "))]


def test_roles_run_their_own_commands(machine: Machine) -> None:
    roles = [{"name": "ps", "command": 'echo "it\'s $JUPYTER_PAI_ROLE"; false'}, {"name": "worker", "count": 2}]
    one = job('echo "$JUPYTER_PAI_ROLE $JUPYTER_PAI_ROLE_RANK of $WORLD_SIZE"', roles=roles)
    expected = [(1, ["it's ps"]), (0, ["worker 0 of 3"]), (0, ["worker 1 of 3"])]
    for rank, end in enumerate(expected):
        code, output = machine.run(script(one, replace(machine.site, nodes={"RANK": str(rank)})))
        assert (code, own(output)) == end


@pytest.mark.parametrize("layout", ["usercode", "code"])
def test_script_is_run_by_its_interpreter(machine: Machine, layout: str) -> None:
    code = packed({"train": 'echo "$- $*"\n'})
    data = machine.shared / "data.csv"
    data.touch()
    one = job(entry_point="train", interpreter="/bin/sh -eu", args=["a b"], layout=layout, inputs={"one": "x://1"})
    done = machine.run(script(one, replace(machine.site, code=code, inputs={"one": str(data)})))
    passed = f"--one /ml/input/data/one/{data.name} " if layout == "code" else ""
    assert done[0] == 0, done[1]
    (line,) = own(done[1])
    assert {"e", "u"} <= set(line.partition(" ")[0])
    assert line.partition(" ")[2] == f"{passed}a b"


@pytest.mark.parametrize("form", ["document", "archive", "folder"])
def test_code_comes_by_each_way(machine: Machine, form: str) -> None:
    code = packed({"a.txt": "from the code\n", "sub/b 完.txt": "below\n"})
    place: bytes | str = code
    if form != "document":
        archive = machine.shared / "code's.tar.gz"
        archive.write_bytes(code)
        place = str(archive)
    if form == "folder":
        place = str(machine.shared / "the code")
        Path(place).mkdir()
        subprocess.run(["tar", "-xzf", str(archive), "-C", place], check=True)
    command = 'while read -r line; do echo "$line"; done <a.txt; read -r line <"sub/b 完.txt"; echo "$line"; pwd'
    done = machine.run(script(job(command), replace(machine.site, code=place)))
    assert (done[0], own(done[1])) == (0, ["from the code", "below", "/ml/usercode"])


def test_contract_is_complete(machine: Machine) -> None:
    data = machine.shared / "it's data"
    data.mkdir()
    (data / "rows.csv").write_text("rows\n")
    values = {"lr": "0.1", "note": 'it\'s "a"\nb $HOME `x`', "学习率": "1"}
    command = r"""
      echo "$PAI_HPS_LR|$PAI_HPS_NOTE|$GIVEN|$JUPYTER_PAI_JOB_ID|$RANK $WORLD_SIZE $MASTER_ADDR"
      echo "$PAI_WORKING_DIR $PAI_CONFIG_DIR $PAI_INPUT_TRAIN $PAI_INPUT_ALL $PAI_OUTPUT_MODEL $PAI_OUTPUT_LOGS"
      read -r line <"$PAI_INPUT_TRAIN"; read -r other <"${PAI_INPUT_ALL}rows.csv"; echo "$line $other"
      while IFS= read -r line; do printf '%s\n' "$line"; done </ml/input/config/hyperparameters.json; echo "}"
      echo m >/ml/output/model/m; echo t >"${PAI_OUTPUT_LOGS}t"; echo e >"${PAI_OUTPUT_EXTRA}e"; echo w >written
    """
    one = job(
        command, hyperparameters=values, environment={"GIVEN": "a  b'"}, outputs={"extra": "x://extra"},
        inputs={"train": "x://1", "all": "x://2"},
    )  # fmt: skip
    place = replace(
        machine.site,
        inputs={"train": str(data / "rows.csv"), "all": str(data)},
        nodes={"MASTER_ADDR": "${NODE:-first}"},
        channels={"extra": str(machine.shared / "extra")},
    )
    code, output = machine.run(script(one, place))
    lines = "\n".join(own(output))
    assert code == 0, output
    assert f"0.1|{values['note']}|a  b'|j1|0 1 first" in lines
    paths = "/ml/usercode/ /ml/input/config/ /ml/input/data/train/rows.csv /ml/input/data/all/ /ml/output/model/"
    assert f"{paths} /ml/output/tensorboard/\nrows rows\n" in lines
    assert json.loads(lines[lines.index("{") :]) == values
    outputs = {
        path.relative_to(machine.shared): path.read_text() for path in machine.shared.rglob("*") if _is_new(path)
    }
    assert {str(path): text for path, text in outputs.items()} == {
        "outputs/model/m": "m\n", "outputs/tensorboard/t": "t\n", "extra/e": "e\n", "outputs/files/written": "w\n"
    }  # fmt: skip
    assert ("private mount" in output) == (machine.kind != "container")


def _is_new(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and path.name != "rows.csv" and "logs" not in path.parts


def test_failure_keeps_outputs_and_exit_code(machine: Machine) -> None:
    command = "echo 1 >/ml/output/model/m; ln -s /ml/output/model/m /ml/output/model/last; echo 2 >new; "
    command += "mkdir -p /ml/output/output_parameters; exit 9"
    code, output = machine.run(script(job(command), machine.site))
    assert (code, reports(output)) == (9, {"exit_code": 9})
    assert (machine.shared / "outputs/model/last").read_text() == "1\n"
    assert (machine.shared / "outputs/files/new").read_text() == "2\n"


def test_stop_reaches_the_processes_and_keeps_outputs(machine: Machine) -> None:
    """TERM reaches a child of the command's shell, whose end the script waits for."""
    command = """echo 1 >new; (trap 'echo 2 >>/ml/output/model/m; exit 3' TERM; echo began; while :; do sleep 0.1; done)
    echo "$?"; exit 5"""
    process = machine.start(script(job(command), machine.site))
    assert process.stdout
    while "began" not in (line := process.stdout.readline()):
        assert line
    if machine.kind == "container":
        (name,) = subprocess.run(
            ["podman", "ps", "-q", "--no-trunc"], check=True, capture_output=True, text=True
        ).stdout.split()
        subprocess.run(["podman", "kill", "--signal=TERM", name], check=True, capture_output=True)
    else:
        process.send_signal(signal.SIGTERM)
    output = process.communicate(timeout=PATIENCE)[0]
    assert process.returncode in (5, 143), output
    assert reports(output) == {"exit_code": process.returncode}
    assert (machine.shared / "outputs/model/m").read_text() == "2\n"
    assert (machine.shared / "outputs/files/new").read_text() == "1\n"


def test_output_parameters_are_reported(machine: Machine) -> None:
    values = {"accuracy": "0.9", "text": 'it\'s "a"\\b\n\ttab\n', "完 x": "ü\r", "empty": "", "back\\slash": "\\n"}
    folder = machine.shared / "outputs/output_parameters"
    folder.mkdir(parents=True)
    for name, text in values.items():
        (folder / name).write_text(text, newline="")
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "large").write_text("x" * 64_001)
    if machine.kind == "user":
        shutil.chown(machine.shared / "outputs", 1000)
    code, output = machine.run(script(job("true"), machine.site))
    assert (code, reports(output)) == (0, {"exit_code": 0} | values)


def test_inputs_are_fetched(machine: Machine) -> None:
    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_words: object) -> None:
            pass

    (machine.shared / "rows 1.csv").write_text("fetched\n")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(machine.shared))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/rows%201.csv?signature=a&b"
        place = replace(machine.site, inputs={"train": address})
        command = 'echo "$PAI_INPUT_TRAIN"; read -r line <"$PAI_INPUT_TRAIN"; echo "$line"'
        code, output = machine.run(script(job(command, inputs={"train": "x://1"}), place))
        server.shutdown()
    if machine.kind == "container":  # It has no program for this.
        assert (code, output.splitlines()[-1]) == (
            125, "[jupyter-pai] Cannot fetch the input. The image needs `curl`, `wget` or Python."
        )  # fmt: skip
    else:
        assert (code, own(output)) == (0, ["/ml/input/data/train/rows 1.csv", "fetched"])


def test_inputs_from_the_folder_of_the_code_are_at_their_own_paths(machine: Machine, tmp_path: Path) -> None:
    """A path of the code is kept. `rows` and `own` are on this machine, and their copies on the platform."""
    data = machine.shared / "own"
    folders = [tmp_path / "code/data/rows", data]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "a b.csv").write_text("rows\n")
    given = {"rows": str(folders[0]), "one": f"{folders[0]}/a b.csv", "kept": str(tmp_path / "code/a.txt")}
    one = job(
        "cat 'data/rows/a b.csv' a.txt; [ -h data/rows ] && echo link",
        inputs=given,
        source={"folder": str(tmp_path / "code"), "files": {"a.txt": ""}},
    )
    places = {"rows": f"{data}/", "one": f"{data}/a b.csv", "kept": f"{data}/a b.csv"}
    place = replace(machine.site, code=packed({"a.txt": "code\n"}), inputs=places)
    code, output = machine.run(script(one, place))
    assert (code, own(output)) == (0, ["rows", "code", "link"])


def test_missing_input_is_named(machine: Machine) -> None:
    place = replace(machine.site, inputs={"train": "/is/not/there"})
    code, output = machine.run(script(job("true", inputs={"train": "x://1"}), place))
    assert (code, output.splitlines()[-1]) == (125, "[jupyter-pai] Cannot get the input: train: /is/not/there")


def test_command_ends_at_its_limit(machine: Machine) -> None:
    """Its output after the signal is kept, as are its files. A command that ends before is not affected."""
    command = "trap 'echo ended; exit 0' TERM; echo r >r; while :; do sleep 0.1; done"
    code, output = machine.run(script(job(command), replace(machine.site, limit=3)))
    assert (code, own(output)[-1]) == (124, "ended")
    assert '[pai] {"failure": "Stopped: the maximum run time was reached.", "cell": 0}' in output.splitlines()
    assert '[pai] {"exit_code": 124}' in output.splitlines()
    assert (machine.shared / "outputs/files/r").exists()
    code, output = machine.run(script(job("exit 3"), replace(machine.site, limit=600)))
    assert (code, "maximum run time" in output) == (3, False)


def test_copied_folder_needs_no_slash(machine: Machine) -> None:
    for name in ("folder", "file"):
        (machine.shared / name).mkdir()
        (machine.shared / name / "row").write_text("1")
    inputs = {"train": str(machine.shared / "folder/data"), "test": str(machine.shared / "file/row")}
    place = replace(machine.site, inputs=inputs, copied=True)
    command = 'echo "$PAI_INPUT_TRAIN $PAI_INPUT_TEST"; ls "$PAI_INPUT_TRAIN"'
    code, output = machine.run(script(job(command, inputs={"train": "x://1", "test": "x://2"}), place))
    assert (code, own(output)) == (0, ["/ml/input/data/train/ /ml/input/data/test/row", "row"])


def test_setup_runs_in_the_folder_of_the_code(machine: Machine) -> None:
    place = replace(machine.site, code=packed({"a.txt": "x"}), setup="echo ready >>a.txt; MINE=1; export MINE\n")
    code, output = machine.run(script(job('cat a.txt; echo; echo "$MINE"'), place))
    assert (code, own(output)) == (0, ["xready", "", "1"])


def test_instances_have_folders_of_their_own(machine: Machine) -> None:
    """Each rank has its own code; the variables are those of the platform."""
    one = job('echo "$RANK of $WORLD_SIZE at $MASTER_ADDR:$MASTER_PORT"; echo r >r', instance_count=2)
    nodes = {"RANK": "$((NUMBER - 1))", "WORLD_SIZE": "$COUNT", "MASTER_ADDR": "node1", "MASTER_PORT": "1234"}
    for rank in range(2):
        text = f"NUMBER={rank + 1} COUNT=2\n" + script(one, replace(machine.site, nodes=nodes))
        code, output = machine.run(text)
        assert (code, own(output)) == (0, [f"{rank} of 2 at node1:1234"])
        assert ("exit_code" in output) == (rank == 0)
    assert (machine.shared / "outputs/files/r").exists()
    assert (machine.shared / "outputs/files/worker-1/r").exists()


def test_names_of_tione_lead_to_the_same_folders(machine: Machine) -> None:
    (machine.shared / "rows.csv").write_text("rows\n")
    command = """
      read -r line </opt/ml/input/data/train/rows.csv; read -r code </opt/ml/code/a.txt; echo "$line $code"
      echo w >/opt/ml/model/w; echo o >/opt/ml/output/o; [ -e /opt/ml/input/config/hyperparameters.json ] && echo there
    """
    place = replace(machine.site, code=packed({"a.txt": "code\n"}), inputs={"train": str(machine.shared / "rows.csv")})
    code, output = machine.run(script(job(command, inputs={"train": "x://1"}), place))
    assert (code, own(output)) == (0, ["rows code", "there"])
    assert (machine.shared / "outputs/model/w").read_text() == "w\n"
    assert (machine.shared / "outputs/o").read_text() == "o\n"


def test_folders_of_the_platform_stay(container: Machine) -> None:
    """Only missing names are added."""
    before = "mkdir -p /opt/ml/model; echo own >/opt/ml/model/own; ln -s /nowhere /opt/ml/input\n"
    command = (
        'read -r line </opt/ml/model/own; echo "$line"; ls /opt/ml; read -r line </opt/ml/code/a.txt; echo "$line"'
    )
    code, output = container.run(
        before + script(job(command), replace(container.site, code=packed({"a.txt": "code\n"})))
    )
    assert (code, own(output)) == (0, ["own", "code", "input", "model", "output", "code"])


TELL_NODES = 'echo "$INDEX of $NODE_NUM, $GPU_NUM_PER_NODE of $GPU_NUM, $CHIEF_IP in ${NODE_LIST-none}"'


@pytest.mark.parametrize(
    ("place", "spec", "expected"),
    [
        (Site(), {}, "0 of 1, 1 of 1, 127.0.0.1 in 127.0.0.1:1"),
        (Site(), {"gpu": 2}, "0 of 1, 2 of 2, 127.0.0.1 in 127.0.0.1:2"),
        (Site(nodes={"RANK": "1"}), {"instance_count": 2}, "1 of 2, 1 of 2, 127.0.0.1 in none"),
        (
            Site(nodes={"RANK": "2", "MASTER_ADDR": "a"}, hosts="a b\n c"),
            {"roles": [{"name": "ps", "gpu": 0}, {"name": "worker", "count": 2, "gpu": 4}]},
            "2 of 3, 4 of 8, a in a:0,b:4,c:4",
        ),
        (
            Site(nodes={"RANK": "0"}, hosts="a b c"),
            {"roles": [{"name": "ps", "gpu": 0}, {"name": "worker", "count": 2}]},
            "0 of 3, 0 of 2, 127.0.0.1 in a:0,b:1,c:1",
        ),
    ],
    ids=["one", "gpus", "unknown", "roles", "visible"],
)
@pytest.mark.parametrize("kind", ["dash", "bash"])
def test_nodes_have_the_names_of_tione(
    tmp_path: Path, kind: str, place: Site, spec: dict[str, Any], expected: str
) -> None:
    text = "export CUDA_VISIBLE_DEVICES=7\n" + build(job(TELL_NODES, **spec), place)
    code, output = Machine(kind, tmp_path).run(text)
    assert (code, own(output)) == (0, [expected])


@pytest.mark.parametrize("devices", ["", "-1", "NoDevFiles", "GPU-1f,MIG-2", "0,1"])
def test_gpus_are_those_that_cuda_sees(machine: Machine, devices: str) -> None:
    text = f"export CUDA_VISIBLE_DEVICES={devices}\n" + script(job(TELL_NODES), machine.site)
    n = 2 if "," in devices else 0
    code, output = machine.run(text)
    assert (code, own(output)) == (0, [f"0 of 1, {n} of {n}, 127.0.0.1 in 127.0.0.1:{n}"])


def test_variables_of_the_platform_stay(machine: Machine) -> None:
    set_before = "NODE_NUM=2 INDEX=1 GPU_NUM_PER_NODE=8 GPU_NUM=16 CHIEF_IP=x NODE_LIST=x:8,y:8"
    text = f"export {set_before}\n" + script(job(TELL_NODES), machine.site)
    code, output = machine.run(text)
    assert (code, own(output)) == (0, ["1 of 2, 8 of 16, x in x:8,y:8"])


@pytest.mark.parametrize("machine", OWN, indirect=True)
def test_nodes_exchange_data(machine: Machine) -> None:
    """The start script of a lesson in TI-ONE runs as two nodes. The code has a small launcher in place of PyTorch's."""
    (machine.shared / "rows.csv").write_text("100")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        files = node_scripts.files(port=probe.getsockname()[1])
    one = job(
        "sh start_cloud.sh", instance_count=2, environment={"GPU_NUM_PER_NODE": "1"},
        inputs={"image_classify": "x://1"},
    )  # fmt: skip
    place = replace(
        machine.site, code=packed(files), inputs={"image_classify": str(machine.shared)}, hosts="127.0.0.1 127.0.0.1"
    )
    nodes = [
        with_python(machine).start(script(one, replace(place, nodes={"RANK": str(rank)})), os.environ["PATH"])
        for rank in range(2)
    ]
    outputs = [node.communicate(timeout=PATIENCE)[0] for node in nodes]
    for rank, output in enumerate(outputs):
        assert own(output) == [f"process {rank} of 2, model resnet50: total 300"], outputs
    assert (machine.shared / "outputs/model/1").read_text() == "300"


def test_instances_that_start_together_share_their_outputs(tmp_path: Path) -> None:
    """Another instance makes the alias of a channel between the look at it and its creation."""
    if not allows(namespaces.MOUNTS):
        pytest.skip(NO_ML)
    machine = Machine("dash", tmp_path)
    (tmp_path / "bin").mkdir()
    slow = tmp_path / "bin/ln"
    slow.write_text(f"""#!/bin/sh
case $* in *output/logs) [ -h {tmp_path}/outputs/logs ] || /bin/ln -s tensorboard {tmp_path}/outputs/logs ;; esac
exec /bin/ln "$@"
""")
    slow.chmod(0o755)
    code, output = machine.run(
        script(job("echo e >$PAI_OUTPUT_LOGS/e"), machine.site), f"{tmp_path}/bin:{os.environ['PATH']}"
    )
    assert code == 0, output
    assert [path.name for path in (tmp_path / "outputs/tensorboard").iterdir()] == ["e"]


@pytest.mark.parametrize("kind", ["dash", "bash"])
def test_variables_suffice_without_permission(kind: str, tmp_path: Path) -> None:
    """Without Python, and where mounts are not permitted, the variables name other folders, and the log says so."""
    programs = ["sh", "tar", "gzip", "mkdir", "ln", "mktemp", "rm", "sleep"]
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in programs:
        (folder / name).symlink_to(f"/bin/{name}")
    machine = Machine(kind, tmp_path)
    command = 'echo "$PAI_OUTPUT_MODEL"; echo m >"${PAI_OUTPUT_MODEL}m"; pwd'
    code, output = machine.run(script(job(command), machine.site), path=str(folder))
    assert code == 0, output
    assert "[jupyter-pai] No private /ml is possible on this machine: use the variables PAI_*." in output
    first, place = own(output)
    assert not first.startswith("/ml/")
    assert f"{place}/" == first.replace("output/model", "usercode")
    assert (tmp_path / "outputs/model/m").read_text() == "m\n"
    assert not list(tmp_path.glob("jupyter-pai.*")), "our own folder remains"


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        ("python train.py", "python"),
        ("cd . && bash run.sh", "bash"),
        ("curl -O x", "curl"),
        ("", "python"),
    ],
)
def test_smallest_image_names_what_it_lacks(container: Machine, command: str, missing: str) -> None:
    one = job(command, **({} if command else {"entry_point": "a.py", "source": {"files": {"a.py": "1"}}}))
    small = replace(container, programs=SMALLEST)
    code, output = small.run(script(one, small.site))
    assert (code, output.splitlines()[-1]) == (
        127, f"[jupyter-pai] The command was not found. The image does not have: {missing}"
    )  # fmt: skip


def test_smallest_image_without_tar(container: Machine) -> None:
    small = replace(container, programs=[name for name in SMALLEST if name not in ("/bin/tar", "/bin/gzip")])
    archive = container.shared / "code.tar.gz"
    archive.write_bytes(packed({"a.txt": "x"}))
    code, output = small.run(script(job("true"), replace(small.site, code=str(archive))))
    last = "[jupyter-pai] Cannot unpack the code. The image needs `sh`, and `tar` with `gzip`."
    assert (code, output.splitlines()[-1]) == (125, last)
    assert small.run(script(job("true"), small.site, kept=KeptFiles(0)))[0] == 0


def test_smallest_image_cannot_decode_or_install(container: Machine) -> None:
    small = replace(container, programs=SMALLEST)
    code, output = small.run(script(job("true"), replace(small.site, code=packed({"a.txt": "x"}))))
    last = "[jupyter-pai] Cannot decode the code. The image needs `base64` or Python."
    assert (code, output.splitlines()[-1]) == (125, last)
    code, output = small.run(script(job("true", requirements=["six"]), small.site))
    last = "[jupyter-pai] Cannot install the requirements. The image needs Python with pip."
    assert (code, output.splitlines()[-1]) == (125, last)


@pytest.mark.slow("cases", first=1)
def test_requirements_are_installed(machine: Machine) -> None:
    """Those of the spec take precedence over those of the code. The next job with the same ones installs nothing."""
    if machine.kind == "container":
        machine = with_python(machine)
    for version in ("1", "2"):
        make_wheel(machine.shared, version)
    options = f"--no-index --find-links '{machine.shared}'"
    code = packed({"requirements.txt": f"{options}\n{TINY}==1\n"})
    one = job(f"python -c 'import {TINY}; print({TINY}.version)'", requirements=[f"{TINY}==2"])
    place = replace(machine.site, code=code, environments=str(machine.shared / "environments"))
    outputs = [machine.run(script(one, place), path=os.environ["PATH"]) for _time in range(2)]
    assert [(code, own(output)[-1]) for code, output in outputs] == [(0, "2"), (0, "2")], outputs
    assert ["installing" in output for _code, output in outputs] == [True, False]


def with_python(machine: Machine) -> Machine:
    """Return a machine with the packages of this environment."""
    folders = {"/usr", "/lib", "/lib64", sys.base_prefix, sys.prefix, *filter(os.path.isdir, sys.path)} - {str(ROOT)}
    return replace(machine, mounts=tuple(sorted(folder for folder in folders if Path(folder).exists())))


def train(machine: Machine, one: Job, place: Site) -> str:
    """Run a job with the packages of this environment, and return its output."""
    code, output = with_python(machine).run(script(one, place), path=os.environ["PATH"])
    assert code == 0, output
    return output


@pytest.mark.slow("cases")
@pytest.mark.parametrize("machine", OWN, indirect=True)
def test_script_of_custom_job_trains(machine: Machine) -> None:
    """Its paths below /ml are fixed."""
    subprocess.run([sys.executable, str(SEEDS / "s1_074_iris.py")], cwd=machine.shared, check=True)
    one = job(
        entry_point="xgb_train.py", layout="code", hyperparameters={"n_estimators": 5},
        source={"files": {"xgb_train.py": "1"}}, inputs={"train_data": "x://1"},
    )  # fmt: skip
    code = packed({"xgb_train.py": (SEEDS / "xgb_train.py").read_text("utf-8")})
    inputs = {"train_data": str(machine.shared / "train.csv")}
    output = train(machine, one, replace(machine.site, code=code, inputs=inputs))
    assert 0.8 < float(reports(output)["test-accuracy"]) <= 1
    assert (machine.shared / "outputs/model/xgb_model").exists()


@pytest.mark.parametrize("machine", OWN, indirect=True)
def test_script_with_arguments_gets_its_hyperparameters(machine: Machine) -> None:
    code = packed({"train.py": (SEEDS / "s2_076_train.py").read_text("utf-8")})
    values = {"batch_size": 8, "training_method": "full"}
    one = job("python train.py $PAI_USER_ARGS", hyperparameters=values)
    assert own(train(machine, one, replace(machine.site, code=code))) == ["8", "0.01", "full"]
