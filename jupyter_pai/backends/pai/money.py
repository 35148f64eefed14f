"""What a job costs, as far as anybody can tell: PAI publishes no prices by its API, only discounts of spot machines."""

from __future__ import annotations

import re

from ...i18n import _, ngettext
from ...job import JobSpec

__all__ = ["has_gpu", "questions"]

# Families of machines with GPUs: gn, vgn, sgn, ebmgn of ECS; those of Lingjun begin with ml.g.
_GPU = re.compile(r"ecs\.[a-z]*gn\d|ml\.g")


def has_gpu(instance_type: str) -> bool:
    """Whether an instance type is one with GPUs, by its name."""
    return bool(_GPU.match(instance_type))


def questions(spec: JobSpec, price_limit: float | None, *, has_gpu: bool, spot: str = "") -> tuple[str, ...]:
    """What the user is asked before a job is submitted to an instance type; `spot` says what it costs as a spot
    machine."""
    n = spec.instance_count
    machines = ngettext("{n} machine {kind}", "{n} machines {kind}", n).format(n=n, kind=spec.instance_type)
    if has_gpu:
        text = _("It runs on {machines} with GPUs; the platform does not publish the price.")
    elif price_limit is not None:
        text = _("It runs on {machines}; the platform does not publish the price, so the limit cannot be held.")
    else:
        return ()
    return (" ".join(filter(None, (text.format(machines=machines), spot))),)
