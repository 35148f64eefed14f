"""Fixtures and helpers of all tests: a clean environment, state folders, engines, and a skip policy."""

from __future__ import annotations

import fcntl
import gc
import os
import pwd
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from jupyter_pai.backends.local import process
from jupyter_pai.backends.local.supervisor import namespaces
from jupyter_pai.client.base import Client
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.jobs.state_dir import Home

from .fakes.alibaba import StandIn, stand_in
from .fakes.webhdfs import WebHdfsServer, web_hdfs
from .support import forked_commands, own_environments
from .support.waiting import PATIENCE as PATIENCE, QUICK, until as until

if TYPE_CHECKING:
    from .support.slurm import SlurmCluster

ROOT = Path(__file__).parents[1]

# Variables of the machine that would affect tests.
_SCRUBBED = re.compile(
    r"PYTHON(?!HASHSEED)|PIP_|JUPYTER|JPY_|PAI_|ALIBABA|ALIYUN|OSS_|TENCENT|AWS_|.*_PROXY$|.*_proxy$|LC_|LANG|VIRTUAL_ENV"
)
for _name in [name for name in os.environ if _SCRUBBED.match(name)]:
    del os.environ[_name]
os.environ["LANG"] = "C.UTF-8"
# With a few cores, the threads of numpy spend more time on waiting for each other than on their work.
for _name in (_THREADS := ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")):
    os.environ[_name] = "1"
# A shell starts background processes with SIGINT ignored, which is inherited.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A loaded machine generates examples slowly.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")

# Resources made once per run, for all workers, which inherit the name.
_ONCE = "TESTS_MADE_ONCE"
_FIRST = _ONCE not in os.environ
if _FIRST:
    os.environ[_ONCE] = f"{tempfile.gettempdir()}/jupyter-pai-tests-{secrets.token_hex(8)}"
# A test that uses settings or state without the fixture `home` fails, instead of changing those of the developer.
for _name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_PAI_HOME"):
    os.environ[_name] = "/dev/null/without-home"
# After each test, pytest-jupyter makes an application of its own there.
os.environ["JUPYTER_RUNTIME_DIR"] = f"{os.environ[_ONCE]}/runtime"


def made_once(name: str, make: Callable[[Path], None]) -> Path:
    """Return a folder, readable by all users, that the workers of a run share. The first worker fills it with
    `make`."""
    folder = Path(os.environ[_ONCE], name)
    folder.parent.mkdir(mode=0o755, exist_ok=True)
    with open(f"{folder}.made", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.seek(0, os.SEEK_END)
        if not lock.tell():
            shutil.rmtree(folder, ignore_errors=True)  # Of an attempt that failed.
            folder.mkdir(mode=0o755)
            make(folder)
            lock.write("made")
    return folder


# Long files start first, so that no worker is idle at the end.
_LONG = (
    "packaging/test_binder",
    "packaging/test_demo",
    "fakes/test_official_sdk",
    "integration/server/test_killed_servers",
)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Let one worker compile the tests while the others wait for it."""
    # What is imported stays, and searching it for garbage takes time.
    gc.disable()
    if _FIRST:
        result = yield
    else:
        with open(f"{os.environ[_ONCE]}-collected", "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if lock.seek(0, os.SEEK_END):
                fcntl.flock(lock, fcntl.LOCK_UN)
            result = yield
            lock.write("once")
    gc.freeze()
    gc.enable()
    return result


@pytest.hookimpl(tryfirst=True)  # Before pytest deselects tests by their marks.
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    seen: Counter[str] = Counter()
    for item in items:
        for mark in item.iter_markers("slow"):
            test = item.nodeid.partition("[")[0]
            if seen[test] < mark.kwargs.get("first", 0):
                item.own_markers.remove(mark)
            seen[test] += 1
    items.sort(key=lambda item: not item.nodeid.removeprefix("tests/").startswith(_LONG))


# No failed test, so that a run in which tests failed and one was skipped is not forgiven by a second one.
_SKIPPED_WITHOUT_LEAVE = 10


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run if a test was skipped for a reason that is not allowed."""
    if _FIRST:
        shutil.rmtree(os.environ[_ONCE], ignore_errors=True)
        Path(f"{os.environ[_ONCE]}-collected").unlink(missing_ok=True)
    reporter: Any = session.config.pluginmanager.get_plugin("terminalreporter")
    allowed = [line.strip() for line in (ROOT / "tests/allowed_skips.txt").read_text("utf-8").splitlines()]
    allowed = [line for line in allowed if line and not line.startswith("#")]
    for report in reporter.stats.get("skipped", []) if reporter else []:
        reason = str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if not any(text in reason for text in allowed):
            reporter.write_line(f"SKIPPED WITHOUT LEAVE {report.nodeid}: {reason}", red=True)
            session.exitstatus = _SKIPPED_WITHOUT_LEAVE


def keep_below(place: Path, patch: pytest.MonkeyPatch) -> Home:
    """Keep the settings and Jupyter files of this process and its children below a folder."""
    for name in ("data", "config", "runtime"):
        patch.setenv(f"JUPYTER_{name.upper()}_DIR", str(place / f"jupyter-{name}"))
    patch.setenv("JUPYTER_PAI_HOME", str(place / "state"))
    # Nor the keyring of a developer's desktop.
    patch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    return Home(place / "state")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    """A state folder for one test."""
    own = keep_below(tmp_path, monkeypatch)
    yield own
    end_jobs(own)


def end_jobs(home: Home) -> None:
    """End the jobs of a test, which would occupy the machine during later tests."""
    jobs = {path.name for path in (home.path / "jobs").glob("*")}
    for pid, job_id in _job_processes():
        if job_id in jobs:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def allows(mode: str) -> bool:
    """Return whether the machine can run jobs in this mode. The best mode is first."""
    modes = [namespaces.PRIVATE, namespaces.MOUNTS, namespaces.PLAIN]
    return modes.index(mode) >= modes.index(process.machine_allows()[0])


NO_ML = "this machine gives jobs no /ml of their own"


@pytest.fixture
def private_ml() -> None:
    """Skip a test that uses paths below /ml if the machine has no private /ml."""
    if not allows(namespaces.MOUNTS):
        pytest.skip(NO_ML)


SystemFile = Callable[[str], Path]


@pytest.fixture
def system_path(home: Home, tmp_path: Path) -> Path:
    """The path of the administrator's settings file for engines of this process."""
    return tmp_path / "etc jupyter" / "jupyter_pai.toml"


@pytest.fixture
def system(system_path: Path) -> SystemFile:
    """Write the administrator's settings file for engines of this process. (`support.system_file` is for programs.)"""

    def write(text: str) -> Path:
        system_path.parent.mkdir(exist_ok=True)
        system_path.write_text(text)
        return system_path

    return write


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB."""
    if os.getuid() != 0:
        pytest.skip("only root can mount a file system")
    path = tmp_path / "small"
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(path)], check=True)
    yield path
    subprocess.run(["umount", "--lazy", str(path)], check=True)


@pytest.fixture
def engine(home: Home, system_path: Path) -> Iterator[EmbeddedClient]:
    """An engine that runs in this process."""
    client = EmbeddedClient(QUICK, system_path)
    yield client
    client.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder of code."""
    path = tmp_path / "code"
    path.mkdir()
    return path


@pytest.fixture
def user_data() -> Iterator[Path]:
    """A folder with the files `README.md`, `x.csv` and `docs/contract.md`, in the home folder: outside of `/tmp` and
    other folders of the system."""
    with tempfile.TemporaryDirectory(prefix=".jupyter-pai-test-", dir=pwd.getpwuid(os.getuid()).pw_dir) as path:
        (Path(path) / "docs").mkdir()
        for name in ("README.md", "x.csv", "docs/contract.md"):
            (Path(path) / name).touch()
        yield Path(path)


def submit(engine: Client, command: str = "", folder: Path | None = None, **spec: Any) -> JobHandle:
    """Submit a command, or a script of a folder. `confirmed` answers questions with yes."""
    confirmed = spec.pop("confirmed", False)
    source = {"folder": str(folder)} if folder else {"files": {"nothing.txt": ""}}
    fields = {"name": "test", "source": source, "command": command} | spec
    return JobHandle(engine.submit(fields, confirmed=confirmed)["job"], engine)


def script(folder: Path, text: str, name: str = "train.py") -> Path:
    """Write a script into a folder, with the indentation of the test removed."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text), "utf-8")
    return path


@pytest.fixture
def cli(home: Home, folder: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The command line in the folder of code: `cli("list")`."""

    def run(*words: str, cwd: Path = folder, **options: Any) -> subprocess.CompletedProcess[str]:
        # Only a new interpreter has other streams or modules.
        if not options.keys() - {"errors"} and "PYTHONPATH" not in os.environ:
            return forked_commands.run(words, cwd, **options)
        command = [sys.executable, "-m", "jupyter_pai", *words]
        defaults: dict[str, Any] = {"capture_output": True, "text": True, "stdin": subprocess.DEVNULL}
        return subprocess.run(command, cwd=cwd, check=False, **(defaults | options))

    return run


def processes_of(job_id: str) -> list[int]:
    """Return the processes of a job, with supervisor and guard, by their environment."""
    return [pid for pid, its_job in _job_processes() if its_job == job_id]


def _job_processes() -> Iterator[tuple[int, str]]:
    mark = b"JUPYTER_PAI_JOB_ID="
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with suppress(OSError):  # It ended meanwhile.
            for variable in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                if variable.startswith(mark):
                    yield int(name), variable.removeprefix(mark).decode()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmCluster]:
    """The Slurm cluster of a test process."""
    from .support.slurm import SlurmCluster

    with SlurmCluster(tmp_path_factory.mktemp("slurm")) as running:
        yield running


@pytest.fixture(scope="session")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandIn]:
    """The stand-in for Alibaba Cloud of a test process."""
    with stand_in(tmp_path_factory.mktemp("pai")) as running:
        yield running


