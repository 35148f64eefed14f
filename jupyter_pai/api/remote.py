"""The engine's verbs about what a platform alone has of a job that runs there: the models that it has made, terminals
in its instances."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ..backends.base import Backend, Capability
from ..core.errors import BackendError, Conflict, NotFound, Refused, Unsupported
from ..core.i18n import _
from ..engine.service import JobService
from ..jobs.job import Job

__all__ = ["RemoteVerbs"]


class RemoteVerbs:
    """A part of `api.Api`."""

    service: JobService

    async def output_models(self, job: str) -> dict[str, Any]:
        found = self.service.find(job)
        backend = self._platform(
            found, Capability.OUTPUT_MODELS, _("See what it has written: %pai outputs {job}").format(job=found.id)
        )
        models = await backend.output_models(found.remote_id)
        return {"models": [dataclasses.asdict(model) for model in models]}

    async def open_terminal(self, job: str, instance: str = "") -> dict[str, Any]:
        found = self.service.find(job)
        log = _("See its log: %pai logs {job}").format(job=found.id)
        backend = self._platform(found, Capability.TERMINAL, log)
        if found.status.ended:
            raise Conflict(_("The job {job} has ended: no terminal opens in it.").format(job=found.id), fix=log)
        chosen = _instance(found, await backend.instances(found.remote_id), instance)
        try:
            url = await backend.terminal(found.remote_id, chosen)
        except Refused as error:
            error.fix = error.fix or _("See how the job stands: %pai show {job}").format(job=found.id)
            raise
        if not url:
            raise BackendError(
                _("The platform gave no address of a terminal in {instance}.").format(instance=chosen),
                fix=_("Open it on the platform's own page: {url}").format(url=found.console_url),
            )
        return {"instance": chosen, "url": url}

    def _platform(self, job: Job, capability: Capability, otherwise: str) -> Backend:
        """The platform that a job runs on. What it cannot do is said, with what to do instead."""
        backend = self.service.profiles.backend_of(job)
        if capability not in backend.capabilities:
            raise Unsupported(
                _("The backend `{name}` cannot do this: {what}.").format(name=job.backend, what=capability.value),
                fix=otherwise,
            )
        if not job.remote_id:
            raise Conflict(
                _("The job {job} is not on its platform yet.").format(job=job.id), fix=_("Try again in a moment.")
            )
        return backend


def _instance(job: Job, names: Sequence[str], wanted: str) -> str:
    """The instance that is meant; the first, if none is named."""
    if not names:
        raise Conflict(
            _("The job {job} has no instance yet.").format(job=job.id),
            fix=_("Wait until it runs: %pai show {job}").format(job=job.id),
        )
    if wanted and wanted not in names:
        raise NotFound(
            _("The job {job} has no instance `{name}`.").format(job=job.id, name=wanted),
            fix=_("Known are: {names}.").format(names=", ".join(names)),
        )
    return wanted or names[0]
