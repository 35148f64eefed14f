"""Components: jobs with declared inputs and outputs that are kept in the state folder, by identifier and version.

A component is a folder with its definition and its code. It is never replaced, so that a step runs the same code
whenever it is used.
"""

from __future__ import annotations

import os
import re
import tarfile
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from ...core.errors import DAMAGED, Conflict, NotFound
from ...core.field_errors import fields
from ...core.i18n import _
from ...core.text import parse_size
from ...jobs.job import Time, now
from ...jobs.spec import STORED, JobSpec, Source, Value
from ...jobs.state_dir import Home, state_errors
from ...source import pack as source
from ..profiles import Profiles

_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"
Name = Annotated[str, Field(min_length=1, max_length=100, pattern=_NAME)]
_FOLDER, _DEFINITION, _CODE = "components", "component.json", "code"
# The parameters and artifacts of a component.
_MOST = 200


class ComponentItem(Value):
    """An input or output of a component: a parameter with a type and a default, or an artifact, which is a folder or
    file with the `metadata` of its kind."""

    name: str = Field(min_length=1, max_length=200)
    kind: Literal["parameter", "artifact"] = "parameter"
    type: str = Field("String", description="Type of a parameter: String, Int, Double, Bool, Map or Array.")
    default: Any = Field(None, description="Value of a parameter that is not given. Null: none.")
    required: bool = True
    metadata: dict[str, Any] = Field({}, description="Kind of an artifact.")
    description: str = ""


class NewComponent(Value):
    """A component to keep. The spec is that of its job without values of its inputs."""

    identifier: Name
    version: Name
    spec: JobSpec
    inputs: tuple[ComponentItem, ...] = Field((), max_length=_MOST)
    outputs: tuple[ComponentItem, ...] = Field((), max_length=_MOST)


class Component(NewComponent):
    """A component that is kept. The folder of its spec's source has its code."""

    created_at: Time


class Components:
    """The components of a state folder."""

    def __init__(self, home: Home, profiles: Profiles) -> None:
        self._folder = home.path / _FOLDER
        self._home = home
        self._profiles = profiles

    def save(self, new: NewComponent) -> Component:
        """Keep a component with a copy of its code. May block.

        Raises:
            Conflict: if its version exists.
            SourceError: if the code cannot be packed, or has secrets in it.
        """
        place = self._folder / new.identifier / new.version
        if place.exists():
            raise _exists(new)
        with state_errors(self._folder):
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (
            state_errors(self._folder),
            tempfile.TemporaryDirectory(dir=self._folder, prefix=".new-") as temporary,
        ):
            folder = Path(temporary, "component")
            folder.mkdir(mode=0o700)
            has_code = self._copy_code(new.spec, folder / _CODE)
            spec = new.spec.model_copy(update={"source": Source(), "profile": ""})
            values = new.model_dump(mode="python") | {"spec": spec, "created_at": now()}
            component = Component.model_validate(values, context=STORED)
            (folder / _DEFINITION).write_text(component.model_dump_json(indent=1), "utf-8")
            _publish(folder, place, new)
        return _with_code(component, place) if has_code else component

    def get(self, identifier: str, version: str) -> Component:
        """Return a component. May block.

        Raises:
            NotFound: if there is none; the message has the versions that exist.
        """
        if all(re.fullmatch(_NAME, name) for name in (identifier, version)):
            with suppress(*DAMAGED):
                return _read(self._folder / identifier / version)
        raise self._not_found(identifier, version)

    def all(self, identifier: str = "") -> list[Component]:
        """Return the components, or those of one identifier, newest first. May block."""
        found = []
        for place in self._folder.glob("[!.]*/*"):
            if identifier in ("", place.parent.name):
                with suppress(*DAMAGED):
                    found.append(_read(place))
        return sorted(found, key=lambda one: one.created_at, reverse=True)

    def _copy_code(self, spec: JobSpec, folder: Path) -> bool:
        """Copy the code of a spec, as it would be packed for a job. Return whether there is any."""
        if not spec.source.folder and not spec.source.files:
            return False
        limit = parse_size(self._profiles.settings().pick().settings.source_limit)
        with fields("source"):
            manifest = source.scan(spec.source, limit, {str(self._home.path): _("jobs and their data")})
            self._profiles.policy().check_source(manifest.bytes)
            packed = source.pack(manifest, self._home.sources)
            with tarfile.open(packed.path) as archive:
                archive.extractall(folder, filter="data")
        return True

    def _not_found(self, identifier: str, version: str) -> NotFound:
        versions = [one.version for one in self.all(identifier)] if identifier else []
        text = _("No component has the identifier `{identifier}` and the version `{version}`.")
        if versions:
            fix = _("Its versions: {versions}.").format(versions=", ".join(versions))
        else:
            known = sorted({one.identifier for one in self.all()})
            fix = _("Saved components: {names}.").format(names=", ".join(known) or "-")
        return NotFound(text.format(identifier=identifier, version=version), fix=fix)


def _read(place: Path) -> Component:
    text = (place / _DEFINITION).read_text("utf-8")
    return _with_code(Component.model_validate_json(text, context=STORED), place)


def _with_code(component: Component, place: Path) -> Component:
    """Return a component whose spec has the folder of its code. The rules for packing were applied already."""
    code = place / _CODE
    if not code.is_dir():
        return component
    update: Mapping[str, object] = {"source": Source(folder=str(code), gitignore=False)}
    return component.model_copy(update={"spec": component.spec.model_copy(update=update)})


def _publish(folder: Path, place: Path, new: NewComponent) -> None:
    """Move a complete component to its place, unless another process was faster."""
    try:
        os.rename(folder, place)
    except OSError:
        if not place.exists():
            raise
        raise _exists(new) from None


def _exists(new: NewComponent) -> Conflict:
    return Conflict(
        _("The version `{version}` of the component `{identifier}` exists already, and is not replaced.").format(
            version=new.version, identifier=new.identifier
        ),
        fix=_("Save it as another version."),
    )
