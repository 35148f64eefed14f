"""The check of a spec: without a request, and against the virtual clusters, storages and SKUs of a cluster."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ....config.toml_file import suggestion
from ....core.errors import SpecError, Unsupported
from ....core.i18n import _
from ....core.text import show_size
from ....jobs.spec import RESOURCES, JobSpec
from ...base import parse_options
from ...check import Check
from ...job_files import Problem
from .. import own_document
from ..options import OpenPaiOptions, OpenPaiSettings
from ..protocol.references import Cluster, Sku
from . import locations
from .cluster import cluster_of
from .job_document import generated, is_generated, room_for_code, secret_key, virtual_cluster
from .sizes import choose, size_of

if TYPE_CHECKING:
    from ..client import OpenPaiClient

__all__ = ["check", "resolve"]

_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


def check(spec: JobSpec, settings: OpenPaiSettings) -> Check:
    """Check a spec without a request.

    Raises:
        BadInput: if no cluster can run it.
    """
    options = parse_options(OpenPaiOptions, spec.options)
    if options.document:
        if is_generated(options):
            lost = _lost_outputs(spec, settings)
            return Check(problems=_problems(spec, options), questions=tuple(filter(None, [lost])))
        return Check(own_document.idle_note(spec), problems=_problems(spec, options))
    if spec.runs_notebook:
        raise Unsupported(
            _("OpenPAI cannot run notebooks cell by cell."), fix=_("Run it as a script: add --as-script.")
        ).at("entry_point")
    _check_images(spec)
    _check_options(spec, options)
    for channel, uri in spec.inputs.items():
        if not (locations.is_hdfs(uri) or locations.is_web(uri) or locations.can_read(settings, uri)):
            _refuse(f"inputs.{channel}", uri, _("Download it first, and pass a path: %pai get"))
    for field, uri in [
        *((f"outputs.{channel}", uri) for channel, uri in spec.outputs.items()),
        ("output_path", spec.output_path),
    ]:
        if uri and not (locations.is_hdfs(uri) or locations.can_read(settings, uri)):
            _refuse(field, uri, _("Pass a folder of a storage that `mounts` of the profile names, or a URI of HDFS."))
    notes = [_("OpenPAI uses the Python of the image and ignores {name}.").format(name="python")] if spec.python else []
    if options.tensorboard and (locations.has_place(settings) or spec.output_path):
        text = _("Event files come back while the job runs: %pai tensorboard ID opens a TensorBoard for you only.")
        notes.append(text)
    if settings.storage and not locations.share(settings):
        text = _("The storage {name} is not used: set `mounts.{name}` of the profile to its folder on this machine.")
        notes.append(text.format(name=settings.storage))
    return Check(tuple(notes), questions=tuple(filter(None, [_lost_outputs(spec, settings)])))


def _problems(spec: JobSpec, options: OpenPaiOptions, cluster: Cluster | None = None) -> tuple[Problem, ...]:
    """Return the faults of the user's own document."""
    file = Path(options.document_file) if options.document_file else None
    return own_document.problems(options.document, file, _secret_names(spec), cluster)


def _secret_names(spec: JobSpec) -> list[str]:
    """Return the names by which a document may have the secrets of a spec."""
    return [*spec.secrets, *map(secret_key, spec.secrets)]


def _check_images(spec: JobSpec) -> None:
    for number, one in enumerate(spec.by_role.values()):
        if not one.image:
            field = f"roles.{number}.image" if spec.roles else "image"
            raise SpecError(
                _("{field}: required: jobs on OpenPAI run in containers.").format(field=field),
                fix=_("Set --image, or `default_image` of the profile. The image needs bash."),
            ).at(field)


def _check_options(spec: JobSpec, options: OpenPaiOptions) -> None:
    if unknown := [role for role in options.completion if role not in spec.by_role]:
        raise SpecError(
            _("options.completion: the job has no role `{name}`.").format(name=unknown[0]),
            fix=suggestion(unknown[0], spec.by_role),
        ).at("options.completion")
    for label, count in options.ports.items():
        if not _LABEL.fullmatch(label) or label in ("ssh", "http") or count < 1:
            raise SpecError(
                _("options.ports: `{label}` is not a label with a number of ports.").format(label=label),
                fix=_("Use letters, digits and `_`, a letter first, but not `ssh` and `http`; and at least one port."),
            ).at("options.ports")


def _refuse(field: str, uri: str, fix: str) -> None:
    text = _("{field}: jobs on OpenPAI do not see {uri}.")
    raise SpecError(text.format(field=field, uri=uri), fix=fix).at(field)


