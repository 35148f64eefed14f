"""Code from Git repositories: real ones, on this disk and on a server that asks for credentials."""

from __future__ import annotations

import base64
import os
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import PaiError, SourceError, UsageError
from jupyter_pai.jobs.state_dir import Home
from jupyter_pai.sdk.estimator import Estimator
from jupyter_pai.sdk.git import cloned

USER, TOKEN = "ada", "correct-horse-battery"


def git(folder: Path, *words: str) -> str:
    identity = {f"GIT_{who}_{what}": "t@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    command = ["git", "-C", str(folder), *words]
    environment = os.environ | identity | {"GIT_CONFIG_GLOBAL": "/dev/null"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose main branch has three versions, and another branch."""
    tree = tmp_path / "origin"
    tree.mkdir()
    git(tree, "init", "--quiet", "--initial-branch=main")
    for version in ("1", "2", "3"):
        (tree / "src").mkdir(exist_ok=True)
        (tree / "src/train.py").write_text(f"print('version {version}')\n")
        git(tree, "add", ".")
        git(tree, "commit", "--quiet", "-m", version)
    git(tree, "checkout", "--quiet", "-b", "other")
    (tree / "src/train.py").write_text("print('other')\n")
    git(tree, "commit", "--quiet", "-am", "other")
    git(tree, "checkout", "--quiet", "main")
    return tree


class GitServer(BaseHTTPRequestHandler):
    """Serves a repository by git's own program, to who knows the password."""

    repository: Path
    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.headers.get("Authorization", ""))
        if self.asked[-1] != f"Basic {base64.b64encode(f'{USER}:{TOKEN}'.encode()).decode()}":
            self.send_response(401)
            self.send_header("WWW-Authenticate", "Basic")
            self.end_headers()
            return
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        environment = os.environ | {
            "GIT_PROJECT_ROOT": str(self.repository.parent), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
            "QUERY_STRING": query, "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)), "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }  # fmt: skip
        if encoding := self.headers.get("Content-Encoding"):
            environment["HTTP_CONTENT_ENCODING"] = encoding
        done = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True, check=True)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        self.send_response(200)
        for line in head.decode().splitlines():
            self.send_header(*line.split(": ", 1))
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def url(repository: Path) -> Iterator[str]:
    """The URL of the repository on a server that requires credentials."""
    handler = type("Handler", (GitServer,), {"repository": repository, "asked": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/{repository.name}/.git"
        server.shutdown()
        thread.join()


def test_branch_and_commit_are_selected(repository: Path) -> None:
    first = git(repository, "rev-list", "--max-parents=0", "main")
    repo = f"file://{repository}"
    for more, printed in (({}, "version 3"), ({"branch": "other"}, "other"), ({"commit": first}, "version 1"),
                          ({"commit": first, "branch": "other"}, "version 1")):  # fmt: skip
        with cloned({"repo": repo, **more}, "./src/") as folder:
            assert printed in Path(folder, "train.py").read_text()
        assert not Path(folder).exists()


def test_estimator_runs_code_of_a_repository(engine: EmbeddedClient, home: Home, repository: Path) -> None:
    for source, command in (("src", "python train.py"), (None, "python src/train.py")):
        estimator = Estimator(
            command=command, source_dir=source, git_config={"repo": f"file://{repository}"}, instance_type="local"
        )
        assert "version 3" in estimator.fit(show_logs=False).logs()


def test_credentials_are_sent_to_the_server_only(url: str, capfd: pytest.CaptureFixture[str]) -> None:
    inside = url.replace("http://", f"http://{USER}:{TOKEN}@")
    for config in ({"username": USER, "password": TOKEN}, {"username": USER, "token": TOKEN}, {"repo": inside}):
        with cloned({"repo": url, "branch": "other", **config}, "src") as folder:
            assert "other" in Path(folder, "train.py").read_text()
            kept = [path for path in Path(folder).parent.rglob("*") if path.is_file()]
            assert kept and not any(TOKEN.encode() in path.read_bytes() for path in kept)
    assert TOKEN not in "".join(capfd.readouterr())


def test_refused_credentials_are_not_shown(url: str, capfd: pytest.CaptureFixture[str]) -> None:
    inside = url.replace("http://", f"http://ada:{TOKEN}@").replace(TOKEN, f"{TOKEN}x")
    gone = f"http://{TOKEN}@127.0.0.1:1/x.git"
    for config in ({"repo": url}, {"repo": url, "token": f"{TOKEN}x"}, {"repo": inside}, {"repo": gone}):
        with pytest.raises(SourceError, match="Cannot clone") as caught, cloned(config):
            pass
        assert TOKEN not in str(caught.value)
    assert TOKEN not in "".join(capfd.readouterr())


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({}, "must be the URL"),
        ({"repo": "ext::sh -c touch% /tmp/x"}, "must be the URL"),
        ({"repo": "/srv/repository"}, "must be the URL"),
        ({"repo": "--upload-pack=touch x"}, "must be the URL"),
        ({"repo": "https://example.com/a.git", "branch": "--upload-pack=x"}, "begins with"),
        ({"repo": "https://example.com/a.git", "url": "x"}, "its keys are"),
        ({"repo": "https://example.com/a.git", "commit": 3}, "its values are texts"),
        ({"repo": "http://example.com/a.git", "token": "secret-token"}, "over HTTPS only"),
        ({"repo": "http://secret-token@example.com/a.git"}, "over HTTPS only"),
    ],
)
def test_invalid_configurations_run_no_git(config: dict[str, Any], text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/none")
    with pytest.raises(UsageError, match=text) as caught, cloned(config):
        pass
    assert "secret-token" not in str(caught.value)


def test_folder_outside_of_the_repository_is_refused(repository: Path) -> None:
    for folder in ("../..", "/etc", "none"):
        with pytest.raises(PaiError, match="has no folder"), cloned({"repo": f"file://{repository}"}, folder):
            pass


def test_cloned_files_are_not_run(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark, script = tmp_path / "was-run", f"#!/bin/sh\ntouch {tmp_path}/was-run\n"
    for name in ("hooks/post-checkout", "hooks/post-index-change", "monitor"):
        path = repository / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(script)
        path.chmod(0o755)
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "-m", "hooks")
    # Settings of a user who shares hooks by a relative place.
    (tmp_path / ".gitconfig").write_text("[core]\nhooksPath = hooks\nfsmonitor = ./monitor\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    subprocess.run(
        ["git", "clone", "--quiet", f"file://{repository}", tmp_path / "control"], check=True, capture_output=True
    )
    assert mark.exists()
    mark.unlink()
    for more in ({}, {"commit": git(repository, "rev-parse", "HEAD")}):
        with cloned({"repo": f"file://{repository}", **more}) as folder:
            assert Path(folder, "hooks").exists()
    assert not mark.exists()


def test_missing_git_is_named(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/none")
    with pytest.raises(SourceError, match="requires the command `git`"), cloned({"repo": f"file://{repository}"}):
        pass
