"""Calls of the site by method and path, and the limits of their rates."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ..alibaba.clock import Clock
from .calls import Call, Reply
from .cluster import Cluster
from .logs import LogManager
from .submits import Jobs

__all__ = ["Rates", "Route", "routes"]

_TASK = "/jobs/{job}/attempts/{attempt}/taskRoles/{role}/taskIndex/{index}/attempts"
_WORD = re.compile(r"{(\w+)}")


@dataclass
class Route:
    """A call: `action` names it in faults and in the recorded requests; an open one needs no login."""

    method: str
    path: re.Pattern[str]
    action: str
    answer: Callable[[Call], Reply]
    is_open: bool = False


def routes(cluster: Cluster, jobs: Jobs, logs: LogManager) -> list[Route]:
    """Return all calls of the REST server and of the log manager."""
    open_calls = [
        ("GET", "/info", cluster.info), ("GET", "/authn/info", cluster.authn_info),
        ("POST", "/authn/basic/login", cluster.login),
    ]  # fmt: skip
    calls = [
        ("DELETE", "/authn/basic/logout", cluster.logout), ("GET", "/tokens", cluster.tokens),
        ("GET", "/tokens/check", cluster.check_token), ("POST", "/tokens/application", cluster.make_token),
        ("DELETE", "/tokens/{token}", cluster.revoke_token), ("GET", "/users/{user}", cluster.user),
        ("GET", "/virtual-clusters", cluster.virtual_clusters),
        ("GET", "/virtual-clusters/{vc}", cluster.one_virtual_cluster),
        ("GET", "/cluster/sku-types", cluster.sku_types), ("GET", "/storages", cluster.storages),
        ("GET", "/storages/{name}", cluster.storage),
        ("POST", "/jobs", jobs.submit), ("GET", "/jobs", jobs.list), ("GET", "/jobs/{job}", jobs.detail),
        ("GET", "/jobs/{job}/attempts/{attempt}", jobs.detail), ("GET", "/jobs/{job}/config", jobs.config),
        ("PUT", "/jobs/{job}/executionType", jobs.execute), ("GET", "/jobs/{job}/events", jobs.events),
        ("PUT", "/jobs/{job}/tag", jobs.tag), ("DELETE", "/jobs/{job}/tag", jobs.tag),
        ("GET", "/jobs/{job}/ssh", jobs.ssh), ("GET", _TASK, jobs.task_attempts),
        ("GET", f"{_TASK}/{{retry}}/logs", jobs.logs),
    ]  # fmt: skip
    base = "/rest-server/api/v2"
    found = [_route(method, base + path, answer, True) for method, path, answer in open_calls]
    found.append(_route("POST", "/rest-server/api/v1/token", cluster.login, True))
    found.append(_route("POST", "/rest-server/api/v1/authn/basic/login", cluster.login, True))
    found += [_route(method, base + path, answer, False) for method, path, answer in calls]
    found.append(_route("GET", "/log-manager/{node}/api/v1/logs/{file}", logs.read, True))
    return found


def _route(method: str, path: str, answer: Callable[[Call], Reply], is_open: bool) -> Route:
    pattern = re.compile(_WORD.sub(r"(?P<\1>[^/]+)", re.escape(path).replace(r"\{", "{").replace(r"\}", "}")) + r"\Z")
    service = "logs" if path.startswith("/log-manager") else "rest"
    return Route(method, pattern, f"{service}:{answer.__name__}", answer, is_open)


class Rates:
    """Counts of calls in fixed windows of time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._windows: dict[str, tuple[float, int]] = {}

    def take(self, name: str, limit: int, seconds: int) -> tuple[bool, dict[str, str]]:
        """Count a call; return whether it is within the limit, and the headers of the reply."""
        now = self._clock.now()
        end, used = self._windows.get(name, (0.0, 0))
        if end <= now:
            end, used = now + seconds, 0
        self._windows[name] = end, used + 1
        headers = {"X-RateLimit-Limit": str(limit), "X-RateLimit-Remaining": str(max(0, limit - used - 1))}
        headers["X-RateLimit-Reset"] = str(int(end))
        if used < limit:
            return True, headers
        return False, headers | {"Retry-After": str(max(1, int(end - now)))}
