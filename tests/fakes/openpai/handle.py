"""The stand-in as tests use it: an address, users, jobs, faults."""

from __future__ import annotations

import asyncio
import ipaddress
import shutil
import ssl
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from aiohttp import web
from cryptography import x509

from ...support.event_loops import close_server, loop_in_thread
from ..alibaba import proxy
from ..alibaba.faults import Fault
from .accounts import Account
from .jobs import Job, Task, short_name
from .runs import end_idle_job, idle_job
from .settings import Settings
from .site import Site

__all__ = ["OpenPai", "openpai"]

_Value = TypeVar("_Value")


@contextmanager
def openpai(
    folder: Path, extra: Iterable[web.AbstractRouteDef] = (), tls: bool = False, **settings: Any
) -> Iterator[OpenPai]:
    """Run a stand-in on loopback. `extra` are further routes of its site, settings those of `settings.Settings`.

    With `tls` its certificate is signed by itself; `ca_file` is that certificate.
    """
    folder.mkdir(parents=True, exist_ok=True)
    site = Site(folder, Settings(**settings))
    context = proxy.certificate(folder, [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]) if tls else None
    scheme = "https" if tls else "http"
    with loop_in_thread("openpai") as loop:
        runner = asyncio.run_coroutine_threadsafe(_started(site, extra, context), loop).result(30)
        try:
            yield OpenPai(site, loop, f"{scheme}://127.0.0.1:{runner.addresses[0][1]}", folder / "ca.pem")
        finally:
            asyncio.run_coroutine_threadsafe(_stopped(site, runner), loop).result(30)


async def _started(site: Site, extra: Iterable[web.AbstractRouteDef], tls: ssl.SSLContext | None) -> web.AppRunner:
    application = web.Application(client_max_size=1 << 30)
    application.add_routes(extra)
    application.router.add_route("*", "/{path:.*}", site.serve)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.01)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024, ssl_context=tls).start()
    return runner


async def _stopped(site: Site, runner: web.AppRunner) -> None:
    await site.close()
    await close_server(runner)


class OpenPai:
    """A running stand-in. All methods may be called from any thread."""

    def __init__(self, site: Site, loop: asyncio.AbstractEventLoop, url: str, ca_file: Path) -> None:
        self._site, self._loop = site, loop
        self.url, self.ca_file = url, ca_file
        self.settings = site.settings
        self.faults = FaultSwitch(self)

    def add_user(
        self, name: str, password: str, vcs: Iterable[str] = ("default",), storages: Iterable[str] = (),
        admin: bool = False,
    ) -> Account:  # fmt: skip
        """Add a user, with its virtual clusters and the names of its storages."""
        account = Account(name, password, admin, [*vcs], [*storages], f"private key of {name}")
        self.execute(lambda: self._site.accounts.users.update({name: account}))
        return account

    @property
    def requests(self) -> list[dict[str, Any]]:
        """All requests so far: time, method, path, query, headers, action, fault, status, sent."""
        return self.execute(lambda: [dict(note) for note in self._site.requests])

    def count(self, action: str) -> int:
        """Return the number of calls of an action, as `rest:submit`."""
        return sum(note["action"] == action for note in self.requests)

    def revoke_tokens(self, name: str) -> None:
        """Make all tokens of a user invalid."""
        self.execute(self._site.accounts.users[name].tokens.clear)

    def tokens(self, name: str) -> list[str]:
        """Return the valid tokens of a user."""
        return self.execute(lambda: [*self._site.accounts.users[name].tokens])

    def issue_token(self, name: str, seconds: float = 3600, application: bool = False) -> str:
        """Return a new token of a user: that of a session, which lives so long, or of an application."""
        accounts = self._site.accounts
        return self.execute(lambda: accounts.issue(accounts.users[name], application, seconds))

    def move_clock(self, seconds: float) -> None:
        """Move the server's clock forward."""
        self._site.clock.offset += seconds

    def job(self, key: str) -> Job:
        """Return a job by `user~job`."""
        return self._site.jobs[key]

    def add_running(self, user: str, name: str) -> Job:
        """Add a running job without processes."""

        def add() -> Job:
            site = self._site
            job = idle_job(user, name, site.folder / "jobs", site.settings, site.runs.now())
            site.jobs[job.key] = job
            return job

        return self.execute(add)

    def end_added(self, job: Job) -> None:
        """Let a job without processes succeed."""
        self.execute(lambda: end_idle_job(job, self._site.runs.now()))

    @contextmanager
    def small_pages(self, size: int) -> Iterator[None]:
        """Return at most the bytes of so many short lines of a log in one reply."""
        before, self.settings.log_bytes = self.settings.log_bytes, 20 * size
        try:
            yield
        finally:
            self.settings.log_bytes = before

    @contextmanager
    def without_filters(self) -> Iterator[None]:
        """Ignore the filters of lists of jobs; the newest jobs are those of a colleague, each with the name of a job of
        another user."""
        for job in [*self._site.jobs.values()]:
            if job.user != "colleague" and f"colleague~{job.name}" not in self._site.jobs:
                self.end_added(self.add_running("colleague", job.name))
        self.settings.filters = False
        try:
            yield
        finally:
            self.settings.filters = True

    def lose_task(self, key: str, role: str, index: int, code: int = -1001) -> None:
        """End a running task with a code of the platform's."""
        self.execute(lambda: self._site.runs.lose(self._task(key, role, index), code))

    def remove_logs(self, key: str, role: str, index: int) -> None:
        """Remove the log files of a task that has ended, as the cleaner of its node does."""
        shutil.rmtree(self._task(key, role, index).folder / "logs")

    def _task(self, key: str, role: str, index: int) -> Task:
        return next(
            task for task in self.job(key).tasks if (short_name(task.role), task.index) == (short_name(role), index)
        )

    def execute(self, work: Callable[[], _Value]) -> _Value:
        """Return the result of a function that runs in the server's thread."""

        async def call() -> _Value:
            return work()

        return asyncio.run_coroutine_threadsafe(call(), self._loop).result(60)


class FaultSwitch:
    """Adds and removes faults."""

    def __init__(self, server: OpenPai) -> None:
        self._server = server

    def add(self, kind: str, match: str = "*", **fields: Any) -> None:
        """Add a fault for actions that match a pattern: `..alibaba.faults.Fault`."""
        self._server.execute(lambda: self._server._site.faults.add(Fault(kind, match, **fields)))

    def clear(self) -> None:
        """Remove all faults."""
        self._server.execute(self._server._site.faults.clear)

    @property
    def struck(self) -> int:
        """The number of requests that failed."""
        return self._server.execute(lambda: self._server._site.faults.struck)
