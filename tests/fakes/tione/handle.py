"""The stand-in as tests use it: an address, keys, tasks, objects, faults."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from aiohttp import web
from cryptography import x509

from ...support.event_loops import close_server, loop_in_thread
from ..alibaba import proxy
from ..alibaba.faults import Fault
from ..alibaba.keys import Key
from .runs import make_pods
from .settings import Settings
from .site import Site
from .tasks import ENDED, Task

__all__ = ["SecretKey", "TiOne", "tione"]

_Value = TypeVar("_Value")
# Hosts of the platform, as far as clients know no other ones.
_SUFFIXES = ("tencentcloudapi.com", "myqcloud.com", "tencentcos.cn", "tencentyun.com")


class SecretKey(NamedTuple):
    """The key of a client. The token is empty unless it is temporary."""

    id: str
    secret: str
    token: str = ""


@contextmanager
def tione(folder: Path, **settings: Any) -> Iterator[TiOne]:
    """Run a stand-in on loopback. Settings: `settings.Settings`."""
    folder.mkdir(parents=True, exist_ok=True)
    site = Site(folder, Settings(**settings))
    runners: list[web.ServerRunner] = []
    with loop_in_thread("tione") as loop:
        ports = asyncio.run_coroutine_threadsafe(_started(site, folder, runners), loop).result(30)
        try:
            yield TiOne(site, loop, ports, folder / "ca.pem")
        finally:
            asyncio.run_coroutine_threadsafe(_stopped(site, runners), loop).result(30)


async def _started(site: Site, folder: Path, runners: list[web.ServerRunner]) -> dict[str, int]:
    hosts = [x509.DNSName(f"*.{suffix}") for suffix in _SUFFIXES]
    for host in ("cos.{region}.myqcloud.com", "cos-internal.{region}.tencentcos.cn"):
        hosts.append(x509.DNSName("*." + host.format(region=site.settings.region)))
    ports = {"http": await _listen(site, runners)}
    ports["tls"] = await _listen(site, runners, proxy.certificate(folder, hosts))
    way_in = await proxy.start(ports["tls"], tuple(f".{suffix}" for suffix in _SUFFIXES))
    site.way_in = way_in
    ports["proxy"] = way_in.sockets[0].getsockname()[1]
    site.training.address = f"http://127.0.0.1:{ports['http']}"
    return ports


async def _listen(site: Site, runners: list[web.ServerRunner], tls: ssl.SSLContext | None = None) -> int:
    limits: dict[str, Any] = {"max_line_size": 65536, "max_field_size": 65536}
    server = web.Server(site.serve, access_log=None, auto_decompress=False, read_bufsize=1 << 20, **limits)
    runner = web.ServerRunner(server, shutdown_timeout=0.01)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024, ssl_context=tls).start()
    runners.append(runner)
    return int(runner.addresses[0][1])


async def _stopped(site: Site, runners: list[web.ServerRunner]) -> None:
    await site.runs.close()
    if site.way_in:
        site.way_in.close()
    for runner in runners:
        await close_server(runner)


class TiOne:
    """A running stand-in. All methods may be called from any thread."""

    def __init__(self, site: Site, loop: asyncio.AbstractEventLoop, ports: dict[str, int], ca_file: Path) -> None:
        self._site, self._loop, self.ports, self.ca_file = site, loop, ports, ca_file
        self.settings = site.settings
        self.region, self.bucket = site.settings.region, site.settings.bucket
        self.key = self.make_key()
        self.faults, self.objects = FaultSwitch(self), Objects(self)

    @property
    def url(self) -> str:
        """The address of all services; a request for COS has the host `cos_host`."""
        return f"http://127.0.0.1:{self.ports['http']}"

    def profile(self) -> dict[str, str]:
        """The keys of a profile."""
        place = {"region": self.region, "bucket": self.bucket}
        return place | {"endpoint": self.url, "cos_endpoint": self.url}

    def environment(self, key: SecretKey | None = None) -> dict[str, str]:
        """The variables by which clients find a key."""
        key = key or self.key
        variables = {"TENCENTCLOUD_SECRET_ID": key.id, "TENCENTCLOUD_SECRET_KEY": key.secret}
        return variables | ({"TENCENTCLOUD_TOKEN": key.token} if key.token else {})

    @property
    def cos_host(self) -> str:
        """The host of the bucket."""
        return f"{self.bucket}.cos.{self.region}.myqcloud.com"

    def proxy_environment(self) -> dict[str, str]:
        """Return variables for clients that know the public hosts only; their requests are sent here by HTTPS."""
        address = f"http://127.0.0.1:{self.ports['proxy']}"
        return {"HTTPS_PROXY": address, "NO_PROXY": "127.0.0.1,localhost", "REQUESTS_CA_BUNDLE": str(self.ca_file)}

    @property
    def requests(self) -> list[dict[str, Any]]:
        """All requests so far: time, service, action, method, path, query, headers, status, key, received, sent, fault.

        A status of 0 is a connection that was cut. Errors of the API have the status 200.
        """
        return self.execute(lambda: [dict(note) for note in self._site.requests])

    def count(self, action: str = "", service: str = "") -> int:
        """Return the number of calls, perhaps of an action or a service (tione, cos, sts, …)."""
        return sum(action in ("", row["action"]) and service in ("", row["service"]) for row in self.requests)

    def forget_requests(self) -> None:
        """Empty the log of the requests."""
        self.execute(self._site.requests.clear)

    def make_key(self, denied: Iterable[str] = ()) -> SecretKey:
        """Return a new key. `denied` are patterns of what it is refused, as `tione:Create*` or `cos:*:BUCKET`."""
        return _shown(self.execute(lambda: self._site.keys.make(denied)))

    def sts(self, seconds: float = 3600, denied: Iterable[str] = ()) -> SecretKey:
        """Return a temporary key that ends after some seconds."""
        return _shown(self.execute(lambda: self._site.keys.sts(seconds, denied)))

    def change_key(self, key_id: str, **changes: Any) -> None:
        """Change a key: `active=False` disables it, `expires=0` ends it, `denied`."""
        key = self._site.keys.find(key_id)
        assert key is not None
        self.execute(lambda: vars(key).update(changes))

    def set_role_seconds(self, seconds: float | None) -> None:
        """Let keys of roles live so long, whatever is asked for."""
        self._site.account.role_seconds = seconds

    def move_clock(self, seconds: float) -> None:
        """Move the clock of all services forward."""
        self._site.clock.offset += seconds

    def make_bucket(self, name: str, region: str = "") -> None:
        """Make another bucket, perhaps in another region."""
        self.execute(lambda: self._site.cos.make_bucket(name, region))

    def task(self, task_id: str) -> Task:
        """Return a task: `request` is the body of its creation."""
        return self._site.training.tasks[task_id]

    @property
    def tasks(self) -> list[Task]:
        """All tasks in the order of their creation."""
        return self.execute(lambda: [*self._site.training.tasks.values()])

    def metrics(self, task_id: str) -> list[dict[str, Any]]:
        """Return the items that were pushed for a task."""
        return self.execute(lambda: [*self._site.metrics.pushed.get(task_id, [])])

    def fail_next(self, status: str = "FAILED", reason: str = "it was to fail") -> None:
        """Let the next created task end with a status (SUBMIT_FAILED, FAILED) instead of running."""
        self.execute(lambda: self._site.training.fates.append((status, reason)))

    def add_tasks(self, count: int = 1, status: str = "RUNNING", **fields: Any) -> list[str]:
        """Add tasks without processes, and return their ids. `fields` are those of CreateTrainingTask."""

        def add() -> list[str]:
            site, made = self._site, []
            config = {"Role": "WORKER", "InstanceType": "TI.S.MEDIUM.POST", "InstanceNum": 1}
            body: dict[str, Any] = {"ChargeType": "POSTPAID_BY_HOUR", "ResourceConfigInfos": [config]}
            body |= {"TrainingMode": "DDP"} | {"StartCmdInfo": {"WorkerStartCmd": "true"}}
            for number in range(count):
                name = {"Name": f"added-{len(site.training.tasks)}-{number}"}
                task = Task(body | name | fields, site.settings.region, "1", site.clock.now())
                make_pods(task, task.run)
                site.training.tasks[task.id] = task
                made.append(task.id)
            return made

        made = self.execute(add)
        for task_id in made:
            self.set_task(task_id, status)
        return made

    @contextmanager
    def small_pages(self, size: int) -> Iterator[None]:
        """Return at most so many lines of a log in one reply."""
        before, self.settings.log_page = self.settings.log_page, size
        try:
            yield
        finally:
            self.settings.log_page = before

    @contextmanager
    def without_filters(self) -> Iterator[None]:
        """Ignore the filters of lists of tasks; the newest tasks are those of a colleague."""
        self.add_tasks(3, "SUCCEED")
        self.settings.filters = False
        try:
            yield
        finally:
            self.settings.filters = True

    def set_task(self, task_id: str, status: str, reason: str = "") -> None:
        """Set the status of a task without processes."""

        def change() -> None:
            task, now = self.task(task_id), self._site.clock.now()
            task.enter(status, now, reason)
            words = {"RUNNING": "RUNNING", "SUCCEED": "SUCCEEDED", "FAILED": "FAILED", "STOPPED": "TERMINATED"}
            for pod in task.run.pods:
                pod.status = words.get(status, pod.status)
                pod.started = pod.started or (now if status == "RUNNING" else None)
                pod.ended = now if status in ENDED else None

        self.execute(change)

    def restart_task(self, task_id: str) -> None:
        """Start a task without processes again, with new pods."""
        self.execute(lambda: make_pods(self.task(task_id), self.task(task_id).begin()))
        self.set_task(task_id, "RUNNING")

    def now(self) -> float:
        """Return the time of the server in seconds since 1970."""
        return self._site.clock.now()

    def add_lines(
        self,
        task_id: str,
        *lines: str,
        rank: int = 0,
        count: int = 1,
        moment: float | None = None,
        found: float = 0.0,
    ) -> None:
        """Add lines to the log of a pod, `count` times; `{number}` in them counts from 0.

        They have the time `moment`, in seconds since 1970, or now. They are not found before the time `found`.
        """

        def add() -> None:
            run = self.task(task_id).run
            texts = [line.replace("{number}", str(number)) for number in range(count) for line in lines]
            run.log(run.pods[rank].name, texts, int((moment or self.now()) * 1e9), found=found)

        self.execute(add)

    def add_event(self, task_id: str, message: str, is_warning: bool = True) -> None:
        """Add an event of a task's first pod."""
        run = self.task(task_id).run
        name = run.pods[0].name if run.pods else task_id
        self.execute(lambda: run.tell(message, self._site.clock.now(), "Pod", name, is_warning))

    def age_task(self, task_id: str, seconds: float) -> None:
        """Move a task, its log and its events into the past."""

        def age() -> None:
            task, run = self.task(task_id), self.task(task_id).run
            task.created, task.updated = task.created - seconds, task.updated - seconds
            run.started, run.ended = (moment and moment - seconds for moment in (run.started, run.ended))
            run.lines = [line._replace(time=line.time - int(seconds * 1e9)) for line in run.lines]
            for event in run.events:
                event.first, event.last = event.first - seconds, event.last - seconds
            for pod in run.pods:
                pod.started, pod.ended = (moment and moment - seconds for moment in (pod.started, pod.ended))

        self.execute(age)

    def remove_task(self, task_id: str) -> None:
        """Delete a task, as its owner can in the console."""
        self.execute(lambda: self._site.training.tasks.pop(task_id))

    def execute(self, work: Callable[[], _Value]) -> _Value:
        """Return the result of a function that runs in the server's thread."""

        async def call() -> _Value:
            return work()

        return asyncio.run_coroutine_threadsafe(call(), self._loop).result(60)


