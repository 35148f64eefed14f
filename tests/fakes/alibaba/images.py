"""Images and their labels."""

from __future__ import annotations

from typing import Any

from .mirrors import Unreachable
from .services import Operation, Reply, Request

__all__ = ["IMAGES", "Images", "has_shell", "pull", "registry_of"]

_REGION = "cn-shanghai"


def registry_of(region: str) -> str:
    """Return the registry of the platform's own images."""
    return f"registry.{region}.aliyuncs.com/pai-dlc/"


def _image(
    number: int, framework: str, repository: str, version: str, chip: str, python: str, use: str = "dlc", cuda: str = ""
) -> dict[str, Any]:
    tag = f"{version}-{chip.lower()}-py{python.replace('.', '')}{f'-cu{cuda}' if cuda else ''}-ubuntu20.04"
    labels = {
        "system.official": "true",
        "system.origin": "PAI",
        "system.chipType": chip,
        "system.pythonVersion": python,
        f"system.framework.{framework}": version,
        **{f"system.supported.{scope}": "true" for scope in use.split()},
    }
    if cuda:
        labels["system.dsw.cudaVersion"] = cuda
    day = f"2023-{number // 28 + 1:02}-{number % 28 + 1:02}T02:00:00.000Z"
    return {
        "ImageId": f"image-{number:04}",
        "Name": f"{repository}:{tag}",
        "ImageUri": f"{registry_of(_REGION)}{repository}:{tag}",
        "Labels": labels,
        "Description": f"{framework} {version}",
        "Accessibility": "PUBLIC",
        "Size": 4,
        "GmtCreateTime": day,
        "GmtModifiedTime": day,
        "UserId": "0",
        "ParentUserId": "0",
    }


_ROWS = [
    ("XGBoost", "xgboost-training", "1.6.0", "CPU", "3.6"),
    ("TensorFlow", "tensorflow-training", "2.3", "CPU", "3.6"),
    ("TensorFlow", "tensorflow-training", "2.3", "GPU", "3.6", "dlc", "101"),
    ("TensorFlow", "tensorflow-training", "2.11", "CPU", "3.9"),
    ("TensorFlow", "tensorflow-training", "2.12", "GPU", "3.9", "dlc", "113"),
    ("TensorFlow", "tensorflow-training", "1.15", "GPU", "3.6", "dlc", "100"),
    ("PyTorch", "pytorch-training", "1.8", "GPU", "3.6", "dlc dsw", "111"),
    ("PyTorch", "pytorch-training", "1.12", "CPU", "3.9", "dlc dsw"),
    ("PyTorch", "pytorch-training", "1.12", "GPU", "3.9", "dlc dsw", "113"),
    ("PyTorch", "pytorch-training", "1.9", "GPU", "3.8", "dlc", "111"),
    ("PyTorch", "pytorch-training", "2.0", "GPU", "3.10", "dlc", "118"),
    ("PyTorch", "pytorch-develop", "2.0", "GPU", "3.10", "dsw", "118"),
    ("PyTorch", "pytorch-inference", "2.0", "GPU", "3.10", "eas", "118"),
    ("DeepRec", "deeprec-training", "2212", "CPU", "3.6"),
    *(("PyTorch", "pytorch-training", f"1.7.{patch}", "CPU", "3.6") for patch in range(60)),
]
IMAGES = [_image(number, *row) for number, row in enumerate(_ROWS)]
# An older image, which is not listed and can be pulled.
_UNLISTED = "xgboost-training:1.6.0-cpu-py36-ubuntu18.04"


def pull(image: str, region: str) -> None:
    """Raises Unreachable if an image does not exist. Only the tags of official registries are known."""
    known = {row["ImageUri"] for row in IMAGES} | {f"{registry_of(region)}{_UNLISTED}"}
    if image.startswith(registry_of(region)) and image not in known:
        raise Unreachable(f"Failed to pull image {image}: not found")


def has_shell(image: str) -> bool:
    """Return whether an image has `sh`, as all do but those of repositories that are named after their lack of it."""
    return not any(word in {"distroless", "scratch"} for word in image.partition(":")[0].split("/"))


class Images:
    """AIWorkSpace's operations on images; `AddImage` adds those of users."""

    def __init__(self) -> None:
        self._own: list[dict[str, Any]] = []

    def operations(self) -> list[Operation]:
        """The operations of this service."""
        return [
            Operation("aiworkspace", "ListImages", "GET", "/images", self._list),
            Operation("aiworkspace", "AddImage", "POST", "/images", self._add),
            Operation("aiworkspace", "ListImageLabels", "GET", "/image/labels", self._labels),
        ]

    def _list(self, request: Request) -> Reply:
        query = request.query
        wanted = dict(part.split("=", 1) for part in query.get("Labels", "").split(",") if "=" in part)
        results = [image for image in self._of(query.get("WorkspaceId", "")) if _matches(image, query, wanted)]
        results.sort(key=lambda image: str(image["GmtCreateTime"]), reverse=query.get("Order", "ASC").upper() == "DESC")
        page = [_fields(image, request.flag("Verbose")) for image in request.page(results, 20)]
        return {"Images": page, "TotalCount": len(results)}

    def _of(self, workspace_id: str) -> list[dict[str, Any]]:
        return [image for image in self._own if image["WorkspaceId"] == workspace_id] if workspace_id else IMAGES

    def _add(self, request: Request) -> Reply:
        body = request.body
        labels = {label["Key"]: label.get("Value", "") for label in body.get("Labels") or []}
        fields = {name: body[name] for name in ("Name", "ImageUri", "WorkspaceId", "Description") if name in body}
        times = {"GmtCreateTime": "2024-01-01T00:00:00.000Z", "GmtModifiedTime": "2024-01-01T00:00:00.000Z"}
        number = f"image-own-{len(self._own):04}"
        image = {"Accessibility": "PRIVATE", "Size": 1} | fields | times | {"ImageId": number, "Labels": labels}
        self._own.append(image)
        return {"ImageId": number}

    def _labels(self, request: Request) -> Reply:
        keys = [key for key in request.query.get("LabelKeys", "").split(",") if key]
        pairs = {pair for image in IMAGES for pair in image["Labels"].items() if not keys or pair[0] in keys}
        rows = [{"Key": key, "Value": value} for key, value in sorted(pairs)]
        return {"Labels": rows, "TotalCount": len(rows)}


def _matches(image: dict[str, Any], query: dict[str, str], wanted: dict[str, str]) -> bool:
    labels = image["Labels"]
    return (
        query.get("Name", "").lower() in image["Name"].lower()
        and query.get("Query", "").lower() in f"{image['Name']} {image.get('Description', '')}".lower()
        and query.get("ImageUri") in (None, "", image["ImageUri"])
        and all(name in labels and value in ("*", labels[name]) for name, value in wanted.items())
    )


def _fields(image: dict[str, Any], verbose: bool) -> Reply:
    """Labels are returned only if requested."""
    reply = {name: value for name, value in image.items() if name != "Labels"}
    return reply | ({"Labels": [{"Key": k, "Value": v} for k, v in image["Labels"].items()]} if verbose else {})
