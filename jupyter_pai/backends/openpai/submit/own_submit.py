"""The submit of a document of the user's own: it gets our name, and the code if it goes along."""

from __future__ import annotations

import base64
from typing import Any

from ....jobs.job import Job
from ....jobs.state_dir import JobFolder, Packing
from ...base import parse_options
from ...runtime.packed_script import packed
from .. import own_document
from ..names import OWN, job_name
from ..options import OpenPaiOptions, OpenPaiSettings
from ..protocol.problems import Path, entry
from ..protocol.reader import parse
from ..protocol.references import Cluster, items
from ..protocol.scalars import Value
from ..protocol.v1 import shell_word
from ..protocol.writer import write
from . import locations
from .instance_script import instance_script, routes, unpack_script
from .job_document import AT_SUBMIT, CODE, SCRIPT, unpacking, waits

__all__ = ["document_of_own", "has_code"]


def has_code(job: Job) -> bool:
    """Return whether the code of a job goes along: that of a document of the user's own only if it has a place for
    it."""
    options = parse_options(OpenPaiOptions, job.spec.options)
    if not job.source_files or not options.document:
        return bool(job.source_files)
    return bool(options.code_folder) or waits(options.document, SCRIPT)


def document_of_own(job: Job, folder: JobFolder, settings: OpenPaiSettings, _cluster: Cluster, code: str) -> str:
    """Return the user's own document of a job: as it is written, but for name, code and masked secrets.

    `code`: the URI of the folder with its code; `-` if it is in the document, empty for none. May block.
    """
    options = parse_options(OpenPaiOptions, job.spec.options)
    text = options.document
    name = entry(parse(text).value, "name")
    values: dict[Path, Value] = {("name",): job_name(str(name), job.id)}
    archive = base64.b64encode(folder.source.read_bytes()).decode() if code == "-" else ""
    if waits(text, SCRIPT):  # A generated document that was edited.
        script = instance_script(job, settings, options, code, Packing.read(folder).import_paths)
        values[("parameters", SCRIPT)] = packed(script)
        if entry(parse(text).value, "extras", OWN, "outputs") == AT_SUBMIT:
            values[("extras", OWN, "outputs")] = locations.place_of_outputs(settings, job)
        if waits(text, CODE):
            values[("parameters", CODE)] = archive
    text = own_document.replaced(text, values)
    if code and options.code_folder and ("parameters", SCRIPT) not in values:
        text = _with_code(text, settings, job, options.code_folder, code, archive)
    return text


def _with_code(text: str, settings: OpenPaiSettings, job: Job, folder: str, code: str, archive: str) -> str:
    """Return a document whose roles unpack the code into a folder first."""
    document = parse(text).value
    assert isinstance(document, dict)
    found = routes(job.model_copy(update={"spec": job.spec.model_copy(update={"inputs": {}})}), settings, code)
    commands = [*unpacking(has_code=code == "-"), f'sh "$pai_here/script" {shell_word(folder)}']
    changed: dict[str, Any] = own_document.with_code(document, commands)
    changed["parameters"] = {**(changed.get("parameters") or {}), SCRIPT: packed(unpack_script(settings, found))}
    if code == "-":
        changed["parameters"][CODE] = archive
    if found.storages:
        extras = changed.setdefault("extras", {})
        known = {item.get("name") for _n, item in items(extras.get("storages"))}
        missing = [{"name": name} for name in found.storages if name not in known]
        extras["storages"] = [*(extras.get("storages") or []), *missing]
    return write(changed)