def _lost_outputs(spec: JobSpec, settings: OpenPaiSettings) -> str:
    """Return the question whether outputs may be lost; empty if they have a place."""
    channels = [channel for channel in spec.channels if channel not in spec.outputs]
    if locations.has_place(settings) or spec.output_path or not channels:
        return ""
    return _(
        "The outputs end with the container: what the job writes to {channels} is lost. To keep it, set `mounts.NAME` "
        "of the profile to a storage of the cluster that is mounted here, or `hdfs`. Or name a place: "
        "--output-path URI."
    ).format(channels=", ".join(channels))


async def resolve(
    spec: JobSpec, checked: Check, settings: OpenPaiSettings, client: OpenPaiClient, allows: Callable[[str], bool]
) -> tuple[JobSpec, Check]:
    """Return the spec with the SKUs of its instances, and the check with the ways of code and outputs.

    Raises:
        SpecError: if the cluster cannot run it.
    """
    options = parse_options(OpenPaiOptions, spec.options)
    if options.document:
        cluster = await cluster_of(client, virtual_cluster(settings, options))
        spec = own_document.applied(spec, is_generated=is_generated(options))
        return spec, replace(checked, problems=_problems(spec, options, cluster))
    name = virtual_cluster(settings, options)
    cluster = await cluster_of(client, name)
    _check_granted("options.virtual_cluster", [name], cluster.virtual_clusters or ())
    share = locations.share(settings)
    wanted = [*options.storages, *([share.name] if share else [])]
    _check_granted("options.storages", wanted, cluster.storages or ())
    spec, notes = _sized(spec, cluster.skus or {}, settings.sku, allows)
    if options.priority and not cluster.skus:
        notes.append(_("The cluster has no HiveD and ignores {name}.").format(name="options.priority"))
    notes.append(_ways(spec, settings, cluster))
    own = (note for note in notes if note and note not in checked.notes)
    problems = own_document.problems(generated(spec, settings, cluster), None, _secret_names(spec), cluster)
    return spec, replace(checked, notes=(*checked.notes, *own), problems=problems)


def _check_granted(field: str, names: Collection[str], granted: Collection[str]) -> None:
    for name in names:
        if name not in granted:
            raise SpecError(
                _("{field}: you may not use `{name}`.").format(field=field, name=name),
                fix=_("You may use: {names}.").format(names=", ".join(sorted(granted)))
                if granted
                else _("Ask the administrators of the cluster."),
            ).at(field)


def _sized(
    spec: JobSpec, skus: Mapping[str, Sku], preferred: str, allows: Callable[[str], bool]
) -> tuple[JobSpec, list[str]]:
    """Return the spec with a SKU for each role on a cluster with HiveD, and notes on default sizes."""
    if skus and preferred and preferred not in skus:
        raise SpecError(
            _("The virtual cluster has no SKU `{name}`, which is the profile's `sku`.").format(name=preferred),
            fix=suggestion(preferred, skus),
        ).at("instance_type")
    notes: list[str] = []
    roles = []
    for number, (role, one) in enumerate(spec.by_role.items()):
        try:
            name = one.instance_type or (choose(one, skus, preferred, allows).sku if skus else "")
            one = one.model_copy(update={"instance_type": name})
            size = size_of(one, skus)
        except SpecError as error:
            raise _of_role(error, number) if spec.roles else error from None
        if not one.is_sized:
            text = _("{role}: each instance gets {size}.") if spec.roles else _("Each instance gets {size}.")
            shown = f"{size.sku} ({size})" if size.sku else str(size)
            notes.append(text.format(role=role, size=shown))
        roles.append(one)
    if not spec.roles:
        return roles[0], notes
    updates = [{name: getattr(one, name) for name in RESOURCES} for one in roles]
    changed = [role.model_copy(update=update) for role, update in zip(spec.roles, updates, strict=True)]
    return spec.model_copy(update={"roles": tuple(changed)}), notes


def _of_role(error: SpecError, number: int) -> SpecError:
    """Return an error of a spec as one of the role with this number."""
    faults = error.details.get("faults")
    if isinstance(faults, dict):
        named = {field: f"roles.{number}.{field}" if field in RESOURCES else field for field in faults}
        error.details["faults"] = {named[field]: text for field, text in faults.items()}
    return error


def _ways(spec: JobSpec, settings: OpenPaiSettings, cluster: Cluster) -> str:
    """Return the note on the ways of code, inputs and outputs."""
    place, room = locations.place_name(settings), show_size(max(room_for_code(spec, settings, cluster), 0))
    has_code = bool(spec.source.folder or spec.source.files)
    if not place:
        text = _("The code goes in the job document, which has room for {size} of it, packed.")
        return text.format(size=room) if has_code else ""
    if not has_code:
        return _("Inputs and outputs go by way of {place}.").format(place=place)
    text = _(
        "The code goes in the job document if it has at most {size}, packed, and otherwise by way of {place}, as "
        "inputs and outputs do."
    )
    return text.format(size=room, place=place)
