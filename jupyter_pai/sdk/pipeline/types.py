"""Inputs and outputs of components, by the API of the PAI SDK: parameters with a type, and artifacts, which are files
and folders."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath
from typing import Any

from ...core.errors import SpecError
from ...core.i18n import N_, _
from ..absent import absent_names

__all__ = [
    "ArtifactMetadataUtils",
    "DataType",
    "InputsSpec",
    "LocationArtifactMetadata",
    "LocationType",
    "OutputsSpec",
    "ParameterType",
    "PipelineArtifact",
    "PipelineParameter",
    "Variable",
]

# A package in the SDK, whose modules are absent here.
__path__: list[str] = []
__getattr__ = absent_names(
    __name__,
    {
        "ModelType": N_("Write the value as text."),
        "PipelineVariable": N_("An input or output is a PipelineParameter or a PipelineArtifact."),
    },
)


class ParameterType(StrEnum):
    """The type of a parameter."""

    String = "String"
    Integer = "Int"
    Double = "Double"
    Bool = "Bool"
    Map = "Map"
    Array = "Array"


# Names of types, in lower case, as in the SDK.
_TYPES = {
    **dict.fromkeys(("str", "string"), ParameterType.String),
    **dict.fromkeys(("int", "integer", "long"), ParameterType.Integer),
    **dict.fromkeys(("float", "double"), ParameterType.Double),
    **dict.fromkeys(("bool", "boolean"), ParameterType.Bool),
    **dict.fromkeys(("dict", "map"), ParameterType.Map),
    **dict.fromkeys(("list", "array"), ParameterType.Array),
}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_CHECKS: Mapping[ParameterType, Callable[[Any], bool]] = {
    # Numbers are written as text.
    ParameterType.String: lambda value: isinstance(value, str | PurePath | int | float),
    ParameterType.Integer: lambda value: isinstance(value, int) and not isinstance(value, bool),
    ParameterType.Double: _is_number,
    ParameterType.Bool: lambda value: isinstance(value, bool),
    ParameterType.Map: lambda value: isinstance(value, Mapping),
    ParameterType.Array: lambda value: isinstance(value, list | tuple),
}
_BOUND = r"-?(?:\d+(?:\.\d*)?|INF)"
_RANGE = re.compile(rf"([(\[])\s*({_BOUND})\s*,\s*({_BOUND})\s*([)\]])")


class PipelineParameter:
    """A parameter: a text, a number, a mapping or a list.

    Args:
        name: The name of the option that the script gets; for an output, the name of its file.
        typ: A type of Python or its name. Default: text.
        default: The value if none is given. Without one, an input is required.
        desc: A description.
        feasible: The range of a number: ``{"range": "(0, 1]"}``, with `INF` for no limit.

    Raises:
        SpecError: if the type, the default or the range is invalid.
    """

    def __init__(
        self,
        name: str,
        typ: type | str = str,
        default: Any = None,
        desc: str | None = None,
        feasible: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.typ = _type_of(name, typ)
        self.default = default
        self.desc = desc or ""
        self.feasible = dict(feasible or {})
        self._range = _range_of(name, self.feasible)
        if default is not None and (wrong := self.wrong(default)):
            raise SpecError(_("The default of the parameter `{name}`: {what}.").format(name=name, what=wrong))

    @property
    def required(self) -> bool:
        return self.default is None

    @property
    def kind(self) -> str:
        """The type and the default, for the representation."""
        default = "" if self.default is None else f" = {self.default!r}"
        return f"{self.typ}{default}"

    def wrong(self, value: Any) -> str:
        """Return what is wrong with a value; empty if nothing is."""
        if not _CHECKS[self.typ](value):
            return _("expected {type}, got {kind} `{value}`").format(
                type=self.typ, kind=type(value).__name__, value=str(value)[:80]
            )
        if self._range and not self._range(value):
            return _("`{value}` is not in the range {range}").format(value=value, range=self.feasible["range"])
        return ""

    def as_item(self) -> dict[str, Any]:
        """Return the definition as it is stored."""
        return {
            "name": self.name, "kind": "parameter", "type": str(self.typ), "default": self.default,
            "required": self.required, "description": self.desc, "metadata": self.feasible,
        }  # fmt: skip

    def __repr__(self) -> str:
        return f"PipelineParameter({self.name!r}, {self.kind})"


class DataType(StrEnum):
    """The kind of an artifact."""

    DataSet = "DataSet"
    Model = "Model"
    Any = "Any"
    ModelEvaluation = "ModelEvaluation"


class LocationType(StrEnum):
    """The storage of an artifact."""

    MaxComputeTable = "MaxComputeTable"
    MaxComputeVolume = "MaxComputeVolume"
    MaxComputeOfflineModel = "MaxComputeOfflineModel"
    OSS = "OSS"


@dataclass(frozen=True)
class LocationArtifactMetadata:
    """The kind of an artifact and its storage. The storage is a note: a job reads the URI or path that it is given."""

    data_type: str
    location_type: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as in a manifest."""
        location = {"locationType": str(self.location_type)} if self.location_type else {}
        return {"type": {str(self.data_type): location}}

    def __str__(self) -> str:
        return f"{self.data_type} ({self.location_type})" if self.location_type else str(self.data_type)


