"""Specifications of exit codes, in the form of the server's replies."""

from __future__ import annotations

from typing import Any

__all__ = ["STOPPED", "TASK_ENDED", "cause_of_retry", "spec_of", "user_code"]

STOPPED, TASK_ENDED = -210, -220
_USER, _RUNTIME, _CONTROLLER = "USER_CONTAINER", "PAI_RUNTIME", "PAI_FC"

# Code: phrase, issuer, causer, type, stage, behavior, reaction.
_SPECS: dict[int, tuple[str, ...]] = {
    0: ("Succeeded", _USER, _USER, "USER_SUCCESS", "COMPLETING", "UNKNOWN", "NEVER_RETRY"),
    1: ("PAIRuntimeExitAbnormally", _RUNTIME, _RUNTIME, "PLATFORM_FAILURE", "UNKNOWN", "UNKNOWN", "RETRY_TO_MAX"),
    137: ("OSSIGKILL", _USER, "UNKNOWN", "UNKNOWN_FAILURE", "RUNNING", "UNKNOWN", "RETRY_TO_MAX"),
    143: ("OSSIGTERM", _USER, "UNKNOWN", "UNKNOWN_FAILURE", "RUNNING", "UNKNOWN", "RETRY_TO_MAX"),
    220: ("UserCommandFailed", _RUNTIME, _USER, "USER_FAILURE", "RUNNING", "UNKNOWN", "NEVER_RETRY"),
    254: ("DockerImageMissing", _RUNTIME, _USER, "USER_FAILURE", "LAUNCHING", "PERMANENT", "NEVER_RETRY"),
    255: ("PAIRuntimeUnknownFailed", _RUNTIME, "UNKNOWN", "UNKNOWN_FAILURE", "UNKNOWN", "UNKNOWN", "RETRY_TO_MAX"),
    256: ("PAIRuntimeExitAbnormally", _RUNTIME, _RUNTIME, "PLATFORM_FAILURE", "UNKNOWN", "UNKNOWN", "RETRY_TO_MAX"),
    -210: ("StopFrameworkRequested", _CONTROLLER, "USER_STOP", "USER_STOP", "UNKNOWN", "PERMANENT", "NEVER_RETRY"),
    -220: ("FrameworkAttemptCompletion", _CONTROLLER, "USER_STOP", "USER_STOP", "UNKNOWN", "PERMANENT", "NEVER_RETRY"),
    -1001: ("NodeLost", "K8S", "NODE", "PLATFORM_FAILURE", "RUNNING", "TRANSIENT", "ALWAYS_RETRY"),
    -1200: ("ContainerOOMKilled", "K8S", _USER, "USER_FAILURE", "RUNNING", "PERMANENT", "NEVER_RETRY"),
    -8000: ("UnknownFailure", "UNKNOWN", "UNKNOWN", "UNKNOWN_FAILURE", "UNKNOWN", "UNKNOWN", "RETRY_TO_MAX"),
}
_FIELDS = ("phrase", "issuer", "causer", "type", "stage", "behavior", "reaction")


def spec_of(code: int) -> dict[str, Any]:
    """Return the specification of a code; an unknown one borrows that of 256 or -8000."""
    known = code if code in _SPECS else 256 if code > 0 else -8000
    spec: dict[str, Any] = {"code": code} | dict(zip(_FIELDS, _SPECS[known], strict=True))
    if code != 0:
        spec["reason"] = f"the reason of {spec['phrase']}"
    spec["repro"] = [f"a way to {spec['phrase']}"]
    if code not in (0, STOPPED, TASK_ENDED):
        spec["solution"] = [f"the solution of {spec['phrase']}"]
    return spec


def cause_of_retry(code: int, counted: int, most: int) -> str:
    """Return why a code is tried again, after `counted` retries of `most`: user or platform; empty if it is not.

    Failures of the platform are not counted. Without retries, they end a job here.
    """
    reaction = spec_of(code)["reaction"]
    if code == 0 or most == 0 or reaction == "NEVER_RETRY":
        return ""
    if reaction == "ALWAYS_RETRY":
        return "platform"
    return "user" if counted < most else ""


def user_code(code: int) -> int:
    """Return the container's exit code for the code of the user's commands: the runtime keeps signals."""
    if code < 0:
        return 128 - code
    return code if code == 0 or code > 128 else 220
