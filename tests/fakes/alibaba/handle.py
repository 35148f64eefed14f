"""The stand-in as tests use it: URLs, keys, and control from outside."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from ...support.waiting import PATIENCE
from .dlc.handle import DlcJobs
from .settings import Settings

__all__ = ["AccessKey", "StandIn", "stand_in"]

_ROOT = Path(__file__).parents[3]


class AccessKey(NamedTuple):
    """The key of a client. The token is empty unless it is temporary."""

    id: str
    secret: str
    token: str = ""


@contextmanager
def stand_in(folder: Path, **settings: Any) -> Iterator[StandIn]:
    """Run a stand-in in its own process, with its files in a folder. Settings: `settings.Settings`."""
    chosen = Settings(**settings)
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", f"{__package__}", str(folder), json.dumps(asdict(chosen))]
    with (folder / "server.log").open("ab") as log:
        process = subprocess.Popen(
            command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, f"the stand-in did not start: {(folder / 'server.log').read_text()}"
        yield StandIn(folder, chosen, json.loads(line), process)
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is None or process.stdin.closed:
        return
    try:
        process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise RuntimeError("the stand-in did not end by itself") from None


class StandIn:
    """A running stand-in. All methods may be called from any thread."""

    def __init__(
        self, folder: Path, settings: Settings, reply: dict[str, Any], process: subprocess.Popen[bytes]
    ) -> None:
        self._process = process
        self.folder, self._settings, self._ports = folder, settings, reply["ports"]
        self.key = AccessKey(*reply["key"])
        self.region, self.workspace_id, self.bucket = settings.region, settings.workspace_id, settings.bucket
        self.faults, self.objects, self.dlc = FaultSwitch(self), Objects(self), DlcJobs(self)

    @property
    def url(self) -> str:
        """Base URL of the OpenAPI services."""
        return f"http://127.0.0.1:{self._ports['openapi']}"

    @property
    def oss_endpoint(self) -> str:
        """Base URL of OSS. Buckets are in the path."""
        return f"http://127.0.0.1:{self._ports['oss']}"

    @property
    def requests(self) -> list[dict[str, Any]]:
        """All requests so far: time, service, action, method, path, query, status, key, received, sent, seconds, fault.

        A status of 0 is a connection that was cut.
        """
        result: list[dict[str, Any]] = self.call("requests")
        return result

    def clear(self) -> None:
        """Remove objects, uploads, more buckets, faults and recorded requests, reset the clock, and free the quotas.
        Jobs stay."""
        self.call("clear")

    def forget_requests(self) -> None:
        """Reset the recorded requests."""
        self.call("forget_requests")

    def count(self, service: str = "", action: str = "") -> int:
        """Return the number of requests, optionally of a service and an action."""
        return sum(
            1
            for r in self.requests
            if (not service or r.get("service") == service) and (not action or r.get("action") == action)
        )

    def sts(self, seconds: float = 3600, role: str = "PAI.WorkspaceOwner", denied: tuple[str, ...] = ()) -> AccessKey:
        """Create a temporary key that expires after some seconds."""
        made = self.call("sts", seconds=seconds, role=role, denied=list(denied))
        return AccessKey(made["id"], made["secret"], made["token"])

    def make_key(self, role: str = "PAI.WorkspaceOwner", denied: tuple[str, ...] = ()) -> AccessKey:
        """A key with fewer rights: a role (PAI.AlgoDeveloper, PAI.WorkspaceGuest, '' for none), and patterns of what is
        refused: `oss:PutObject`, `oss:*:BUCKET` for all of one bucket, `paistudio:Create*`."""
        made = self.call("make_key", role=role, denied=list(denied))
        return AccessKey(made["id"], made["secret"])

    def change_key(self, key_id: str, **changes: Any) -> None:
        """`active=False` disables it; `expires=0` ends it; `role`, `denied`."""
        self.call("change_key", key_id=key_id, **changes)

    def set_clock(self, offset: float) -> None:
        """Set the services' clocks some seconds ahead of the machine's."""
        self.call("set_clock", offset=offset)

    def set_list_lag(self, seconds: float) -> None:
        """Let jobs appear in lists some seconds after their creation."""
        self.call("set_list_lag", seconds=seconds)

    @contextmanager
    def small_pages(self, size: int) -> Iterator[None]:
        """Return at most so many lines of a log in one reply."""
        self.call("set_largest_page", size=size)
        try:
            yield
        finally:
            self.call("set_largest_page", size=2000)

    @contextmanager
    def without_filters(self) -> Iterator[None]:
        """Ignore the filters of lists of jobs; the newest jobs are those of a colleague."""
        label = [{"Key": "jupyter-pai-job", "Value": "colleagu"}]
        self.add_jobs(2, "Succeed", Labels=label)
        self.add_jobs(1, "Succeed")
        self.dlc.add(2, "Succeeded", DisplayName="a-colleague", Settings={"Tags": {"jupyter-pai-job": "colleagu"}})
        self.dlc.add(1, "Succeeded")
        self.call("set_filters", on=False)
        try:
            yield
        finally:
            self.call("set_filters", on=True)

    def make_bucket(self, name: str, region: str = "") -> None:
        """Create another bucket. One in another region is not reachable here."""
        self.call("make_bucket", name=name, region=region)

    @property
    def jobs(self) -> list[dict[str, Any]]:
        """All jobs: id, name, status, labels, asked (the body of their creation), lines (how many), pip."""
        result: list[dict[str, Any]] = self.call("jobs")
        return result

    def add_jobs(self, count: int = 1, status: str = "Running", **fields: Any) -> list[str]:
        """Add jobs that are not executed, and return their ids. `fields` are those of CreateTrainingJob."""
        made: list[str] = self.call("add_jobs", count=count, status=status, fields=fields)
        return made

    def set_job(self, job_id: str, status: str, code: str = "", message: str = "") -> None:
        """Set the status of a job that is not executed."""
        self.call("set_job", job_id=job_id, status=status, code=code, message=message)

    def remove_job(self, job_id: str) -> None:
        """Delete a job, as its owner can in the console."""
        self.call("remove_job", job_id=job_id)

    def swap_job(self, job_id: str, other: str) -> None:
        """Return another job for the id of a job."""
        self.call("swap_job", job_id=job_id, other=other)

    def fail_next(self, status: str, code: str = "JobFailed", message: str = "it was to fail") -> None:
        """Let the next created job end with a status (CreateFailed, InitializeFailed, Failed) instead of running."""
        self.call("fail_next", status=status, code=code, message=message)

    def fail_next_board(self, reason: str = "it was to fail") -> None:
        """Let the next started TensorBoard fail."""
        self.call("fail_next_board", reason=reason)

    def credentials_uri(self, seconds: float = 3600) -> str:
        """Return a value of `ALIBABA_CLOUD_CREDENTIALS_URI`: each request gives a new key that is valid for some
        seconds."""
        return f"http://127.0.0.1:{self._ports['pages']}/credentials?seconds={seconds:g}"

    def add_lines(self, job_id: str, *lines: str, count: int = 1, instance: int = 0) -> None:
        """Append lines to a job's log, `count` times; `{number}` in them is the line's number."""
        self.call("add_lines", job_id=job_id, lines=lines, count=count, instance=instance)

    def add_points(self, job_id: str, name: str, *values: float) -> None:
        """Add values of a metric that the service has read from a job's log."""
        self.call("add_points", job_id=job_id, name=name, values=values)

    def add_dataset(self, **versions: str) -> str:
        """Add a data set of the workspace from URIs by version, the default one last, and return its id."""
        made: str = self.call("add_dataset", versions=versions)
        return made

    def expire_log(self, job_id: str) -> None:
        """Delete a job's log; metrics read from it are kept."""
        self.call("expire_log", job_id=job_id)

    def age_job(self, job_id: str, seconds: float) -> None:
        """Move a job's creation into the past."""
        self.call("age_job", job_id=job_id, seconds=seconds)

    def settings(self) -> dict[str, str]:
        """The keys of a profile."""
        return {
            "region_id": self.region,
            "workspace_id": self.workspace_id,
            "oss_bucket_name": self.bucket,
            "oss_endpoint": self.oss_endpoint,
            "endpoint": self.url,
        }

    def environment(self, key: AccessKey | None = None) -> dict[str, str]:
        """The variables by which clients find a key."""
        key = key or self.key
        variables = {"ALIBABA_CLOUD_ACCESS_KEY_ID": key.id, "ALIBABA_CLOUD_ACCESS_KEY_SECRET": key.secret}
        return variables | ({"ALIBABA_CLOUD_SECURITY_TOKEN": key.token} if key.token else {})

    def proxy_environment(self) -> dict[str, str]:
        """Return variables for clients that know the public hosts only; their requests are sent here by HTTPS."""
        return {
            "HTTPS_PROXY": f"http://127.0.0.1:{self._ports['proxy']}",
            "NO_PROXY": "127.0.0.1,localhost",
            "SSL_CERT_FILE": str(self.folder / "ca.pem"),
        }

    def end(self) -> None:
        """Stop all services before the `with` block ends."""
        _end(self._process)

    def call(self, name: str, /, **arguments: Any) -> Any:
        """Call the process of the services."""
        connection = http.client.HTTPConnection("127.0.0.1", self._ports["control"])
        try:
            connection.request("POST", "/", json.dumps({"call": name, "arguments": arguments}))
            reply = json.loads(connection.getresponse().read())
        finally:
            connection.close()
        if "error" in reply:
            raise RuntimeError(reply["error"])
        return reply["result"]


