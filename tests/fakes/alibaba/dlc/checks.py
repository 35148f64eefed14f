"""The checks of CreateJob."""

from __future__ import annotations

import json
import re
from typing import Any

from ..instancetypes import ordered
from ..quotas import check_quota
from ..service_errors import Refusal
from .roles import JOB_TYPES, allows, leads

__all__ = ["check_job", "check_priority"]

_LARGEST = 65_536
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,256}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_NUMBER = re.compile(r"\d+(\.\d+)?")
_SIZE = re.compile(r"\d+(\.\d+)?(Gi|Mi)")
_CHOICES = {
    "JobType": tuple(JOB_TYPES),
    "SuccessPolicy": ("ChiefWorker", "AllWorkers"),
    "Accessibility": ("PUBLIC", "PRIVATE"),
}
_POLICIES = ("Always", "Never", "OnFailure", "ExitCode")
_STRATEGIES = ("SpotWithPriceLimit", "SpotAsPriceGo")


def check_job(body: dict[str, Any], workspace_id: str) -> None:
    """Raises Refusal."""
    if len(json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()) > _LARGEST:
        message = f"The total length of the parameters must not exceed {_LARGEST} bytes."
        raise Refusal(400, "RequestEntityTooLarge", message)
    for name in ("DisplayName", "JobType", "JobSpecs", "UserCommand"):
        if not body.get(name):
            raise Refusal(400, f"Missing{name}", f"{name} is mandatory for this action.")
    if not _NAME.fullmatch(body["DisplayName"]):
        raise _invalid("DisplayName", "it has up to 256 letters, digits, underscores, periods and hyphens")
    for name, choices in _CHOICES.items():
        _check_choice(name, body.get(name), choices)
    if body.get("WorkspaceId") not in (None, "", workspace_id):
        raise Refusal(404, "WORKSPACE_NOT_FOUND", f"Workspace {body['WorkspaceId']} is not found.")
    check_priority(body.get("Priority"))
    if (body.get("JobMaxRunningTimeMinutes") or 0) < 0:
        raise _invalid("JobMaxRunningTimeMinutes", "it must not be negative")
    if body.get("CodeSource"):
        raise Refusal(
            404, "CODE_SOURCE_NOT_FOUND", f"Code source {body['CodeSource'].get('CodeSourceId')} is not found."
        )
    _check_variables(body)
    _check_vpc(body.get("UserVpc") or {})
    if quota := body.get("ResourceId") or "":
        check_quota(quota)
    _check_roles(body)
    for number, spec in enumerate(body["JobSpecs"]):
        _check_spec(f"JobSpecs[{number}]", spec, bool(quota))


def check_priority(value: int | None) -> None:
    """Raises Refusal."""
    if value is not None and not 1 <= value <= 9:
        raise _invalid("Priority", "it must be between 1 and 9")


def _invalid(name: str, why: str) -> Refusal:
    return Refusal(400, f"Invalid{re.sub(r'[^A-Za-z]', '', name)}", f"The specified {name} is not valid: {why}.")


def _check_choice(name: str, value: str | None, choices: tuple[str, ...]) -> None:
    if value and value not in choices:
        raise _invalid(name, f"{value} is none of {', '.join(choices)}")


def _check_variables(body: dict[str, Any]) -> None:
    for name in [*(body.get("Envs") or {}), *(row.get("Key") or "" for row in body.get("CustomEnvs") or [])]:
        if not _VARIABLE.fullmatch(name):
            raise _invalid("Envs", f"{name!r} is no name of a variable")


def _check_vpc(vpc: dict[str, Any]) -> None:
    if vpc and not (vpc.get("VpcId") and vpc.get("SecurityGroupId")):
        raise _invalid("UserVpc", "it needs a VpcId and a SecurityGroupId")
    _check_choice("UserVpc.DefaultRoute", vpc.get("DefaultRoute"), ("eth0", "eth1"))
    if vpc.get("SwitchId") and not vpc.get("ExtendedCIDRs"):
        raise _invalid("UserVpc", "with a SwitchId it needs the ExtendedCIDRs")


def _check_roles(body: dict[str, Any]) -> None:
    kind, seen = body["JobType"], set()
    for spec in body["JobSpecs"]:
        role = spec.get("Type") or ""
        if not allows(kind, role):
            raise _invalid("JobSpecs.Type", f"a {kind} has {', '.join(JOB_TYPES[kind])}, and no {role or 'empty role'}")
        if role in seen:
            raise _invalid("JobSpecs.Type", f"there are two of {role}")
        if leads(kind, role) and spec.get("PodCount", 1) != 1:
            raise _invalid("JobSpecs.PodCount", f"a {kind} has one {role}")
        seen.add(role)
    if kind == "RayJob" and "Head" not in seen:
        raise _invalid("JobSpecs.Type", "a RayJob needs a Head")
    if seen <= {"PS", "Evaluator", "GraphLearn"}:
        raise _invalid("JobSpecs.Type", f"a {kind} needs a Worker")


def _check_spec(place: str, spec: dict[str, Any], of_quota: bool) -> None:
    if not spec.get("Image"):
        raise Refusal(400, f"Missing{place}.Image", f"{place}.Image is mandatory for this action.")
    if spec.get("PodCount", 1) < 1:
        raise _invalid("JobSpecs.PodCount", f"{place} has none")
    _check_choice("JobSpecs.RestartPolicy", spec.get("RestartPolicy"), _POLICIES)
    named, sizes = spec.get("EcsSpec"), spec.get("ResourceConfig") or {}
    if bool(named) == bool(sizes):
        raise _invalid("JobSpecs", f"{place} needs either EcsSpec or ResourceConfig")
    if bool(sizes) != of_quota:
        raise _invalid("JobSpecs", f"{place} needs ResourceConfig with a ResourceId, and EcsSpec without")
    if named:
        kind = ordered(named)
        _check_spot(spec.get("SpotSpec") or {}, "Spot" in kind["PaymentTypes"])
    for name in ("CPU", "GPU"):
        if sizes.get(name) and not _NUMBER.fullmatch(sizes[name]):
            raise _invalid("JobSpecs.ResourceConfig", f"{name} {sizes[name]!r} is no number")
    for name in ("Memory", "SharedMemory"):
        if sizes.get(name) and not _SIZE.fullmatch(sizes[name]):
            raise _invalid("JobSpecs.ResourceConfig", f"{name} {sizes[name]!r} is not like 8Gi")


def _check_spot(spot: dict[str, Any], offered: bool) -> None:
    _check_choice("SpotSpec.SpotStrategy", spot.get("SpotStrategy"), _STRATEGIES)
    limits = [name for name in ("SpotDiscountLimit", "SpotPriceLimit") if spot.get(name) is not None]
    if len(limits) > 1:
        raise _invalid("SpotSpec", f"specify only one of {' and '.join(limits)}")
    if spot.get("SpotStrategy") == "SpotWithPriceLimit" and not limits:
        raise _invalid("SpotSpec", "SpotWithPriceLimit needs a limit")
    if spot and not offered:
        raise Refusal(403, "OperationDenied.NoSpot", "The specified EcsSpec is not offered as a spot instance.")
