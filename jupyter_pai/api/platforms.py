"""The engine's verbs about platforms: what there is on them, profiles, jobs from elsewhere, and whether all is well."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from datetime import UTC, datetime
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, RootModel

from ..backends import load_backends
from ..backends.base import Capability
from ..backends.resources import ImageQuery
from ..core.errors import PaiError, UsageError
from ..core.i18n import _
from ..engine.requests import Adopt
from ..engine.requests import parse as _parse
from ..engine.service import JobService
from ..jobs.logs.view import parse_time

__all__ = ["CredentialsValue", "PlatformVerbs", "ProfileChange"]

T = TypeVar("T")

_LARGEST_LIST = 500
# Letters of a profile's name in the audit log.
_LONGEST = 200


class ProfileChange(BaseModel):
    """`values` are keys to set (null removes one); `default` makes the profile the default one."""

    model_config = ConfigDict(extra="forbid")
    values: dict[str, Any] | None = None
    default: bool = False


class CredentialsValue(RootModel[dict[str, Any]]):
    """What a profile logs in with: the fields that its backend's `credentials` have. For the document alone: what is
    wrong is said by the backend's own model, without what was given."""

    model_config = ConfigDict(json_schema_extra={"format": "password", "writeOnly": True})


class PlatformVerbs:
    """A part of `api.Api`."""

    service: JobService

    async def instances(self, profile: str = "", backend: str = "") -> dict[str, Any]:
        chosen = self.service.profiles.chosen(profile, backend)
        asked = self.service.profiles.backend(chosen)
        kinds, quotas = await asyncio.gather(asked.instance_types(), asked.quotas())
        allowed = self._allowed("instance_types", kinds, lambda kind: kind.name)
        return {
            "profile": chosen.name,
            "instances": [dataclasses.asdict(kind) for kind in allowed],
            "left_out": len(kinds) - len(allowed),
            "quotas": [dataclasses.asdict(quota) for quota in quotas],
        }

    async def images(
        self,
        profile: str = "",
        backend: str = "",
        framework: str = "",
        version: str = "",
        accelerator: str = "",
        scope: str = "",
    ) -> dict[str, Any]:
        chosen = self.service.profiles.with_capability(Capability.IMAGES, profile, backend)
        wanted = ImageQuery(framework, version, accelerator, scope or "training")
        found = await self.service.profiles.backend(chosen).images(wanted)
        allowed = self._allowed("images", found, lambda image: image.uri)
        return {
            "profile": chosen.name,
            "images": [dataclasses.asdict(image) for image in allowed],
            "left_out": len(found) - len(allowed),
        }

    def _allowed(self, rule: str, found: Sequence[T], word: Callable[[T], str]) -> list[T]:
        """Those that a list of the policy has."""
        policy = self.service.profiles.policy()
        return [one for one in found if policy.allows(rule, word(one))]

    async def profiles(self) -> dict[str, Any]:
        profiles = self.service.profiles
        settings = profiles.settings()
        return {
            "default": settings.default,
            "profiles": [
                {
                    "name": profile.name,
                    "file": str(profile.file or ""),
                    "locked": profile.name in settings.locked,
                    "refused": settings.policy.why_not(profile.name, profile.backend),
                    "settings": profile.settings.model_dump(mode="json", exclude_defaults=True),
                    "credentials": profiles.kept(profile)._asdict(),
                }
                for profile in settings.profiles.values()
            ],
            "credentials_file": profiles.credentials.file,
        }

    async def set_profile(self, profile: str, body: object) -> dict[str, Any]:
        change = _parse(ProfileChange, body)
        if change.values is None and not change.default:
            raise UsageError(_("Nothing to change: give values, or make the profile the default one."))
        # In a thread, like all that may have to do with a keyring.
        await asyncio.to_thread(self.service.profiles.edit, profile, change.values, default=change.default)
        return await self.profiles()

    async def remove_profile(self, profile: str) -> dict[str, Any]:
        profiles = self.service.profiles
        async with self._login("remove_credentials", profile) if profiles.names_own(profile) else nullcontext():
            await asyncio.to_thread(profiles.edit, profile)
        return await self.profiles()

    async def set_credentials(self, profile: str, body: object) -> dict[str, Any]:
        async with self._login("set_credentials", profile):
            await asyncio.to_thread(self.service.profiles.log_in, profile, body)
        return await self.profiles()

    async def remove_credentials(self, profile: str) -> dict[str, Any]:
        async with self._login("remove_credentials", profile):
            await asyncio.to_thread(self.service.profiles.log_out, profile)
        return await self.profiles()

    @asynccontextmanager
    async def _login(self, verb: str, profile: str) -> AsyncIterator[None]:
        """A line of the audit log for what happens to a profile's credentials."""
        async with self.service.audit.entry(verb) as entry:
            entry.fields["profile"] = profile[:_LONGEST]
            with suppress(PaiError):  # What is wrong is said by what is done.
                entry.fields["backend"] = self.service.profiles.settings().pick(profile).backend
            yield

    async def remote_jobs(
        self, profile: str = "", backend: str = "", before: str = "", limit: int = 50
    ) -> dict[str, Any]:
        if not 0 < limit <= _LARGEST_LIST:
            raise UsageError(_("limit is 1 to {n}.").format(n=_LARGEST_LIST))
        moment = parse_time(before)
        when = None if moment is None else datetime.fromtimestamp(moment, UTC)
        chosen, found = await self.service.adoption.jobs(profile, backend, when, limit)
        known = self.service.store.jobs.by_remote_id
        return {
            "profile": chosen.name,
            "jobs": [
                {
                    "remote_id": job.remote_id,
                    "name": job.spec.name,
                    "status": job.report.status,
                    "platform_status": job.report.platform_status,
                    "submitted_at": job.submitted_at.isoformat(),
                    "user": job.user,
                    "console_url": job.console_url,
                    "job_id": ours.id if (ours := known(chosen.backend, job.remote_id)) else "",
                }
                for job in found
            ],
        }

    async def adopt(self, body: object) -> dict[str, Any]:
        async with self.service.audit.entry("adopt") as entry:
            asked = _parse(Adopt, body)
            entry.fields |= {"job": asked.remote_id, "profile": asked.profile, "backend": asked.backend}
            job = await self.service.adoption.adopt(asked.remote_id, asked.profile, asked.backend)
            entry.of_job(job)
        return self.service.describe(job)

    async def doctor(self, profile: str = "", backend: str = "") -> dict[str, Any]:
        found = await self.service.doctor(profile, backend)
        return {"findings": [dataclasses.asdict(finding) for finding in found]}

    async def trials(self) -> dict[str, Any]:
        backends = load_backends().values()
        return {
            "trials": [
                {"name": trial.name, "backend": backend.name, "what": _(trial.what), "how": _(trial.how)}
                for backend in backends
                for trial in backend.trials()
            ]
        }
