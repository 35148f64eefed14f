"""The engine's verbs about what a platform alone has of a job that runs there: the models that it has made."""

from __future__ import annotations

import dataclasses
from typing import Any

from .backends.base import Capability
from .backends.remote import RemoteBackend
from .errors import Conflict, Unsupported
from .i18n import _
from .job import Job
from .service import JobService

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

    def _platform(self, job: Job, capability: Capability, otherwise: str) -> RemoteBackend:
        """The platform that a job runs on. What it cannot do is said, with what to do instead."""
        backend = self.service.profiles.backend_of(job)
        if capability not in backend.capabilities or not isinstance(backend, RemoteBackend):
            raise Unsupported(
                _("The backend `{name}` cannot do this: {what}.").format(name=job.backend, what=capability.value),
                fix=otherwise,
            )
        if not job.remote_id:
            raise Conflict(
                _("The job {job} is not on its platform yet.").format(job=job.id), fix=_("Try again in a moment.")
            )
        return backend
