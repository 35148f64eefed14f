"""Results of steps that have ended: the values of references in conditions and specs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from ...core.errors import SpecError
from ...core.i18n import _
from ...jobs.job import Job
from ...jobs.metrics.series import Series
from ...jobs.workflows.references import CHANNEL, METRICS, OUTPUTS, Reference
from ..data.browse import place_below
from ..data.channels import open_channel
from ..data.storages import Storages
from ..watcher.loop import Watcher

__all__ = ["as_text", "values_of"]

# Names that a message lists.
_MOST_NAMED = 20


async def values_of(
    references: Iterable[Reference], jobs: Mapping[str, Job], watcher: Watcher
) -> dict[Reference, str | float]:
    """Return the values of references to the results of steps: texts without blanks at their ends, and numbers. `jobs`
    has the job of each step.

    Raises:
        SpecError: if a job did not write one of them.
    """
    values: dict[Reference, str | float] = {}
    for reference in references:
        job = jobs[reference.step]
        if reference.kind == CHANNEL:
            values[reference] = await asyncio.to_thread(_channel, watcher.storages, job, reference)
        elif reference.kind != METRICS and reference.name in job.output_parameters:
            values[reference] = job.output_parameters[reference.name].strip()
        else:
            values[reference] = await _metric(watcher, job, reference)
    return values


async def _metric(watcher: Watcher, job: Job, reference: Reference) -> float:
    """Return the last value of a metric."""
    metrics: dict[str, float] = {}
    if reference.kind != OUTPUTS:
        metrics = _metrics(watcher, job)
        if reference.name not in metrics:
            await watcher.ensure_fresh(job)  # Points of a platform may still arrive.
            metrics = _metrics(watcher, job)
        if reference.name in metrics:
            return metrics[reference.name]
    known = {"": [*job.output_parameters, *metrics], OUTPUTS: [*job.output_parameters], METRICS: [*metrics]}
    names = ", ".join(sorted(known[reference.kind])[:_MOST_NAMED]) or _("none")
    text = {
        OUTPUTS: _("The step `{step}` did not write the output parameter `{name}`. It wrote: {known}."),
        METRICS: _("The step `{step}` has no metric `{name}`. It has: {known}."),
        "": _("The step `{step}` has neither an output parameter nor a metric `{name}`. It has: {known}."),
    }[reference.kind]
    fix = {
        METRICS: _("Print the metric, or report it: jupyter_pai.report(NAME=VALUE)."),
    }.get(reference.kind, _("Write its value into the file /ml/output/output_parameters/{name} of the job."))
    raise SpecError(
        text.format(step=reference.step, name=reference.name, known=names), fix=fix.format(name=reference.name)
    )


def _metrics(watcher: Watcher, job: Job) -> dict[str, float]:
    series = Series(watcher.home.job(job.id).series)
    return {name: point.value for name, point in series.latest().items()}


def _channel(storages: Storages, job: Job, reference: Reference) -> str:
    """Return the URI of the files of an output channel, or of a path below it."""
    channel, _slash, path = reference.name.partition("/")
    missing = SpecError(
        _("The step `{step}` wrote nothing to {place}.").format(
            step=reference.step, place=f"{channel}/{path}" if path else channel
        ),
        fix=_("Write files to the folder in PAI_OUTPUT_{name}.").format(name=channel.upper().replace("-", "_")),
    )
    if channel not in job.outputs:
        raise missing
    place = place_below(open_channel(storages, job, channel), path)
    found = place.storage.stat(place.uri) if path else None
    is_file = found is not None and not found.is_folder
    if not is_file and not place.storage.entries(place.folder.uri, most=1):
        raise missing
    output = job.outputs[channel]
    return place_below(storages.at(output, job.profile), path).uri if path else output


def as_text(value: str | float) -> str:
    """Return a value as a text: a whole number without a point."""
    if isinstance(value, str):
        return value
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
