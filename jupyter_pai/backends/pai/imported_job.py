"""Converts a training job submitted elsewhere, and its models, from PaiStudio's replies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.errors import SpecError
from ...jobs.datasets import DataSet
from ...jobs.job import now
from ...jobs.metrics.patterns import compile_pattern
from ...jobs.spec import JobSpec, MetricDefinition
from ..reports import OutputModel, RemoteJob
from .job_response import moment, report_of
from .request_body import HOME_LABEL, JOB_LABEL

_LONGEST_NAME = 200


def remote_job(job: Mapping[str, Any]) -> RemoteJob:
    """Return a job of GetTrainingJob or ListTrainingJobs."""
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
        hyperparameters=_pairs(job.get("HyperParameters"), "Name"),
        inputs=_channels(job.get("InputChannels"), "InputUri"),
        environment={str(name): str(value) for name, value in (job.get("Environments") or {}).items()},
        requirements=tuple(map(str, job.get("PythonRequirements") or ())),
        metric_definitions=_definitions(algorithm),
        labels={k: v for k, v in _pairs(job.get("Labels"), "Key").items() if k not in (JOB_LABEL, HOME_LABEL)},
    )


def _name(text: str) -> str:
    return "".join(c for c in text if c.isprintable()).strip()[:128] or "job"


def _command(words: Any) -> str:
    """Return the script of ``sh -c``; for other commands, their words in one line."""
    if isinstance(words, str):
        return words
    words = [str(word) for word in words or ()]
    return words[2] if len(words) == 3 and words[1] == "-c" else " ".join(words)


def _channels(items: Any, uri: str) -> dict[str, str]:
    """Return channel to URI; a ``dataset://`` URI for data sets of the platform, which have none."""
    return {
        str(item["Name"]): str(item.get(uri) or DataSet(str(item["DatasetId"]), str(item.get("VersionName") or "")).uri)
        for item in items or ()
        if item.get("Name") and (item.get(uri) or item.get("DatasetId"))
    }


def _pairs(items: Any, name: str) -> dict[str, str]:
    """Return a list of name and `Value` objects as a dict; `name` is the key of the name."""
    return {str(item[name]): str(item.get("Value") or "") for item in items or () if item.get(name)}


def _definitions(algorithm: Mapping[str, Any]) -> tuple[MetricDefinition, ...]:
    """Return the metrics that can be read from the log here. The platform supplies the points of all others."""
    patterns = {
        str(item["Name"]): str(item["Regex"])
        for item in algorithm.get("MetricDefinitions") or ()
        if item.get("Name") and item.get("Regex") and len(str(item["Name"])) <= _LONGEST_NAME
    }
    return tuple(filter(_is_readable, (MetricDefinition(name=name, regex=regex) for name, regex in patterns.items())))


def _is_readable(definition: MetricDefinition) -> bool:
    try:
        compile_pattern(definition)
    except SpecError:
        return False
    return True


def output_model(item: Mapping[str, Any]) -> OutputModel:
    """Return a model that a job registered, an item of ListTrainingJobOutputModels."""
    return OutputModel(
        uri=str(item.get("Uri") or ""),
        channel=str(item.get("OutputChannelName") or ""),
        labels=_pairs(item.get("Labels"), "Key"),
        metrics=dict(item.get("Metrics") or {}),
    )