class FaultSwitch:
    """Faults to inject: `pai.faults.add("500", "paistudio:Create*", count=2)`."""

    def __init__(self, pai: StandIn) -> None:
        self._pai = pai

    def add(self, kind: str, match: str = "*", **how: Any) -> None:
        """Add a fault for requests whose `service:action` match. The first fault that applies is used.

        Arguments, see `faults.Fault`: `probability`; `count` requests at most; `after` a number of successful ones;
        `seconds` of a `delay`; `status`, `code` and `message` of `refused`.
        """
        self._pai.call("add_fault", kind=kind, match=match, **how)

    def clear(self) -> None:
        """Remove all faults."""
        self._pai.call("clear_faults")

    @property
    def struck(self) -> int:
        """Return the number of requests with a fault."""
        return int(self._pai.call("struck"))


class Objects:
    """The objects of a bucket, without a request to OSS."""

    def __init__(self, pai: StandIn) -> None:
        self._pai = pai

    def keys(self, prefix: str = "", bucket: str = "") -> list[str]:
        """Return all keys with a prefix."""
        result: list[str] = self._pai.call("keys", bucket=bucket or self._pai.bucket, prefix=prefix)
        return result

    def read(self, key: str, bucket: str = "") -> bytes:
        """Return an object. Raises RuntimeError if it does not exist."""
        return b64decode(self._pai.call("read", bucket=bucket or self._pai.bucket, key=key))

    def write(self, key: str, data: bytes, bucket: str = "") -> None:
        """Store an object."""
        self._pai.call("write", bucket=bucket or self._pai.bucket, key=key, data=b64encode(data).decode())

    def delete(self, key: str, bucket: str = "") -> None:
        """Delete an object."""
        self._pai.call("delete", bucket=bucket or self._pai.bucket, key=key)

    def uploads(self, bucket: str = "") -> list[str]:
        """Return the keys of unfinished multipart uploads."""
        result: list[str] = self._pai.call("uploads", bucket=bucket or self._pai.bucket)
        return result
