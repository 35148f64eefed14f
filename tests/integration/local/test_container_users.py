"""Containers of an ordinary user whose podman has no subordinate ids."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ...conftest import OrdinaryUser
from ...support import containers

Run = Callable[..., subprocess.CompletedProcess[str]]
# Both files are empty in a namespace of the program.
WITHOUT_IDS = """
for file in /etc/subuid /etc/subgid; do if [ -e $file ]; then mount --bind /dev/null $file; fi; done
exec setpriv --reuid 1000 --regid 1000 --clear-groups "$@"
"""


@pytest.fixture
def run(ordinary_user: OrdinaryUser) -> Iterator[Run]:
    """Run a program of the user in a folder with code, with the image in the storage of podman."""
    place = ordinary_user.folder / f"containers-{os.urandom(4).hex()}"
    for name in ("code", "run"):
        ordinary_user.run("mkdir", "-p", "-m", "700", place / name)
    (place / "code/a").touch()
    variables = containers.settings(place) | {"XDG_RUNTIME_DIR": f"{place}/run", "JUPYTER_PAI_HOME": f"{place}/state"}

    def program(*words: str | Path) -> subprocess.CompletedProcess[str]:
        line = ["unshare", "-m", "sh", "-c", WITHOUT_IDS, "sh", *map(str, words)]
        return subprocess.run(
            line, cwd=place / "code", env=ordinary_user.environment | variables,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip

    imported = program("podman", "import", "-q", containers.image_archive(place), containers.IMAGE)
    assert imported.returncode == 0, imported.stderr
    yield program
    program("podman", "rm", "--all", "--force", "--time", "0")
    program("podman", "rmi", "--all", "--force")
    ordinary_user.run("chmod", "-R", "u+rwX", place)


@pytest.mark.slow("containers")
def test_podman_without_subordinate_ids_maps_root_to_the_user(ordinary_user: OrdinaryUser, run: Run) -> None:
    options = ["--image", containers.IMAGE, "--container", "podman", "--command", "id -u; echo 1 > $PAI_OUTPUT_MODEL/m"]
    done = run(ordinary_user.python, "-m", "jupyter_pai", "submit", *options, "--wait", "--json")
    job = json.loads(done.stdout)
    assert (job["status"], done.stderr.splitlines()[-1]) == ("succeeded", "0"), done.stderr
    model = Path(job["outputs"]["model"].removeprefix("file://"))
    assert ((model / "m").read_text(), (model / "m").stat().st_uid) == ("1\n", 1000)
    findings = json.loads(run(ordinary_user.python, "-m", "jupyter_pai", "doctor", "--json").stdout)
    (finding,) = [finding for finding in findings if finding["what"] == "containers"]
    assert finding["state"] == "warn"
    assert "--userns keep-id: " in finding["text"]
    assert "usermod" in finding["fix"]