@pytest.fixture(scope="session")
def hdfs_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebHdfsServer]:
    """The stand-in for HDFS of a test process."""
    with web_hdfs(tmp_path_factory.mktemp("hdfs")) as running:
        yield running


@pytest.fixture
def hdfs(hdfs_server: WebHdfsServer) -> WebHdfsServer:
    """The stand-in for HDFS, without faults and recorded requests. Files of other tests remain."""
    hdfs_server.reset()
    return hdfs_server


@pytest.fixture(scope="session")
def built() -> Path:
    """A folder with our sdist and the wheel made from it, readable by all users."""
    return made_once("dist", _build)


def _build(folder: Path) -> None:
    # Without Node: the sdist has the built extension, and the wheel is made of the sdist.
    environment = os.environ | {"PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="session")
def ordinary_user(built: Path) -> Iterator[OrdinaryUser]:
    """An ordinary user (uid 1000) with an environment made as in `binder/`; root would have all permissions."""
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    venv = made_once("venv", lambda folder: _install(folder, built))
    folder = Path(tempfile.mkdtemp(prefix="jupyter-pai-user-"))
    folder.chmod(0o755)
    os.chown(folder, 1000, 1000)
    yield OrdinaryUser(folder, venv)
    shutil.rmtree(folder, ignore_errors=True)


def _install(folder: Path, built: Path) -> None:
    """Install with uv, whose cache is shared by all environments of the machine. The wheel is named, so that no other
    package of this version is used."""
    binder = ["--requirement", str(ROOT / "binder/requirements.txt")]
    requirements = [str(next(built.glob("*.whl"))), *binder, *own_environments.constraint()]
    make = ["venv", "--quiet", "--python", "/usr/bin/python3", str(folder)]
    for words in (make, ["pip", "install", "--quiet", "--python", str(folder / "bin/python"), *requirements]):
        done = subprocess.run([sys.executable, "-m", "uv", *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    # The folders are theirs, as in an environment that they make: what they import is compiled there. Files are uv's.
    for place, _folders, _files in os.walk(folder):
        os.chown(place, 1000, 1000)


class OrdinaryUser:
    """Runs programs as uid 1000, in its own folder, without Node; `venv` is its environment."""

    def __init__(self, folder: Path, venv: Path) -> None:
        self.folder = folder
        self.python = venv / "bin" / "python"

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("SSL_CERT_FILE", "LANG", *_THREADS) if name in os.environ}
        path = f"{self.python.parent}:/usr/bin:/bin"
        return kept | {"HOME": str(self.folder), "PATH": path, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}

    def run(self, *command: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a program to its end."""
        defaults: dict[str, Any] = {"capture_output": True, "text": True}
        return subprocess.run(list(map(str, command)), check=False, **(defaults | self.options(options)))

    def start(self, *command: str | Path, **options: Any) -> subprocess.Popen[str]:
        """Start a program."""
        return subprocess.Popen(list(map(str, command)), text=True, **self.options(options))

    def options(self, more: dict[str, Any]) -> dict[str, Any]:
        environment = self.environment | more.pop("env", {})
        user: dict[str, Any] = {"user": 1000, "group": 1000, "extra_groups": [], "cwd": self.folder}
        return user | {"env": environment} | more
