"""Registered algorithms of PaiStudio: those of the provider `pai`, and one of the account."""

from __future__ import annotations

from typing import Any

from .service_errors import Refusal
from .services import Operation, Reply, Request

__all__ = ["Algorithms", "definition"]

_IMAGE = "registry.cn-shanghai.aliyuncs.com/pai-dlc/pytorch-training:1.12-cpu-py39-ubuntu20.04"
_TIME = "2024-01-02T03:04:05Z"


def _spec(text: str) -> dict[str, Any]:
    command = f'echo "{text} with $PAI_USER_ARGS"; cat "$PAI_INPUT_TRAIN"/* > "$PAI_OUTPUT_MODEL/copy"'
    return {
        "Command": ["sh", "-c", command],
        "Image": _IMAGE,
        "JobType": "PyTorchJob",
        "SupportedInstanceTypes": ["ecs.c6.large", "ecs.c6.xlarge"],
        "InputChannels": [{"Name": "train", "Required": True}, {"Name": "test", "Required": False}],
        "OutputChannels": [{"Name": "model", "Required": True}],
        "HyperParameters": [
            {"Name": "epochs", "Type": "Int", "DefaultValue": "3"},
            {"Name": "note", "Type": "String", "DefaultValue": ""},
        ],
        "MetricDefinitions": [{"Name": "loss", "Regex": r"loss=([\d.]+)"}],
    }


# By id: name, provider, and the definitions by version.
_ALGORITHMS: dict[str, tuple[str, str, dict[str, dict[str, Any]]]] = {
    "algo-1": ("copy", "pai", {"0.9.0": _spec("copy 0.9"), "0.10.0": _spec("copy 0.10")}),
    "algo-2": ("copy-more", "pai", {"0.1.0": _spec("more")}),
    "algo-3": ("copy", "", {"1.0.0": _spec("my copy")}),
}


def definition(body: dict[str, Any]) -> dict[str, Any]:
    """Return the definition of the registered algorithm that a request names. Raises Refusal if there is none."""
    names = body.get("AlgorithmName"), body.get("AlgorithmProvider") or ""
    for name, provider, versions in _ALGORITHMS.values():
        if (name, provider) == names and body.get("AlgorithmVersion") in versions:
            return versions[str(body["AlgorithmVersion"])]
    raise Refusal(404, "ALGORITHM_NOT_FOUND", f"Algorithm {body.get('AlgorithmName')} is not found.")


class Algorithms:
    """The algorithms that an account can use."""

    def operations(self) -> list[Operation]:
        """The operations of this service."""
        one = "/algorithms/{AlgorithmId}"
        table = [
            ("ListAlgorithms", "/algorithms", self._list),
            ("GetAlgorithm", one, self._get),
            ("ListAlgorithmVersions", f"{one}/versions", self._versions),
            ("GetAlgorithmVersion", f"{one}/versions/{{AlgorithmVersion}}", self._version),
        ]
        return [Operation("paistudio", name, "GET", path, handler) for name, path, handler in table]

    def _list(self, request: Request) -> Reply:
        query = request.query
        found = [
            _view(made)
            for made, (name, provider, _versions) in _ALGORITHMS.items()
            if query.get("AlgorithmName", "") in name and query.get("AlgorithmProvider", "") == provider
        ]
        return {"Algorithms": request.page(found, 10), "TotalCount": len(found)}

    def _get(self, request: Request) -> Reply:
        return _view(_found(request))

    def _versions(self, request: Request) -> Reply:
        made = _found(request)
        found = [_view(made) | {"AlgorithmVersion": version} for version in sorted(_ALGORITHMS[made][2])]
        return {"AlgorithmVersions": request.page(found, 10), "TotalCount": len(found)}

    def _version(self, request: Request) -> Reply:
        made, version = _found(request), request.path["AlgorithmVersion"]
        if version not in _ALGORITHMS[made][2]:
            raise Refusal(404, "ALGORITHM_VERSION_NOT_FOUND", f"The version {version} is not found.")
        return _view(made) | {"AlgorithmVersion": version, "AlgorithmSpec": _ALGORITHMS[made][2][version]}


def _found(request: Request) -> str:
    made = request.path["AlgorithmId"]
    if made not in _ALGORITHMS:
        raise Refusal(404, "ALGORITHM_NOT_FOUND", f"Algorithm {made} is not found.")
    return made


def _view(made: str) -> Reply:
    name, provider, _versions = _ALGORITHMS[made]
    return {"AlgorithmId": made, "AlgorithmName": name, "AlgorithmProvider": provider, "GmtCreateTime": _TIME}
