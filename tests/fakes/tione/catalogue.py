"""Catalogue of the platform: frameworks, images, specs with prices, resource groups, workspaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .keys import SUB_USER
from .requests import Action, Request, beijing, refuse
from .settings import Settings

__all__ = ["ENVIRONMENTS", "GROUPS", "SPECS", "Catalogue", "Group", "Spec", "needs_of"]


class Spec(NamedTuple):
    """An instance type: thousandths of a core, memory in MB, GPUs and their type, price in fen an hour."""

    cpu: int
    memory: int
    gpus: int
    gpu_type: str
    price: int
    alias: str


class Group(NamedTuple):
    """A resource group: nodes, and what each has."""

    name: str
    nodes: int
    cpu: int
    memory: int
    gpus: int
    gpu_type: str


SPECS = {
    "TI.S.MEDIUM.POST": Spec(2000, 4096, 0, "", 91, "2C4G"),
    "TI.SA2.2XLARGE32.POST": Spec(8000, 32768, 0, "", 336, "8C32G"),
    "TI.GN10.2XLARGE40.POST": Spec(8000, 40960, 1, "V100", 1328, "8C40G V100*1"),
    "TI.GN7.8XLARGE128.POST": Spec(32000, 131072, 1, "T4", 1053, "32C128G T4*1"),
    "TI.GN8.6XLARGE56.POST": Spec(6000, 57344, 1, "P40", 1200, "6C56G P40*1"),
}
GROUPS = {"trsg-standin1": Group("pool", 2, 16000, 65536, 2, "V100"), "trsg-empty000": Group("full", 0, 0, 0, 0, "")}
# Environment: framework, version, modes.
ENVIRONMENTS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "tf1.15-py3.7-cpu": ("TENSORFLOW", "1.15", ("PS_WORKER", "MPI", "HOROVOD")),
    "torch1.9-py3.8-cuda11.1-gpu": ("PYTORCH", "1.9", ("DDP", "MPI", "HOROVOD")),
    "tilearn-llm0.9-torch2.3-py3.10-cuda12.4-gpu": ("PYTORCH", "2.3", ("DDP",)),
    "ray2.9-py3.10-cpu": ("PYTORCH", "ray2.9", ("RAY",)),
    "spark2.4.5-cpu": ("SPARK", "2.4.5", ("SPARK",)),
}
_REASONING = {"torch1.9.0-py38-cu111": ("PYTORCH", "1.9.0"), "tf2.4.0-py38-cu111": ("TENSORFLOW", "2.4.0")}
_REGISTRY = "ccr.ccs.tencentyun.com/ti-platform"


def needs_of(config: dict[str, Any]) -> tuple[int, int, int]:
    """Return what one node of a role needs: thousandths of a core, MB, hundredths of a GPU."""
    spec = SPECS.get(config.get("InstanceType") or "")
    if spec:
        return spec.cpu, spec.memory, spec.gpus * 100
    return config.get("Cpu") or 0, config.get("Memory") or 0, config.get("Gpu") or 0


class Catalogue:
    """The actions on all of that. `used` returns what the running tasks take of a resource group."""

    def __init__(self, settings: Settings, used: Callable[[str], tuple[int, int, int]]) -> None:
        self._settings, self._used = settings, used

    def actions(self) -> dict[str, Action]:
        """The public actions."""
        return {
            "DescribePlatformImages": self._images,
            "DescribeBillingSpecs": self._specs,
            "DescribeBillingSpecsPrice": self._prices,
            "DescribeBillingResourceGroups": self._groups,
            "DescribeBillingResourceGroup": self._group,
            "DescribeWorkspaces": self._workspaces,
            "DescribeInferTemplates": self._templates,
            "DescribeDatasets": self._datasets,
        }

    def extras(self) -> dict[str, Action]:
        """The actions that were cut."""
        return {"DescribeTrainingFrameworks": self._frameworks}

    def _frameworks(self, _request: Request) -> dict[str, Any]:
        found: dict[str, list[dict[str, Any]]] = {}
        for environment, (name, version, modes) in ENVIRONMENTS.items():
            row = {"Version": version, "TrainingModes": [*modes], "Environment": environment}
            found.setdefault(name, []).append(row)
        return {"FrameworkInfos": [{"Name": name, "VersionInfos": rows} for name, rows in found.items()]}

    def _images(self, request: Request) -> dict[str, Any]:
        rows = [_training_image(name) for name in ENVIRONMENTS] + [_reasoning_image(name) for name in _REASONING]
        for row in request.body.get("Filters") or []:
            if row["Name"] not in ("ImageRange", "ImageId", "ImageName", "Framework"):
                refuse("InvalidParameterValue", f"Images have no filter {row['Name']}.")
            wanted = set(row.get("Values") or [])
            rows = [image for image in rows if wanted & {*_listed(image[row["Name"]])}]
        return {"TotalCount": len(rows), "PlatformImageInfos": request.page(rows, 20, 200)}

    def _specs(self, request: Request) -> dict[str, Any]:
        if request.body["ChargeType"] != "POSTPAID_BY_HOUR" or request.body.get("TaskType") not in (None, "TRAIN"):
            return {"Specs": []}
        rows = []
        for name, spec in SPECS.items():
            kind = "GPU" if spec.gpus else "CPU"
            wanted = request.body.get("ResourceType")
            if wanted in (None, "", "CALC", kind):
                can_be_bought = name not in self._settings.sold_out
                row = {"SpecId": name, "SpecName": name, "SpecAlias": spec.alias, "Available": can_be_bought}
                row |= {"AvailableRegion": None if can_be_bought else ["ap-shanghai"], "SpecFeatures": []}
                rows.append(row | {"SpecType": kind, "GpuType": spec.gpu_type, "CategoryId": kind})
        return {"Specs": rows}

    def _prices(self, request: Request) -> dict[str, Any]:
        rows = []
        # The order is not that of the request.
        for unit in sorted(request.body["SpecsParam"], key=lambda unit: unit["SpecName"]):
            name, count = unit["SpecName"], unit["SpecCount"]
            if name in SPECS and name not in self._settings.unpriced:
                cost = SPECS[name].price * count
                rows.append({"SpecName": name, "TotalCost": cost, "RealTotalCost": cost, "SpecCount": count})
        return {"SpecsPrice": rows}

    def _groups(self, request: Request) -> dict[str, Any]:
        word = request.body.get("SearchWord") or ""
        rows = [self._group_row(key, request) for key, group in GROUPS.items() if word in key or word in group.name]
        for row in request.body.get("Filters") or []:
            wanted = set(row.get("Values") or [])
            rows = [group for group in rows if str(group.get(row["Name"])) in wanted]
        return {"TotalCount": len(rows), "ResourceGroupSet": request.page(rows, 20, 30)}

    def _group_row(self, key: str, request: Request) -> dict[str, Any]:
        group, used = GROUPS[key], self._used(key)
        free = group.nodes - min(group.nodes, -(-used[0] // group.cpu)) if group.nodes else 0
        nodes = [] if request.body.get("DontShowInstanceSet") else self._nodes(key, request.now)
        total = (group.cpu * group.nodes, group.memory * group.nodes, group.gpus * group.nodes * 100)
        row = {"ResourceGroupId": key, "ResourceGroupName": group.name, "FreeInstance": free}
        row |= {"UsedResource": _resource(used, group.gpu_type), "TotalResource": _resource(total, group.gpu_type)}
        return row | {"TotalInstance": group.nodes, "InstanceSet": nodes, "TagSet": []}

    def _group(self, request: Request) -> dict[str, Any]:
        key = request.body["ResourceGroupId"]
        if key not in GROUPS:
            refuse("ResourceNotFound", f"The resource group {key} does not exist.")
        nodes = self._nodes(key, request.now)
        page = request.page(nodes, 20, 100)
        return {"TotalCount": len(nodes), "InstanceSet": page, "ResourceGroupSWType": "RESOURCE_GROUP_SW_TYPE_DEFAULT"}

    def _nodes(self, key: str, now: float) -> list[dict[str, Any]]:
        group = GROUPS[key]
        total = {"Cpu": group.cpu, "Memory": group.memory, "Gpu": group.gpus * 100, "GpuType": group.gpu_type}
        row = {"InstanceStatus": "RUNNING", "SpecAlias": "V100", "SubUin": SUB_USER, "TotalResource": total}
        row["ExpireTime"] = beijing(now + 30 * 86400)[:19].replace("T", " ")
        return [row | {"InstanceId": f"tins-{number}-{key}"} for number in range(group.nodes)]

    def _workspaces(self, request: Request) -> dict[str, Any]:
        rows = [{"TiProjectId": key, "Name": name} for key, name in self._settings.projects.items()]
        return {"TotalCount": len(rows), "Workspaces": request.page(rows, 20, 100)}

    def _datasets(self, request: Request) -> dict[str, Any]:
        """The data sets are the file systems whose ids start with `ds-`."""
        rows = [
            {
                "DatasetId": key,
                "DatasetName": key.removeprefix("ds-"),
                "DatasetVersion": "v1",
                "DatasetType": "TYPE_OTHER",
            }
            for key in self._settings.file_systems
            if key.startswith("ds-")
        ]
        wanted = request.body.get("DatasetIds")
        rows = [row for row in rows if not wanted or row["DatasetId"] in wanted]
        return {"TotalCount": len(rows), "DatasetGroups": request.page(rows, 20, 200), "DatasetIdNums": len(rows)}

    def _templates(self, _request: Request) -> dict[str, Any]:
        rows = [
            {
                "Framework": framework,
                "FrameworkVersion": version,
                "Groups": [framework],
                "InferTemplates": [{"InferTemplateId": name, "InferTemplateImage": f"{_REGISTRY}/{name}:1"}],
            }
            for name, (framework, version) in _REASONING.items()
        ]
        older = [{"InferTemplateId": key, "InferTemplateImage": url} for key, url in self._settings.templates.items()]
        rows.append({"Framework": "MMDETECTION", "FrameworkVersion": "", "Groups": [], "InferTemplates": older})
        return {"FrameworkTemplates": rows}


def _listed(value: str | list[str]) -> list[str]:
    return value if isinstance(value, list) else [value]


def _training_image(name: str) -> dict[str, Any]:
    framework, version, modes = ENVIRONMENTS[name]
    modes_row = {"Key": "TrainingModes", "Type": "List", "Values": [*modes], "Value": None}
    return _image(name, f"ti-train-{name}", framework, version, ["Train"]) | {"ExtraAttributes": [modes_row]}


def _reasoning_image(name: str) -> dict[str, Any]:
    return _image(name, f"ti-infer-{name}", *_REASONING[name], ["Inference"]) | {"ExtraAttributes": None}


def _image(name: str, key: str, framework: str, version: str, ranges: list[str]) -> dict[str, Any]:
    row = {"Framework": framework, "FrameworkVersion": version, "ImageName": name, "ImageId": key}
    row |= {"ImageUrl": f"{_REGISTRY}/{name}:1", "ImageType": "PreSet", "Description": f"{framework} {version}"}
    return row | {"SupportGpuList": ["V100"] if "gpu" in name else [], "ImageRange": ranges}


def _resource(amount: tuple[int, int, int], gpu_type: str) -> dict[str, Any]:
    cpu, memory, gpu = amount
    details = [{"Name": gpu_type, "Value": gpu}] if gpu_type else []
    return {"Cpu": cpu, "Memory": memory, "Gpu": gpu, "GpuDetailSet": details}