class ArtifactMetadataUtils:
    """The common kinds of artifacts."""

    @staticmethod
    def oss_dataset() -> LocationArtifactMetadata:
        return LocationArtifactMetadata(DataType.DataSet, LocationType.OSS)

    @staticmethod
    def maxc_table() -> LocationArtifactMetadata:
        return LocationArtifactMetadata(DataType.DataSet, LocationType.MaxComputeTable)

    @staticmethod
    def maxc_volume() -> LocationArtifactMetadata:
        return LocationArtifactMetadata(DataType.DataSet, LocationType.MaxComputeVolume)

    @staticmethod
    def maxc_offlinemodel() -> LocationArtifactMetadata:
        return LocationArtifactMetadata(DataType.Model, LocationType.MaxComputeOfflineModel)

    @staticmethod
    def raw() -> LocationArtifactMetadata:
        return LocationArtifactMetadata(DataType.Any)


class PipelineArtifact:
    """An artifact: a file or folder. An input is a URI, a path, or an output channel of another step.

    Args:
        name: The name of the channel.
        metadata: The kind of the artifact. Default: any.
        desc: A description.
        required: Whether an input must be given.
    """

    def __init__(
        self,
        name: str,
        metadata: LocationArtifactMetadata | None = None,
        desc: str | None = None,
        required: bool = True,
    ) -> None:
        self.name = name
        self.metadata = metadata or ArtifactMetadataUtils.raw()
        self.desc = desc or ""
        self.required = required

    @property
    def kind(self) -> str:
        """The kind of the artifact, for the representation."""
        return str(self.metadata)

    def wrong(self, value: Any) -> str:
        """Return what is wrong with a value; empty if nothing is."""
        if isinstance(value, str | PurePath) and str(value):
            return ""
        return _("expected a URI or a path, got {kind} `{value}`").format(
            kind=type(value).__name__, value=str(value)[:80]
        )

    def as_item(self) -> dict[str, Any]:
        """Return the definition as it is stored."""
        return {
            "name": self.name, "kind": "artifact", "required": self.required, "description": self.desc,
            "metadata": self.metadata.to_dict(),
        }  # fmt: skip

    def __repr__(self) -> str:
        return f"PipelineArtifact({self.name!r}, {self.kind})"


Variable = PipelineParameter | PipelineArtifact


class _Items:
    """Variables by name and by number."""

    def __init__(self, items: Iterable[Variable] = ()) -> None:
        self.items: list[Variable] = sorted(items, key=lambda one: isinstance(one, PipelineArtifact))
        names = [one.name for one in self.items]
        if twice := next((name for name in names if names.count(name) > 1), ""):
            raise SpecError(_("Two inputs or outputs of the component have the name `{name}`.").format(name=twice))

    @property
    def parameters(self) -> list[PipelineParameter]:
        return [one for one in self.items if isinstance(one, PipelineParameter)]

    @property
    def artifacts(self) -> list[PipelineArtifact]:
        return [one for one in self.items if isinstance(one, PipelineArtifact)]

    def get(self, name: str) -> Variable | None:
        """Return a variable by its name; None if there is none."""
        return next((one for one in self.items if one.name == name), None)

    def __getitem__(self, key: str | int) -> Variable:
        if isinstance(key, int):
            return self.items[key]
        if found := self.get(key):
            return found
        raise KeyError(key)

    def __iter__(self) -> Iterator[Variable]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        width = max((len(one.name) for one in self.items), default=0)
        lines = [f"    {one.name.ljust(width)}  {one.kind}{_note(one)}" for one in self.items]
        return "\n".join([f"{type(self).__name__}:", *lines])


class InputsSpec(_Items):
    """The inputs of a component."""


class OutputsSpec(_Items):
    """The outputs of a component."""


def variable_of(item: Mapping[str, Any]) -> Variable:
    """Return a variable from its stored definition."""
    if item["kind"] == "parameter":
        return PipelineParameter(item["name"], item["type"], item["default"], item["description"], item["metadata"])
    (data_type, location), *_rest = item["metadata"].get("type", {"Any": {}}).items()
    metadata = LocationArtifactMetadata(data_type, location.get("locationType"))
    return PipelineArtifact(item["name"], metadata, item["description"], item["required"])


def _note(one: Variable) -> str:
    text = one.desc if one.desc or (isinstance(one, PipelineParameter) or one.required) else _("optional")
    return f"  # {text}" if text else ""


def _type_of(name: str, typ: type | str) -> ParameterType:
    word = (typ if isinstance(typ, str) else typ.__name__).lower()
    if word not in _TYPES:
        raise SpecError(
            _("The parameter `{name}` has an unknown type: `{type}`.").format(name=name, type=word),
            fix=_("Known are: {names}.").format(names=", ".join(ParameterType)),
        )
    return _TYPES[word]


def _range_of(name: str, feasible: Mapping[str, str]) -> Callable[[float], bool] | None:
    if not feasible.get("range"):
        return None
    match = _RANGE.fullmatch(feasible["range"].strip())
    if not match:
        raise SpecError(
            _("The range of the parameter `{name}` is invalid: `{range}`.").format(name=name, range=feasible["range"]),
            fix=_("Write it as [0, 1], or (0, INF) without the limits themselves."),
        )
    low, high = (float(text) for text in match.group(2, 3))
    open_low, open_high = match[1] == "(", match[4] == ")"
    return lambda value: (low < value if open_low else low <= value) and (value < high if open_high else value <= high)
