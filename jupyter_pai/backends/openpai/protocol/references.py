"""References inside a document, and those to a cluster's virtual clusters, storages and SKUs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ....core.i18n import _
from .problems import Path, entry
from .scalars import Value
from .schema import PREREQUISITES, Fault

__all__ = ["Cluster", "Sku", "broken_references", "refused_by_cluster"]

# The server looks names up in objects of JavaScript, in which these are always found.
_INHERITED = frozenset(
    """constructor __defineGetter__ __defineSetter__ hasOwnProperty __lookupGetter__ __lookupSetter__ isPrototypeOf
    propertyIsEnumerable toString valueOf __proto__ toLocaleString""".split()
)
_FIELDS = {"dockerImage": "dockerimage", "data": "data", "output": "output", "script": "script"}
_PRIORITIES = ("prod", "test", "oppo")
_RESOURCES = {"cpu": "cpu", "memoryMB": "memory", "gpu": "gpu"}


@dataclass(frozen=True)
class Sku:
    """One unit of an instance type: cores, memory in MiB, and GPUs."""

    cpu: int
    memory: int
    gpu: int


@dataclass(frozen=True)
class Cluster:
    """Facts of a cluster and a user. A field is None if it is unknown.

    `virtual_clusters`, `storages`: the names granted to the user. `skus`: the SKUs of the job's virtual cluster; empty
    without HiveD.
    """

    virtual_clusters: Collection[str] | None = None
    storages: Collection[str] | None = None
    skus: Mapping[str, Sku] | None = None


def items(value: Value) -> Iterator[tuple[int, Mapping[str, Value]]]:
    """Yield the maps of a list with their positions."""
    for n, item in enumerate(value if isinstance(value, list) else ()):
        if isinstance(item, Mapping):
            yield n, item


def pairs(value: Value) -> Iterable[tuple[str, Value]]:
    """Return the entries of a map; none for another value."""
    return value.items() if isinstance(value, Mapping) else ()


def broken_references(document: Mapping[str, Value]) -> Iterator[Fault]:
    """Yield repeated names, and names that refer to nothing. The schema must hold."""
    names: dict[str, set[str]] = {kind: set() for kind in PREREQUISITES}
    for n, item in items(document.get("prerequisites")):
        kind, name = str(item["type"]), str(item["name"])
        if name in names[kind]:
            text = _("Two prerequisites of the type `{type}` have the name `{name}`.").format(type=kind, name=name)
            yield Fault(("prerequisites", n, "name"), text, _("Rename one of them."))
        names[kind].add(name)
    for role, value in pairs(document.get("taskRoles")):
        yield from _role_references(value, names, ("taskRoles", role))
    yield from _deployments(document)


def _role_references(role: Value, names: Mapping[str, set[str]], path: Path) -> Iterator[Fault]:
    for key, kind in _FIELDS.items():
        name = entry(role, key)
        if isinstance(name, str) and name not in names[kind] | _INHERITED:
            yield _unknown((*path, key), kind, name, names[kind])
    required = entry(role, "prerequisites")
    known = set().union(*names.values())
    for n, name in enumerate(required if isinstance(required, list) else ()):
        if isinstance(name, str) and name not in known:
            text = _("No prerequisite has the name `{name}`.").format(name=name)
            yield Fault((*path, "prerequisites", n), text, _choose(known))


def _unknown(path: Path, kind: str, name: str, known: Collection[str]) -> Fault:
    text = _("No prerequisite of the type `{type}` has the name `{name}`.").format(type=kind, name=name)
    return Fault(path, text, _choose(known))


def _choose(known: Collection[str]) -> str:
    if not known:
        return _("Add it to `prerequisites`, or remove the name.")
    names = ", ".join(f"`{name}`" for name in sorted(known))
    return _("Add it to `prerequisites`, or write one of {names}.").format(names=names)


def _deployments(document: Mapping[str, Value]) -> Iterator[Fault]:
    names: set[str] = set()
    for n, item in items(document.get("deployments")):
        name = str(item["name"])
        if name in names:
            text = _("Two deployments have the name `{name}`.").format(name=name)
            yield Fault(("deployments", n, "name"), text, _("Rename one of them."))
        names.add(name)
    default = entry(document, "defaults", "deployment")
    if isinstance(default, str) and default not in names:
        text = _("No deployment has the name `{name}`.").format(name=default)
        yield Fault(("defaults", "deployment"), text, _("Add it to `deployments`, or remove the key."))


def refused_by_cluster(document: Mapping[str, Value], cluster: Cluster) -> Iterator[Fault]:
    """Yield the faults that only a cluster with these facts finds. The schema must hold."""
    name = entry(document, "defaults", "virtualCluster") or "default"
    if cluster.virtual_clusters is not None and name not in cluster.virtual_clusters:
        text = _("You may not use the virtual cluster `{name}`.").format(name=name)
        yield Fault(("defaults", "virtualCluster"), text, _granted(cluster.virtual_clusters))
    for n, item in items(entry(document, "extras", "storages")):
        if cluster.storages is not None and item.get("name") not in cluster.storages:
            text = _("You may not use the storage `{name}`.").format(name=item.get("name"))
            yield Fault(("extras", "storages", n, "name"), text, _granted(cluster.storages))
    if cluster.skus:
        yield from _hived(document, cluster.skus)


def _granted(names: Collection[str]) -> str:
    if not names:
        return _("Ask the administrator of the cluster for one.")
    return _("Write one of {names}.").format(names=", ".join(f"`{name}`" for name in sorted(names)))


def _hived(document: Mapping[str, Value], skus: Mapping[str, Sku]) -> Iterator[Fault]:
    path: Path = ("extras", "hivedScheduler")
    options = entry(document, *map(str, path))
    priority = entry(options, "jobPriorityClass")
    if priority is not None and priority not in _PRIORITIES:
        text = _("The priority `{name}` is unknown.").format(name=priority)
        yield Fault((*path, "jobPriorityClass"), text, _granted(_PRIORITIES))
    groups: dict[str, Value] = {}
    for role, chosen in pairs(entry(options, "taskRoles")):
        below = (*path, "taskRoles", role)
        resources = entry(document, "taskRoles", role, "resourcePerInstance")
        if resources is None:
            text = _("The document has no role `{role}`.").format(role=role)
            yield Fault(below, text, _("Remove the entry, or rename it."))
            continue
        yield from _sku(chosen, resources, skus, below)
        group, sku = entry(chosen, "affinityGroupName"), entry(chosen, "skuType")
        if isinstance(group, str) and groups.setdefault(group, sku) != sku:
            text = _("The roles of the affinity group `{group}` have different SKUs.").format(group=group)
            yield Fault((*below, "skuType"), text, _("Write the same SKU for all of them."))


def _sku(chosen: Value, resources: Value, skus: Mapping[str, Sku], path: Path) -> Iterator[Fault]:
    name = entry(chosen, "skuType")
    if name is not None and entry(chosen, "pinnedCellId") is not None:
        yield Fault(path, _("A role has either `skuType` or `pinnedCellId`."), _("Remove one of them."))
    if not isinstance(name, str):
        return
    if name not in skus:
        text = _("The virtual cluster has no SKU `{name}`.").format(name=name)
        yield Fault((*path, "skuType"), text, _granted(skus))
        return
    for key, attribute in _RESOURCES.items():
        wanted = entry(resources, key)
        if isinstance(wanted, int | float) and wanted > 0 and not getattr(skus[name], attribute):
            text = _("The SKU `{name}` has no `{key}`.").format(name=name, key=key)
            yield Fault((*path, "skuType"), text, _("Choose another SKU, or request 0 of it."))
