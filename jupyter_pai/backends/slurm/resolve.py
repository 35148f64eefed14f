"""Check a spec: without a request, and against the partitions of the cluster, which also give its instance type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ...config.toml_file import suggestion
from ...core.errors import SpecError, Unsupported
from ...core.i18n import _, ngettext
from ...core.text import parse_size, show_memory
from ...jobs.spec import RESOURCES, JobSpec
from ..base import parse_options
from ..check import Check
from ..local import interpreter
from ..private_folder import path_of
from .allocation import check_once
from .cluster import Node, Partition, Shape, partition_of
from .options import SlurmOptions, SlurmSettings
from .shared_folder import SharedFolder

__all__ = ["check", "resolve"]

_MIB = 1 << 20


def check(spec: JobSpec, kernel: str, settings: SlurmSettings, shared: SharedFolder) -> Check:
    """Check a spec without a request. `kernel`: the interpreter of the submitting process.

    Raises:
        BadInput: if the cluster cannot run it.
    """
    check_once(spec, parse_options(SlurmOptions, spec.options).sbatch)
    if spec.runs_notebook:
        raise Unsupported(
            _("Slurm cannot run notebooks cell by cell."), fix=_("Run it as a script: add --as-script.")
        ).at("entry_point")
    for name, uri in spec.inputs.items():
        _check_path(f"inputs.{name}", uri, _("Download it first, and pass a path: %pai get"))
    for name, uri in [
        *((f"outputs.{name}", uri) for name, uri in spec.outputs.items()),
        ("output_path", spec.output_path),
    ]:
        _check_path(name, uri, _("Pass the path of a folder."))
        if uri and not shared.sees(_existing(path_of(uri))):
            raise SpecError(
                _("{field}: the nodes do not see {path}.").format(field=name, path=path_of(uri)),
                fix=_("Pass a folder on the disk of {folder}.").format(folder=shared.path),
            ).at(name)
    in_container = bool(spec.image) and settings.container != "none"
    notes = []
    images = {f"roles.{number}.image": role.image for number, role in enumerate(spec.roles) if role.image}
    if settings.container == "none":
        text = _("The image {image} is ignored: set `container` of the profile to run images.")
        notes += [text.format(image=image) for image in dict.fromkeys([spec.image, *images.values()]) if image]
    elif other := [field for field, image in images.items() if image != spec.image]:
        raise SpecError(
            _("{field}: on Slurm, all roles run in the image of the job.").format(field=other[0]),
            fix=_("Set the image of the job, or submit the role as a job of its own."),
        ).at(other[0])
    python = "" if in_container else _python(spec, kernel, shared)
    if not python and not in_container:
        text = _(
            "The nodes do not see your interpreter {python}: the job uses `python3` of the node. Choose one "
            "with --python or load a module in the `prologue` of the profile."
        )
        notes.append(text.format(python=kernel))
    if not spec.is_sized and not spec.instance_type:
        notes.append(
            _("The cluster's default size applies. Set --cpu, --memory and --gpu, or an instance type, for more.")
        )
    return Check(tuple(notes), python)


def _check_path(field: str, uri: str, fix: str) -> None:
    if uri and not path_of(uri):
        text = _("{field}: nodes of a cluster read files only, not {uri}.")
        raise SpecError(text.format(field=field, uri=uri), fix=fix).at(field)


def _existing(path: str) -> str:
    """Return a path, or its nearest parent that exists."""
    found = Path(path)
    while not found.exists() and found != found.parent:
        found = found.parent
    return str(found)


def _python(spec: JobSpec, kernel: str, shared: SharedFolder) -> str:
    """Return the interpreter of a job; empty if nodes do not see it."""
    python = interpreter.find(spec.python, kernel)
    folder = Path(python).parent.parent  # Its environment; the executable may be a link to one of the system.
    return python if spec.python or shared.sees(str(folder)) else ""  # The nodes check it too.


def resolve(
    spec: JobSpec,
    checked: Check,
    options: SlurmOptions,
    partitions: Sequence[Partition],
    limit: int,
    allows: Callable[[str], bool],
) -> tuple[JobSpec, Check]:
    """Return the spec with an instance type if it has sizes, and the check with notes on nodes that take no jobs.

    `options`: with the values of the profile. `limit`: the run-time limit in seconds; 0 for none.

    Raises:
        SpecError: if the cluster cannot run it.
    """
    if spec.roles:

        def resolve_one(one: JobSpec, check: Check) -> tuple[JobSpec, Check]:
            return resolve(one, check, options, partitions, limit, allows)

        return _resolve_roles(spec, checked, options, partitions, resolve_one)
    partition = _partition(spec, options, partitions)
    if spec.instance_type:
        shape = partition.shape(spec.instance_type)
        if shape is None:
            raise _unknown_type(spec.instance_type, partitions)
        wanted = shape if not spec.is_sized else _wanted(spec)
    else:
        wanted = _wanted(spec)
    _check_size(spec, partition, wanted)
    spec, capped = _limited(spec, partition, limit)
    if not spec.instance_type:
        name = _smallest(partition, wanted, allows) if spec.is_sized else _any_type(partition, allows)
        spec = spec.model_copy(update={"instance_type": name})
    notes = tuple(note for note in [capped, _closed(spec, partition, wanted)] if note and note not in checked.notes)
    return spec, replace(checked, notes=(*checked.notes, *notes))


def _resolve_roles(
    spec: JobSpec,
    checked: Check,
    options: SlurmOptions,
    partitions: Sequence[Partition],
    resolve_one: Callable[[JobSpec, Check], tuple[JobSpec, Check]],
) -> tuple[JobSpec, Check]:
    """Resolve each role, and check that each instance of the job has a node of its own."""
    roles, limits, taken = [], [], Counter[str]()
    for number, one in enumerate(spec.by_role.values()):
        try:
            found, checked = resolve_one(one, checked)
        except SpecError as error:
            raise _of_role(error, number) from None
        roles.append(spec.roles[number].model_copy(update={name: getattr(found, name) for name in RESOURCES}))
        limits.append(found.max_run_time)
        taken[_partition(found, options, partitions).name] += found.instance_count
    for partition in partitions:
        _check_count(partition, partition.nodes, taken[partition.name], "roles")
    update = {"roles": tuple(roles), "max_run_time": min(filter(None, limits), default=spec.max_run_time)}
    return spec.model_copy(update=update), checked


def _of_role(error: SpecError, number: int) -> SpecError:
    """Return an error of a spec as one of the role with this number."""
    faults = error.details.get("faults")
    names = {name: f"roles.{number}.{name}" for name in RESOURCES} | {"instance_count": f"roles.{number}.count"}
    if isinstance(faults, dict):
        error.details["faults"] = {names.get(field, field): text for field, text in faults.items()}
    return error


def _partition(spec: JobSpec, options: SlurmOptions, partitions: Sequence[Partition]) -> Partition:
    named = {one.name: one for one in partitions}
    name = options.partition
    if spec.instance_type:
        name = partition_of(spec.instance_type)
        if name not in named:
            raise _unknown_type(spec.instance_type, partitions)
        if spec.options.get("partition") not in (None, "", name):
            raise SpecError(
                _("options.partition: the instance type {type} is in another partition.").format(
                    type=spec.instance_type
                ),
                fix=_("Omit one of the two."),
            ).at("options.partition", "instance_type")
    if not name and partitions:
        if not partitions[0].is_default:
            raise SpecError(
                _("options.partition: required, since the cluster has no default partition."),
                fix=_("Known are: {names}.").format(names=", ".join(named)),
            ).at("options.partition")
        return partitions[0]
    if name not in named:
        raise SpecError(
            _("options.partition: the cluster has no partition `{name}`.").format(name=name),
            fix=suggestion(name, named),
        ).at("options.partition")
    return named[name]


def _unknown_type(name: str, partitions: Sequence[Partition]) -> SpecError:
    names = [kind.name for one in partitions for kind in one.types()]
    return SpecError(
        _("instance_type: the cluster has no `{name}`.").format(name=name), fix=suggestion(name, names)
    ).at("instance_type")


def _wanted(spec: JobSpec) -> Shape:
    memory = parse_size(spec.memory) if spec.memory else 0
    return Shape(-(-int((spec.cpu or 0) * 1000) // 1000), -(-memory // _MIB), spec.gpu or 0)


def _fits(shape: Shape, wanted: Shape) -> bool:
    return shape.cpu >= wanted.cpu and shape.memory >= wanted.memory and shape.gpu >= wanted.gpu


def _check_size(spec: JobSpec, partition: Partition, wanted: Shape) -> None:
    fitting = [node for node in partition.nodes if _fits(node.shape, wanted)]
    if not fitting:
        most = "; ".join(_size(shape) for shape in partition.shapes)
        raise SpecError(
            _("No node of the partition {name} has {size}.").format(name=partition.name, size=_size(wanted)),
            fix=_("Its nodes have: {sizes}. List all with: %pai instances").format(sizes=most),
        ).at(*(field for field in ("cpu", "memory", "gpu") if getattr(spec, field)))
    _check_count(partition, fitting, spec.instance_count, "instance_count")


def _check_count(partition: Partition, fitting: Sequence[Node], count: int, field: str) -> None:
    """Check the number of nodes: each instance has a node of its own."""
    if len(fitting) < count:
        text = ngettext(
            "{field}: the partition {name} has {n} node of this size, not {count}.",
            "{field}: the partition {name} has {n} nodes of this size, not {count}.",
            len(fitting),
        )
        raise SpecError(
            text.format(field=field, name=partition.name, n=len(fitting), count=count),
            fix=_("Request fewer instances, or another partition: %pai instances"),
        ).at(field)


def _size(shape: Shape) -> str:
    parts = [ngettext("{n} core", "{n} cores", shape.cpu).format(n=shape.cpu)] if shape.cpu else []
    parts += [show_memory(shape.memory * _MIB)] if shape.memory else []
    parts += [ngettext("{n} GPU", "{n} GPUs", shape.gpu).format(n=shape.gpu)] if shape.gpu else []
    return ", ".join(parts)


def _limited(spec: JobSpec, partition: Partition, limit: int) -> tuple[JobSpec, str]:
    """Return the spec with the limit of the partition, if that of the profile is longer, and a note on it.

    Raises:
        SpecError: if the job itself requests more.
    """
    if not partition.limit or limit <= partition.limit:
        return spec, ""
    if spec.max_run_time is not None:
        raise SpecError(
            _("max_run_time: the partition {name} allows {n} seconds at most, not {limit}.").format(
                name=partition.name, n=partition.limit, limit=limit
            ),
            fix=_("Set a shorter --max-run-time, or another partition."),
        ).at("max_run_time")
    note = _("The run-time limit is that of the partition {name}: {n} seconds.")
    return spec.model_copy(update={"max_run_time": partition.limit}), note.format(
        name=partition.name, n=partition.limit
    )


def _smallest(partition: Partition, wanted: Shape, allows: Callable[[str], bool]) -> str:
    """Return the smallest instance type of a partition that fits."""
    fitting = [
        (shape.gpu, shape.cpu, shape.memory, partition.type_name(shape))
        for shape in partition.shapes
        if _fits(shape, wanted)
    ]
    allowed = [kind for kind in sorted(fitting) if allows(kind[-1])]
    if not allowed:
        raise SpecError(
            _("instance_type: the policy allows no instance type of this size in {name}.").format(name=partition.name),
            fix=_("Request less, or another partition: %pai instances"),
        ).at("instance_type")
    return allowed[0][-1]


def _any_type(partition: Partition, allows: Callable[[str], bool]) -> str:
    """Return no instance type, for a job without sizes: Slurm selects any node of the partition.

    Raises:
        SpecError: if the policy does not allow all of them.
    """
    forbidden = [kind.name for kind in partition.types() if not allows(kind.name)]
    if forbidden:
        raise SpecError(
            _("instance_type: required, since the policy does not allow {names}.").format(names=", ".join(forbidden)),
            fix=_("Set --instance-type. To list them: %pai instances"),
        ).at("instance_type")
    return ""


def _closed(spec: JobSpec, partition: Partition, wanted: Shape) -> str:
    """Return a note if too few nodes take jobs now; empty otherwise."""
    fitting = [node for node in partition.nodes if _fits(node.shape, wanted)]
    closed = [node for node in fitting if not node.is_open]
    if partition.is_up and len(fitting) - len(closed) >= spec.instance_count:
        return ""
    if not partition.is_up:
        return _("The partition {name} is down: the job waits until it is up.").format(name=partition.name)
    states = ", ".join(f"{node.name} {node.state}" for node in closed[:5])
    return _(
        "Too few nodes of {name} take jobs ({states}): the job waits. Stop it, or choose another partition."
    ).format(name=partition.name, states=states)
