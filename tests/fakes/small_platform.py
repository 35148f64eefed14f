"""A small platform, and a backend with the required methods only. It keeps neither inputs nor outputs, has no storage,
returns each log as a whole and makes a job of each request, also of a repeated one.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from jupyter_pai import (
    Caller,
    Candidate,
    Check,
    InstanceType,
    Job,
    JobFolder,
    JobSpec,
    JobStatus,
    LogPiece,
    ProfileSettings,
    RemoteBackend,
    Report,
    Secret,
    Submission,
    errors,
    job_script,
    transport,
    whole_log,
)
from jupyter_pai.jobs.job import now

if TYPE_CHECKING:
    import httpx


class _Run:
    """A job of the platform: a process of this machine."""

    def __init__(self, number: int, name: str, script: str, folder: Path) -> None:
        self.id, self.name = f"s{number}", name
        self.submitted = self.started = now()
        self.ended: datetime | None = None
        self.is_stopped = False
        self.log = folder / self.id
        (folder / f"{self.id}.sh").write_text(script, "utf-8", "surrogateescape")
        with self.log.open("wb") as output:
            words = ("sh", str(folder / f"{self.id}.sh"))
            self.process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )

    def described(self) -> dict[str, Any]:
        code = self.process.poll()
        if code is not None:
            self.ended = self.ended or now()
        state = "running" if code is None else "stopped" if self.is_stopped else "failed" if code else "succeeded"
        times = {"submitted": self.submitted.isoformat(), "ended": self.ended and self.ended.isoformat()}
        return {"id": self.id, "name": self.name, "state": state, "code": code, **times}

    def stop(self) -> None:
        if self.process.poll() is None:
            self.is_stopped = True
            os.killpg(self.process.pid, signal.SIGTERM)


class SmallPlatform:
    """The platform, in threads of this process."""

    def __init__(self, folder: Path) -> None:
        self.runs: dict[str, _Run] = {}
        self._lock = threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(handler) -> None:
                if handler.path.endswith("/log"):
                    handler.answer({"log": self.runs[handler.path.split("/")[2]].log.read_text("utf-8")})
                else:
                    handler.answer([run.described() for run in reversed([*self.runs.values()])])

            def do_POST(handler) -> None:
                body = json.loads(handler.rfile.read(int(handler.headers["content-length"] or 0)) or b"{}")
                if handler.path.endswith("/stop"):
                    self.runs[handler.path.split("/")[2]].stop()
                    handler.answer({})
                    return
                with self._lock:
                    run = _Run(len(self.runs), body["name"], body["script"], folder)
                    self.runs[run.id] = run
                handler.answer({"id": run.id})

            def answer(handler, value: object) -> None:
                data = json.dumps(value).encode()
                handler.send_response(200)
                handler.send_header("content-length", str(len(data)))
                handler.end_headers()
                handler.wfile.write(data)

            def log_message(handler, *words: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@contextmanager
def small_platform() -> Iterator[SmallPlatform]:
    """Run a platform. At its end, it stops its jobs."""
    with tempfile.TemporaryDirectory() as folder:
        platform = SmallPlatform(Path(folder))
        thread = threading.Thread(target=platform.server.serve_forever)
        thread.start()
        try:
            yield platform
        finally:
            platform.server.shutdown()
            thread.join()
            platform.server.server_close()
            for run in platform.runs.values():
                run.stop()
                run.process.wait()


class SmallSettings(ProfileSettings):
    """The settings of a profile."""

    url: str = Field(title="Address", description="Address of the platform.")


class SmallBackend(RemoteBackend):
    """The backend of the platform. The names of its jobs are our ids."""

    name: ClassVar[str] = "small"
    capabilities: ClassVar = frozenset()
    settings_model: ClassVar[type[ProfileSettings]] = SmallSettings
    settings: SmallSettings
    stores_inputs = False
    stores_outputs = False

    async def _send(self, method: str, path: str, body: object = None, *, repeat: bool = True) -> Any:
        data = b"" if body is None else json.dumps(body).encode()
        sender = transport.Transport(self.settings.url, _refusal, pace=100)
        return await sender.send(transport.Call(method, f"{self.settings.url}{path}", body=data, repeat=repeat))

    async def check(self, spec: JobSpec, caller: Caller) -> Check:
        if spec.inputs:
            raise errors.SpecError("The platform has no inputs.").at("inputs")
        return Check()

    async def submit(self, job: Job, folder: JobFolder, secrets: Mapping[str, Secret]) -> Submission:
        script = job_script.build(job, job_script.Site(code=folder.source.read_bytes()))
        reply = await self._send("POST", "/jobs", {"name": job.id, "script": script}, repeat=False)
        return Submission(reply["id"])

    async def output_uri(self, job: Job) -> str:
        return ""

    async def input_uri(self) -> str:
        return ""

    async def candidates(self, job_id: str) -> AsyncIterator[Candidate]:
        for one in await self._send("GET", "/jobs"):
            yield Candidate(one["id"], one["name"], datetime.fromisoformat(one["submitted"]), name=one["name"])

    async def poll(self, remote_ids: Sequence[str]) -> dict[str, Report]:
        found = await self._send("GET", "/jobs") if remote_ids else []
        return {one["id"]: _report(one) for one in found if one["id"] in remote_ids}

    async def log(self, remote_id: str, instance: str, cursor: str) -> LogPiece:
        return whole_log(cursor, (await self._send("GET", f"/jobs/{remote_id}/log"))["log"].encode())

    async def stop(self, remote_id: str) -> None:
        await self._send("POST", f"/jobs/{remote_id}/stop")

    async def instance_types(self) -> list[InstanceType]:
        return [InstanceType("this machine", 1, 1 << 30)]


def _report(one: Mapping[str, Any]) -> Report:
    status, code = JobStatus(one["state"]), one["code"]
    return Report(
        status,
        exit_code=128 - code if code is not None and code < 0 else code,
        reason="Stopped by the user." if status is JobStatus.STOPPED else "",
        started_at=datetime.fromisoformat(one["submitted"]),
        ended_at=datetime.fromisoformat(one["ended"]) if one["ended"] else None,
    )


def _refusal(response: httpx.Response) -> transport.Refusal | None:
    return None if response.is_success else transport.Refusal(errors.BackendError(response.text))
