"""What a job costs, as far as anybody can tell: PAI publishes no prices by its API, only discounts of spot machines."""

from __future__ import annotations

import re

from ...core.i18n import _
from ...jobs.spec import JobSpec
from .. import pricing as cost

__all__ = ["has_gpu", "said"]

# Families of machines with GPUs: gn, vgn, sgn, ebmgn of ECS; those of Lingjun begin with ml.g.
_GPU = re.compile(r"ecs\.[a-z]*gn\d|ml\.g")


def has_gpu(instance_type: str) -> bool:
    """Whether an instance type is one with GPUs, by its name."""
    return bool(_GPU.match(instance_type))


def said(spec: JobSpec, *, has_limit: bool, has_gpu: bool, quota: str, seconds: int) -> str:
    """What is said of a job's cost before it is submitted to an instance type, or to a quota. `has_limit`: nobody wants
    to pay more than a limit; `seconds` is the longest that it runs, 0 for ever."""
    machines = cost.machines(spec.instance_type, spec.instance_count)
    if quota:
        text = _("It runs in the quota {quota}; the platform does not publish the price.").format(quota=quota)
    elif has_gpu:
        text = _("It runs on {machines} with GPUs; the platform does not publish the price.").format(machines=machines)
    elif has_limit:
        text = _("It runs on {machines}; the platform does not publish the price, so the limit cannot be held.").format(
            machines=machines
        )
    else:
        text = cost.unpriced(machines)
    if seconds:
        text += " " + _("It is stopped after {hours:.3g} hours at most.").format(hours=seconds / 3600)
    return text
