"""Inputs of a task: objects of COS, which are copied into its containers, and file systems, which are mounted.

Source: DataConfig in Tencent Cloud's reference of TI-ONE.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ....core.errors import SpecError
from ....core.field_errors import fields
from ....core.i18n import _
from ....jobs.datasets import SCHEME as DATASET, DataSet
from ....jobs.spec import JobSpec
from ..options import TioneOptions
from .locations import CosPath

__all__ = ["MOST", "Data", "check_data", "check_number", "data_of"]

MOST = 10
"""Inputs and outputs that a task may have; the folder for outputs is not one of them."""

_DATA, _OUTPUTS = "/opt/ml/input/data", "/opt/ml/outputs"
_PLACE = re.compile(r"(?P<scheme>[a-z]+)://(?P<id>[A-Za-z0-9][\w.-]*)(?P<path>/.*)?", re.ASCII | re.DOTALL)


@dataclass(frozen=True)
class _Kind:
    """One kind of data: its type, and the function that returns the source of an id and a path."""

    type: str
    source: Callable[[str, str], dict[str, Any]]
    needs_network: bool = False


_KINDS = {
    "cfs": _Kind("CFS", lambda id, path: {"CFSSource": {"Id": id, "Path": path}}, needs_network=True),
    "cfsturbo": _Kind("CFSTurbo", lambda id, path: {"CFSTurboSource": {"Id": id, "Path": path}}, needs_network=True),
    "emr": _Kind("HDFS", lambda id, path: {"HDFSSource": {"Id": id, "Path": path}}, needs_network=True),
    "goosefs": _Kind("GooseFS", lambda id, path: {"GooseFSSource": _goosefs(id, path)}),
    "goosefsx": _Kind("GooseFSx", lambda id, path: {"GooseFSSource": {"Id": id, "Type": "GooseFSx", "Path": path}}),
}
_COS = "COS"


@dataclass(frozen=True)
class Data:
    """The data of a job. `configs` is the field DataConfigs. `inputs` and `outputs` have the path of each channel in
    the container."""

    configs: list[dict[str, Any]]
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]

    @property
    def source(self) -> str | None:
        """The field DataSource: the type of the last one, as Tencent's own client Tikit sends it."""
        return self.configs[-1]["DataSourceType"] if self.configs else None


def data_of(spec: JobSpec, region: str) -> Data:
    """Return the data of a spec whose inputs are staged.

    Raises:
        SpecError: naming the channel whose URI the platform does not read.
    """
    configs, inputs, outputs = [], {}, {}
    for channel, uri in spec.inputs.items():
        with fields(f"inputs.{channel}"):
            place = f"{_DATA}/{channel}"
            configs.append({"MappingPath": place, **_source(uri, region)})
            is_file = uri.startswith("cos://") and not uri.endswith("/") and "/" in uri.removeprefix("cos://")
            inputs[channel] = f"{place}/{uri.rpartition('/')[2]}" if is_file else place
    for channel, uri in spec.outputs.items():
        with fields(f"outputs.{channel}"):
            if uri.startswith(f"{DATASET}://"):
                raise SpecError(
                    _("outputs.{name}: data sets can only be inputs.").format(name=channel),
                    fix=_("Pass a folder: {uri}").format(uri="cos://BUCKET-APPID/path/"),
                )
            place = f"{_OUTPUTS}/{channel}"
            folder = f"{uri.rstrip('/')}/" if uri.startswith("cos://") else uri
            configs.append({"MappingPath": place, "DataSourceUsage": "OUTPUT", **_source(folder, region)})
            outputs[channel] = place
    return Data(configs, inputs, outputs)


def _source(uri: str, region: str) -> dict[str, Any]:
    if uri.startswith("cos://"):
        return {"DataSourceType": _COS, "COSSource": CosPath.parse(uri).as_field(region)}
    if uri.startswith(f"{DATASET}://"):
        dataset = DataSet.parse(uri)
        if dataset.version:
            raise SpecError(
                _("{uri}: a job reads the version that is in the id of a data set.").format(uri=uri),
                fix=_("Use dataset://ID, with the id shown in the platform's console."),
            )
        return {"DataSourceType": "DATASET", "DataSetSource": {"Id": dataset.id}}
    match = _PLACE.fullmatch(uri)
    kind = _KINDS.get(match["scheme"]) if match else None
    if match is None or kind is None:
        raise SpecError(
            _("Jobs on TI-ONE do not read {uri}.").format(uri=uri),
            fix=_("Known are: {names}.").format(names=", ".join(_forms())),
        )
    return {"DataSourceType": kind.type, **kind.source(match["id"], match["path"] or "/")}


def _goosefs(id: str, path: str) -> dict[str, Any]:
    """Return a namespace of GooseFS: the path has its name."""
    return {"Id": id, "Type": "GooseFS", "NameSpace": path.strip("/") or None}


def _forms() -> Iterator[str]:
    yield "cos://BUCKET-APPID/path"
    yield from (f"{scheme}://ID/path" for scheme in _KINDS)
    yield f"{DATASET}://ID"


def check_number(spec: JobSpec) -> None:
    """Check the number of inputs and outputs of a spec; uploaded inputs count.

    Raises:
        SpecError: if there are too many.
    """
    if (n := len(spec.inputs) + len(spec.outputs)) > MOST:
        text = _("inputs: the job has {n} inputs and outputs of its own; TI-ONE takes {most}.")
        raise SpecError(text.format(n=n, most=MOST), fix=_("Put several inputs into one folder.")).at("inputs")


def check_data(spec: JobSpec, options: TioneOptions, region: str) -> None:
    """Check that the platform reads the inputs and writes the outputs of a spec, but not whether they exist.

    Raises:
        SpecError: naming the channel.
    """
    configs = data_of(spec, region).configs
    channels = [f"inputs.{channel}" for channel in spec.inputs] + [f"outputs.{channel}" for channel in spec.outputs]
    networked = {kind.type for kind in _KINDS.values() if kind.needs_network}
    for field, config in zip(channels, configs, strict=True):
        if config["DataSourceType"] in networked and not options.vpc_id:
            raise SpecError(
                _("{field}: the job needs the network of this file system.").format(field=field),
                fix=_(
                    "Name its VPC and a subnet: --option vpc_id=vpc-… --option subnet_id=subnet-…. The console shows "
                    "them for the file system."
                ),
            ).at("options.vpc_id", field)
