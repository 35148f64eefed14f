"""A training job of the platform as a spec of ours: what can be told of one that was submitted elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.errors import SpecError
from ...jobs.datasets import DataSet
from ...jobs.job import now
from ...jobs.metrics.patterns import compile_pattern
from ...jobs.spec import JobSpec, MetricDefinition
from ..reports import RemoteJob
from .job_response import moment, report_of
from .request_body import HOME_LABEL, JOB_LABEL

__all__ = ["adopted", "pairs"]

_LONGEST_NAME = 200


def adopted(job: Mapping[str, Any]) -> RemoteJob:
    """A job as GetTrainingJob and ListTrainingJobs give it."""
    report = report_of(job)
    return RemoteJob(
        remote_id=str(job.get("TrainingJobId") or ""),
        spec=_spec(job),
        report=report,
        submitted_at=moment(job.get("GmtCreateTime")) or now(),
        user=str(job.get("UserId") or ""),
        console_url=report.console_url,
        outputs=_channels(job.get("OutputChannels"), "OutputUri"),
    )


def _spec(job: Mapping[str, Any]) -> JobSpec:
    algorithm, compute = job.get("AlgorithmSpec") or {}, job.get("ComputeResource") or {}
    remote_id = str(job.get("TrainingJobId") or "")
    return JobSpec(
        name=_name(str(job.get("TrainingJobName") or remote_id)),
        command=_command(algorithm.get("Command")) or str(job.get("AlgorithmName") or "") or remote_id,
        image=str(algorithm.get("Image") or ""),
        instance_type=str(compute.get("EcsSpec") or ""),
        instance_count=int(compute.get("EcsCount") or compute.get("InstanceCount") or 1),
        hyperparameters=pairs(job.get("HyperParameters"), "Name"),
        inputs=_channels(job.get("InputChannels"), "InputUri") | _datasets(job.get("InputChannels")),
        environment={str(name): str(value) for name, value in (job.get("Environments") or {}).items()},
        requirements=tuple(map(str, job.get("PythonRequirements") or ())),
        metric_definitions=_definitions(algorithm),
        labels={k: v for k, v in pairs(job.get("Labels"), "Key").items() if k not in (JOB_LABEL, HOME_LABEL)},
    )


def _name(text: str) -> str:
    return "".join(c for c in text if c.isprintable()).strip()[:128] or "job"


def _command(words: Any) -> str:
    """The script that ``sh -c`` gets; a command that is no such thing as a line of its words."""
    if isinstance(words, str):
        return words
    words = [str(word) for word in words or ()]
    return words[2] if len(words) == 3 and words[1] == "-c" else " ".join(words)


def _channels(items: Any, uri: str) -> dict[str, str]:
    """Channel to URI; those that are data sets of the platform's own have none."""
    return {str(item["Name"]): str(item[uri]) for item in items or () if item.get("Name") and item.get(uri)}


def _datasets(items: Any) -> dict[str, str]:
    """The channels that are such data sets, by our URIs for them."""
    return {
        str(item["Name"]): DataSet(str(item["DatasetId"]), str(item.get("VersionName") or "")).uri
        for item in items or ()
        if item.get("Name") and item.get("DatasetId") and not item.get("InputUri")
    }


def pairs(items: Any, name: str) -> dict[str, str]:
    """A list of objects with a name and a `Value` as a table; `name` is what the wire calls the name."""
    return {str(item[name]): str(item.get("Value") or "") for item in items or () if item.get(name)}


def _definitions(algorithm: Mapping[str, Any]) -> tuple[MetricDefinition, ...]:
    """The metrics that we can read from the log as the platform does, each once. Points of the others it gives us."""
    found = {
        str(item["Name"]): str(item["Regex"])
        for item in algorithm.get("MetricDefinitions") or ()
        if item.get("Name") and item.get("Regex") and len(str(item["Name"])) <= _LONGEST_NAME
    }
    return tuple(filter(_is_readable, (MetricDefinition(name=name, regex=regex) for name, regex in found.items())))


def _is_readable(definition: MetricDefinition) -> bool:
    try:
        compile_pattern(definition)
    except SpecError:
        return False
    return True
