"""Jobs of an ordinary user (uid 1000): a private /ml without privileges, and missing permissions."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ...conftest import OrdinaryUser, processes_of
from ...support.confinement import no_namespaces

BECOME = 'exec setpriv --reuid 1000 --regid 1000 --clear-groups "$@"'


@pytest.fixture
def work(ordinary_user: OrdinaryUser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of the user with its own state folder."""
    path = ordinary_user.folder / f"work-{os.urandom(4).hex()}"
    ordinary_user.run("mkdir", "-p", path / "code")
    yield path
    ordinary_user.run("chmod", "-R", "u+rwX", path)


def pai(ordinary_user: OrdinaryUser, work: Path, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    environment = {"JUPYTER_PAI_HOME": str(work / "state")}
    return ordinary_user.run(
        ordinary_user.python,
        "-m",
        "jupyter_pai",
        *words,
        cwd=work / "code",
        env=environment,
        stdin=subprocess.DEVNULL,
        **options,
    )


def write(ordinary_user: OrdinaryUser, path: Path, text: str = "x") -> None:
    ordinary_user.run("sh", "-c", f"mkdir -p {path.parent}; cat > {path}", input=text)


@pytest.mark.usefixtures("private_ml")
def test_unprivileged_job_has_a_private_ml_folder(ordinary_user: OrdinaryUser, work: Path) -> None:
    write(
        ordinary_user,
        work / "code/train.py",
        "import os; print(os.getuid(), os.listdir('/ml'), open('/ml/usercode/train.py').read()[:6])",
    )
    write(ordinary_user, work / "code/raw/a")
    command = (
        "python train.py; touch /ml/output/model/m; id -u; mkdir /x 2>/dev/null || echo refused; touch $HOME/home-works"
        "; touch raw/new 2>/dev/null || ls raw"
    )
    done = pai(ordinary_user, work, "submit", "--command", command, "--input", "raw=raw", "--wait", "--json")
    assert json.loads(done.stdout)["status"] == "succeeded", done.stderr
    lines = done.stderr.splitlines()
    assert lines[0].startswith("1000 [")
    assert lines[1:] == ["1000", "refused", "a"]
    assert not os.path.exists("/ml/usercode")
    model = Path(json.loads(done.stdout)["outputs"]["model"].removeprefix("file://"))
    assert (model / "m").stat().st_uid == 1000
    assert (ordinary_user.folder / "home-works").exists()


def test_no_process_outlives_the_job(ordinary_user: OrdinaryUser, work: Path) -> None:
    write(ordinary_user, work / "code/a")
    command = f"(setsid sh -c 'sleep 1000; touch {work}/outlived' &) ; echo done"
    done = pai(ordinary_user, work, "submit", "--command", command, "--wait", "--json")
    job = json.loads(done.stdout)["id"]
    assert processes_of(job) == []


def test_job_without_namespaces_uses_variables(ordinary_user: OrdinaryUser, work: Path) -> None:
    write(ordinary_user, work / "code/train.py", "import os\nx = 1\nopen('/ml/output/model/m', 'w')\n")
    write(ordinary_user, work / "code/start.sh", "cat /opt/ml/model/m\n")
    done = pai(
        ordinary_user,
        work,
        "submit",
        "--command",
        "ls $PAI_WORKING_DIR; python train.py",
        "--wait",
        preexec_fn=no_namespaces,
    )
    assert done.returncode == 1
    assert "train.py" in done.stdout
    assert "note: train.py, line 3, uses a path below /ml," in done.stdout
    assert "note: start.sh, line 1, uses a path below /opt/ml," in done.stdout
    assert "PAI_OUTPUT_…" in done.stdout
    result = json.loads(pai(ordinary_user, work, "doctor", "--json", preexec_fn=no_namespaces).stdout)
    ml = next(finding for finding in result if finding["what"] == "/ml")
    assert ml["state"] == "warn"
    assert "not permitted" in ml["text"]


@pytest.mark.usefixtures("private_ml")
def test_masked_proc_allows_ml_without_a_process_namespace(ordinary_user: OrdinaryUser, work: Path) -> None:
    """As in a container, parts of /proc are covered, and the kernel then refuses a fresh one."""
    write(ordinary_user, work / "code/a")
    tell = "ls -d /ml; python -c 'import os, sys; sys.exit(os.getpid() < 10)'; pwd"
    line = [str(ordinary_user.python), "-m", "jupyter_pai", "submit", "--command", tell, "--wait", "--json"]
    mask = "mount -t tmpfs -o ro tmpfs /proc/scsi 2>/dev/null || mount -t tmpfs -o ro tmpfs /proc/acpi"
    environment = ordinary_user.environment | {"JUPYTER_PAI_HOME": str(work / "state")}
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", f"{mask}; {BECOME}", "sh", *line],
        cwd=work / "code", env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert json.loads(done.stdout)["status"] == "succeeded", done.stderr
    assert done.stderr.splitlines() == ["/ml", "/ml/usercode"]


@pytest.mark.slow("processes")
@pytest.mark.usefixtures("private_ml")
def test_user_settings_override_system_settings(ordinary_user: OrdinaryUser, work: Path) -> None:
    """/etc/jupyter is mounted in a namespace of the program."""
    etc = work / "etc/jupyter/jupyter_pai.toml"
    write(
        ordinary_user, etc, 'default = "team"\n[profiles.team]\nbackend = "local"\nmax_run_time = 60\ngrace_time = 1\n'
    )
    write(ordinary_user, work / "mine.toml", "[profiles.team]\nmax_run_time = 30\n")
    line = [str(ordinary_user.python), "-m", "jupyter_pai", "profile", "list", "--json"]
    see = f"mount -t overlay overlay -o lowerdir={work}/etc:/etc /etc"
    environment = ordinary_user.environment | {
        "JUPYTER_PAI_HOME": str(work / "state"),
        "JUPYTER_PAI_CONFIG": str(work / "mine.toml"),
    }

    def look() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["unshare", "-m", "sh", "-c", f"{see}; {BECOME}", "sh", *line],
            cwd=work / "code", env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip

    result = json.loads(look().stdout)
    assert result["default"] == "team"
    team = next(profile for profile in result["profiles"] if profile["name"] == "team")
    assert team["settings"] == {"backend": "local", "max_run_time": 30, "grace_time": 1}
    write(ordinary_user, etc, '[profiles.team]\nbackend = "local"\ngrace_tim = 1\n')
    assert "/etc/jupyter/jupyter_pai.toml, line 3" in look().stderr
    assert "Did you mean `grace_time`?" in look().stderr


@pytest.mark.slow("cases", first=2)
@pytest.mark.parametrize(
    ("prepare", "words", "what", "fix"),
    [
        (
            "mkdir data; chmod 0 data",
            ["--input", "train={work}/data"],
            "No permission to read the input `train`: {work}/data",
            "owner",
        ),
        (
            "touch f; chmod 0 f",
            ["--input", "train={work}/f"],
            "No permission to read the input `train`: {work}/f",
            "owner",
        ),
        (
            "mkdir out; chmod 500 out",
            ["--output", "model={work}/out/x"],
            "Cannot create or write the output folder {work}/out/x",
            "folder of your own",
        ),
        ("true", ["--output-path", "/etc/pai"], "output folder /etc/pai", "folder of your own"),
        ("touch code/secret.bin; chmod 0 code/secret.bin", [], "No permission to read `secret.bin`", "--exclude"),
        (
            "mkdir code/shut; touch code/shut/x; chmod 0 code/shut",
            [],
            "read the folder {work}/code/shut/",
            "--exclude",
        ),
        (
            "mkdir closed; chmod 0 closed",
            ["--source", "{work}/closed"],
            "No permission to read the folder {work}/closed",
            "",
        ),
        ("mkdir -p state; chmod 500 state", [], "state folder {work}/state", "JUPYTER_PAI_HOME"),
        ("mkdir -p -m 500 state/jobs", [], "state folder {work}/state/jobs", "JUPYTER_PAI_HOME"),
        ("mkdir -p -m 500 state/sources", [], "state folder {work}/state/sources", "JUPYTER_PAI_HOME"),
    ],
)
def test_missing_permissions_are_reported(
    ordinary_user: OrdinaryUser, work: Path, prepare: str, words: list[str], what: str, fix: str
) -> None:
    write(ordinary_user, work / "code/a")
    ordinary_user.run("sh", "-c", prepare, cwd=work)
    done = pai(ordinary_user, work, "submit", "--command", "true", *[word.format(work=work) for word in words])
    assert done.returncode in (2, 3), done.stdout
    assert what.format(work=work) in done.stderr
    assert fix in done.stderr
    assert "Traceback" not in done.stderr


def test_unreadable_folder_can_be_excluded(ordinary_user: OrdinaryUser, work: Path) -> None:
    write(ordinary_user, work / "code/a")
    ordinary_user.run("sh", "-c", "mkdir code/shut; touch code/shut/x; chmod 0 code/shut", cwd=work)
    done = pai(ordinary_user, work, "submit", "--command", "ls", "--exclude", "shut", "--wait")
    assert done.returncode == 0, done.stderr


@pytest.mark.slow("processes")
def test_download_to_a_forbidden_folder_is_rejected(ordinary_user: OrdinaryUser, work: Path) -> None:
    write(ordinary_user, work / "code/a")
    pai(ordinary_user, work, "submit", "--command", "touch $PAI_OUTPUT_MODEL/m", "--wait")
    done = pai(ordinary_user, work, "download", "last", "/etc/here")
    assert done.returncode in (2, 3)
    assert "/etc/here" in done.stderr
    assert "Traceback" not in done.stderr


def test_state_folder_is_private(ordinary_user: OrdinaryUser, work: Path) -> None:
    write(ordinary_user, work / "code/a")
    pai(ordinary_user, work, "submit", "--command", "echo secret", "--wait")
    for path in (work / "state", *(work / "state/jobs").iterdir()):
        assert path.stat().st_mode & 0o077 == 0
    look = subprocess.run(
        ["ls", work / "state"], user=1001, group=1001, extra_groups=[], capture_output=True, check=False
    )
    assert look.returncode != 0
