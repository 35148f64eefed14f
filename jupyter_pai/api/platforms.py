"""Endpoints of platforms: their instance types and images, and `doctor`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from ..backends import load_backends
from ..backends.base import Capability, Finding
from ..backends.resources import Image, ImageQuery, InstanceType, Quota
from ..core.i18n import _
from .endpoint import Context, TypedDict, endpoint

T = TypeVar("T")


class InstancesReply(TypedDict):
    """`left_out` is the number of instance types that the policy excludes."""

    profile: str
    left_out: int
    instances: list[InstanceType]
    quotas: list[Quota]


class ImagesReply(TypedDict):
    """`left_out` is the number of images that the policy excludes."""

    profile: str
    left_out: int
    images: list[Image]


class FindingsReply(TypedDict):
    findings: list[Finding]


class TrialView(TypedDict):
    """A check that requires a person with an account: the expected result, and the steps."""

    name: str
    backend: str
    what: str
    how: str


class TrialsReply(TypedDict):
    trials: list[TrialView]


@endpoint("GET", "/instances")
async def instances(
    context: Context,
    profile: Annotated[str, "The profile. Default: the default profile."] = "",
    backend: Annotated[str, "Or a backend, for its default profile."] = "",
) -> InstancesReply:
    """List the instance types for jobs of a profile, and the account's quotas."""
    chosen = context.service.profiles.chosen(profile, backend)
    platform = context.service.profiles.backend(chosen)
    types, quotas = await asyncio.gather(platform.instance_types(), platform.quotas())
    allowed = _allowed(context, "instance_types", types, lambda kind: kind.name)
    return {
        "profile": chosen.name,
        "instances": allowed,
        "left_out": len(types) - len(allowed),
        "quotas": list(quotas),
    }


@endpoint("GET", "/images")
async def images(
    context: Context,
    profile: Annotated[str, "The profile. Default: the default profile, or the first one with images."] = "",
    backend: Annotated[str, "Or a backend, for its default profile."] = "",
    framework: Annotated[str, "Only images of this framework."] = "",
    version: Annotated[str, "Only this version, or versions that start with it. `latest`: only the newest one."] = "",
    accelerator: Annotated[str, "Only images for CPU, or for GPU."] = "",
    scope: Annotated[
        str, "Purpose of the images: training (default), develop, inference; or own, the images of the workspace."
    ] = "",
) -> ImagesReply:
    """List the container images for jobs of a profile, newest version first."""
    chosen = context.service.profiles.with_capability(Capability.IMAGES, profile, backend)
    query = ImageQuery(framework, version, accelerator, scope or "training")
    matches = await context.service.profiles.backend(chosen).images(query)
    allowed = _allowed(context, "images", matches, lambda image: image.uri)
    return {"profile": chosen.name, "images": allowed, "left_out": len(matches) - len(allowed)}


def _allowed(context: Context, rule: str, items: Sequence[T], name: Callable[[T], str]) -> list[T]:
    """Return the items that a rule of the policy allows."""
    policy = context.service.profiles.policy()
    return [item for item in items if policy.allows(rule, name(item))]


@endpoint("GET", "/doctor")
async def doctor(
    context: Context,
    profile: Annotated[str, "Only check the requirements of this profile's jobs."] = "",
    backend: Annotated[str, "Only check those of this backend's default profile."] = "",
) -> FindingsReply:
    """Check all requirements of jobs."""
    return {"findings": await context.service.doctor(profile, backend)}


@endpoint("GET", "/trials")
async def trials(context: Context) -> TrialsReply:
    """List the manual checks for a person with an account."""
    return {
        "trials": [
            {"name": trial.name, "backend": backend.name, "what": _(trial.what), "how": _(trial.how)}
            for backend in load_backends().values()
            for trial in backend.trials()
        ]
    }
