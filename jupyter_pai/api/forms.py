"""The engine's verbs that forms ask, before anything is submitted."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

from ..backends import load_backends
from ..backends.base import Backend, Capability
from ..core.i18n import _
from ..core.json_schema import form_schema
from ..engine import form_defaults as form_beginning
from ..engine.recipe import recipe
from ..engine.requests import submit_request
from ..engine.submit_plan import script_for_notebook
from ..jobs.spec import JobSpec
from .outputs import OutputVerbs

__all__ = ["FormVerbs"]


class FormVerbs(OutputVerbs):
    """A part of `api.Api`."""

    async def preview(self, body: object, quick: bool = False) -> dict[str, Any]:
        found = await self.service.submitter.preview(submit_request(body), quick=quick)
        return found.model_dump(mode="json")

    async def inspect(self, body: object) -> dict[str, Any]:
        return dataclasses.asdict(await self.service.submitter.inspect(submit_request(body)))

    async def backends(self) -> dict[str, Any]:
        return {"backends": [_view(kind) for kind in load_backends().values()], "spec": form_schema(JobSpec)}

    async def form(self, path: str = "", profile: str = "", backend: str = "") -> dict[str, Any]:
        target = form_beginning.target_of(self._path(path))
        runnable = await asyncio.to_thread(form_beginning.entries, target.folder)
        settings = self.service.profiles.settings()
        if profile or backend:
            settings.pick(profile, backend)
        jobs, _total = self.service.jobs(target.jobs)
        last = jobs[0] if jobs else None
        spec = form_beginning.spec_of(target, runnable)
        if last:
            picks = Capability.SIZES in self.service.profiles.capabilities(last.backend)
            earlier = form_beginning.settings_of(last, target, settings, picks=picks)
            spec = earlier.model_dump(mode="json", exclude_defaults=True)
            spec = {name: value for name, value in spec.items() if value not in ("", None)}
        if not (profile or backend or last):
            spec |= form_beginning.place_of(settings)
        if profile or backend:
            spec.pop("profile", None)
            spec |= {"profile": profile} if profile else {}
        notebook = str(target.path) if target.kind == "notebook" else ""
        return {
            "request": {
                "spec": spec,
                "backend": "" if profile else backend,
                "notebook": notebook,
                "script_if_needed": True,
            },
            "kind": target.kind,
            "last": last and {"id": last.id, "name": last.name, "submitted_at": last.submitted_at.isoformat()},
            "entries": runnable,
        }

    async def recipe(self, body: object) -> dict[str, Any]:
        request = submit_request(body)
        chosen = self.service.profiles.settings().pick(request.spec.profile, request.backend)
        profile = chosen.name if request.backend or request.spec.profile else ""
        capabilities = self.service.profiles.capabilities(chosen.backend)
        spec = script_for_notebook(request, chosen.backend, capabilities)[0]
        named = isinstance(body, dict) and bool(body["spec"].get("name"))
        script = None if spec is request.spec else spec
        return recipe(request.spec, request.backend, profile=profile, named=named, script=script)._asdict()


def _view(kind: type[Backend]) -> dict[str, Any]:
    return {
        "name": kind.name,
        "title": _(kind.title) if kind.title else kind.name,
        "capabilities": sorted(capability.value for capability in kind.capabilities),
        "settings": form_schema(kind.settings_model),
        "options": form_schema(kind.options_model),
        "credentials": form_schema(kind.credentials_model),
    }
