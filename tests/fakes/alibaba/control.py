"""The operations of a test on a stand-in, beside those of the services."""

from __future__ import annotations

import json
import traceback
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any

from aiohttp import web

from .clock import Clock
from .dlc.control import dlc_calls
from .dlc.service import DlcService
from .faults import Fault, Faults
from .jobs import Point, TrainingJob
from .keys import Keyring
from .models import Models
from .oss import Oss
from .quotas import Quotas
from .tensorboards import Tensorboards
from .training import Training

__all__ = ["Control"]


class Control:
    """Calls by name, with JSON arguments, on a port of its own."""

    def __init__(
        self,
        keyring: Keyring,
        clock: Clock,
        faults: Faults,
        oss: Oss,
        training: Training,
        dlc: DlcService,
        boards: Tensorboards,
        models: Models,
        quotas: Quotas,
        notes: list[dict[str, Any]],
    ) -> None:
        self._keyring, self._clock, self._oss, self._training = keyring, clock, oss, training
        self._dlc = dlc
        self._faults, self._models, self._quotas, self._notes = faults, models, quotas, notes
        # Those of the platform's services.
        self.servers: list[web.Server] = []
        self.calls: dict[str, Callable[..., Any]] = {
            **dlc_calls(dlc),
            "make_key": lambda **arguments: vars(keyring.make(**arguments)),
            "sts": lambda **arguments: vars(keyring.sts(**arguments)),
            "change_key": self._change_key,
            "requests": lambda start=0: notes[start:],
            "clear": self._clear,
            "forget_requests": notes.clear,
            "add_fault": lambda **arguments: faults.add(Fault(**arguments)),
            "clear_faults": faults.clear,
            "struck": lambda: faults.struck,
            "set_clock": self._set_clock,
            "set_list_lag": self._set_list_lag,
            "set_filters": self._set_filters,
            "set_largest_page": self._set_largest_page,
            "make_bucket": lambda name, region="": oss.make_bucket(name, region) and None,
            "keys": lambda bucket, prefix: [stored.key for stored in oss.buckets[bucket].below(prefix)],
            "read": self._read,
            "write": self._write,
            "delete": lambda bucket, key: oss.buckets[bucket].delete(key),
            "jobs": lambda: [self._job_fields(job) for job in training.jobs.values()],
            "add_jobs": self._add_jobs,
            "set_job": self._set_job,
            "swap_job": lambda job_id, other: training.swapped.update({job_id: other}),
            "remove_job": lambda job_id: training.jobs.pop(job_id) and None,
            "fail_next": lambda status, code, message: training.fates.append((status, code, message)),
            "fail_next_board": boards.fail_next,
            "add_lines": self._add_lines,
            "add_points": self._add_points,
            "add_dataset": training.datasets.add,
            "expire_log": lambda job_id: training.jobs[job_id].expire_log(),
            "age_job": lambda job_id, seconds: training.jobs[job_id].history.age(seconds),
            "uploads": lambda bucket: [upload.key for upload in oss.buckets[bucket].uploads.values()],
        }

    async def handle(self, request: web.BaseRequest) -> web.Response:
        """Process a call."""
        message = json.loads(await request.content.read())
        try:
            return web.json_response({"result": self.calls[message["call"]](**message["arguments"])})
        except Exception as error:
            traceback.print_exc()
            return web.json_response({"error": f"{type(error).__name__}: {error}"}, status=500)

    def _change_key(self, key_id: str, **changes: Any) -> None:
        key = self._keyring.find(key_id)
        assert key is not None, f"there is no key {key_id}"
        for name, value in changes.items():
            assert hasattr(key, name)
            setattr(key, name, value)

    def _job_fields(self, job: TrainingJob) -> dict[str, Any]:
        reply = {"id": job.id, "status": job.status, "request": job.request, "labels": job.labels, "pip": job.pip}
        return reply | {"lines": len(job.lines.texts), "name": job.request.get("TrainingJobName", "")}

    def _add_jobs(self, count: int, status: str, fields: dict[str, Any]) -> list[str]:
        made = []
        for number in range(count):
            body = {
                "TrainingJobName": f"scripted-{number}",
                "ComputeResource": {"EcsSpec": "ecs.c6.large", "EcsCount": 1},
            }
            job = self._training.add(body | fields)
            job.make_instances()
            job.enter(status)
            made.append(job.id)
        return made

    def _set_job(self, job_id: str, status: str, code: str = "", message: str = "") -> None:
        self._training.jobs[job_id].enter(status, code, message)

    def _add_lines(self, job_id: str, lines: list[str], count: int, instance: int) -> None:
        """`{number}` in a line is counted from 0; `count` is how often the lines are repeated."""
        job = self._training.jobs[job_id]
        first = len(job.lines.texts)
        texts = [line.replace("{number}", str(first + number)) for number in range(count) for line in lines]
        job.log(job.instances[instance].name, texts)

    def _add_points(self, job_id: str, name: str, values: list[float]) -> None:
        job = self._training.jobs[job_id]
        job.points += [Point(name, self._clock.now(), value) for value in values]

    def _clear(self) -> None:
        # A request of an engine that has closed may not be read yet.
        for connection in (one for server in self.servers for one in server.connections):
            if connection.transport:
                connection.transport.abort()
        self._faults.reset()
        self._notes.clear()
        self._models.clear()
        self._quotas.clear()
        self._clock.offset = self._training.list_lag = self._dlc.list_lag = 0
        first = next(iter(self._oss.buckets))
        self._oss.buckets.clear()
        self._oss.make_bucket(first)

    def _set_clock(self, offset: float) -> None:
        self._clock.offset = offset

    def _set_list_lag(self, seconds: float) -> None:
        self._training.list_lag = self._dlc.list_lag = seconds

    def _set_filters(self, on: bool) -> None:
        self._training.filters = self._dlc.filters = on

    def _set_largest_page(self, size: int) -> None:
        self._training.largest_page = self._dlc.largest_page = size

    def _read(self, bucket: str, key: str) -> str:
        stored = self._oss.buckets[bucket].get(key)
        if stored is None:
            raise FileNotFoundError(f"there is no oss://{bucket}/{key}")
        return b64encode(stored.blob.read()).decode()

    def _write(self, bucket: str, key: str, data: str) -> None:
        self._oss.store(bucket, key, b64decode(data))