def _shown(key: Key) -> SecretKey:
    return SecretKey(key.id, key.secret, key.token)


class FaultSwitch:
    """Adds and removes faults."""

    def __init__(self, server: TiOne) -> None:
        self._server = server

    def add(self, kind: str, match: str = "*", **fields: Any) -> None:
        """Add a fault for calls whose `service:Action` match a pattern: `..alibaba.faults.Fault`."""
        self._server.execute(lambda: self._server._site.faults.add(Fault(kind, match, **fields)))

    def clear(self) -> None:
        """Remove all faults."""
        self._server.execute(self._server._site.faults.clear)

    @property
    def struck(self) -> int:
        """The number of requests that failed."""
        return self._server.execute(lambda: self._server._site.faults.struck)


class Objects:
    """The objects of a bucket, without a request to COS."""

    def __init__(self, server: TiOne) -> None:
        self._server = server

    def keys(self, prefix: str = "", bucket: str = "") -> list[str]:
        """Return the keys with a prefix, in order."""
        found = self._server._site.cos.buckets[bucket or self._server.bucket]
        return [stored.key for stored in found.below(prefix)]

    def read(self, key: str, bucket: str = "") -> bytes:
        """Return the bytes of an object. Raises FileNotFoundError."""
        stored = self._server._site.cos.buckets[bucket or self._server.bucket].get(key)
        if stored is None:
            raise FileNotFoundError(f"there is no cos://{bucket or self._server.bucket}/{key}")
        return stored.blob.read()

    def write(self, key: str, data: bytes, bucket: str = "") -> None:
        """Store an object."""
        self._server.execute(lambda: self._server._site.cos.store(bucket or self._server.bucket, key, data))

    def delete(self, key: str, bucket: str = "") -> None:
        """Delete an object."""
        self._server.execute(lambda: self._server._site.cos.buckets[bucket or self._server.bucket].delete(key))

    def uploads(self, bucket: str = "") -> list[str]:
        """Return the keys of the multipart uploads in progress."""
        found = self._server._site.cos.buckets[bucket or self._server.bucket]
        return self._server.execute(lambda: [upload.key for upload in found.uploads.values()])
