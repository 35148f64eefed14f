"""The operations of a test on the jobs of DLC."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .jobs import DlcJob, Pod
from .service import DlcService

__all__ = ["dlc_calls"]

_BODY: dict[str, Any] = {
    "JobType": "PyTorchJob",
    "UserCommand": "true",
    "JobSpecs": [{"Type": "Worker", "Image": "example.com/image:1", "PodCount": 1, "EcsSpec": "ecs.c6.large"}],
}


def dlc_calls(service: DlcService) -> dict[str, Callable[..., Any]]:
    """Return the calls by name."""

    def pod_of(job_id: str, number: int) -> Pod:
        return service.jobs[job_id].pods[number]

    def add(count: int, status: str, fields: dict[str, Any]) -> list[str]:
        made = []
        for number in range(count):
            job = service.add(_BODY | {"DisplayName": f"scripted-{number}"} | fields)
            job.make_pods()
            set_status(job.id, status)
            made.append(job.id)
        return made

    def set_status(job_id: str, status: str, code: str = "", message: str = "") -> None:
        job = service.jobs[job_id]
        if status == "Running":
            for pod in job.pods:
                pod.enter("Running", job.now)
        job.enter(status, code, message)

    def set_pod(job_id: str, status: str, sub_status: str, pod: int) -> None:
        chosen = pod_of(job_id, pod)
        chosen.enter(status, service.jobs[job_id].now)
        chosen.sub_status = sub_status or chosen.sub_status

    def restart(job_id: str, pod: int) -> str:
        job = service.jobs[job_id]
        made = job.restart_pod(job.pods[pod])
        made.enter("Running", job.now)
        return made.uid

    def add_lines(job_id: str, lines: list[str], count: int, pod: int, over: float) -> None:
        chosen, now = pod_of(job_id, pod), service.jobs[job_id].now
        first, total = len(chosen.lines.texts), count * len(lines)
        texts = [line.replace("{number}", str(first + number)) for number in range(count) for line in lines]
        chosen.log(texts, [now - over + over * (number + 1) / total for number in range(total)])

    def add_events(job_id: str, texts: list[str], pod: int | None) -> None:
        job = service.jobs[job_id]
        for text in texts:
            job.history.tell(text) if pod is None else job.pods[pod].tell(text, job.now)

    def expire_log(job_id: str) -> None:
        for pod in service.jobs[job_id].pods:
            pod.lines = type(pod.lines)()

    return {
        "dlc_jobs": lambda: [_fields(job) for job in service.jobs.values()],
        "dlc_add": add,
        "dlc_set": set_status,
        "dlc_set_pod": set_pod,
        "dlc_restart_pod": restart,
        "dlc_add_lines": add_lines,
        "dlc_add_events": add_events,
        "dlc_expire_log": expire_log,
        "dlc_remove": lambda job_id: service.jobs.pop(job_id) and None,
        "dlc_age": lambda job_id, seconds: service.jobs[job_id].age(seconds),
        "dlc_fail_next": lambda status, code, message: service.fates.append((status, code, message)),
    }


def _fields(job: DlcJob) -> dict[str, Any]:
    pods = [
        {
            "id": pod.node.name,
            "uid": pod.uid,
            "type": pod.node.role,
            "status": pod.node.status,
            "lines": len(pod.lines.texts),
        }
        for pod in job.pods
    ]
    reply = {"id": job.id, "name": job.request["DisplayName"], "status": job.status, "type": job.request["JobType"]}
    return reply | {"request": job.request, "priority": job.priority, "pip": job.pip, "pods": pods}
