"""Job files of version 1 (`*.pai.json`), converted to documents of version 2.

The cluster does not accept version 1 any more. Its launcher copied `codeDir` into the working folder, under the last
part of its path; the converted commands make this folder, and the code is unpacked there.
"""

from __future__ import annotations

import base64
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ....core.errors import BadInput
from ....core.i18n import _
from .jsonc import parse_jsonc
from .problems import Path, Problem, path_text
from .role_names import clean_role_name, rename_roles
from .scalars import Value, js_text

__all__ = ["Converted", "convert", "shell_word"]

_URIS = {"dataDir": "PAI_DATA_DIR", "outputDir": "PAI_OUTPUT_DIR", "codeDir": "PAI_CODE_DIR"}
_KNOWN = {"jobName", "image", "virtualCluster", "retryCount", "jobEnvs", "extras", "taskRoles", *_URIS}
_ROLE_KNOWN = {
    "name", "taskNumber", "cpuNumber", "gpuNumber", "memoryMB", "shmMB", "portList", "command", "minFailedTaskCount",
    "minSucceededTaskCount",
}  # fmt: skip
_VARIABLE = re.compile(r"\$(?:\{(PAI_\w+)\}|(PAI_\w+))")


@dataclass(frozen=True)
class Converted:
    """A converted job file.

    `document`: the document of version 2; None if there are errors. `errors`: faults of the file. `notes`: what has
    changed its name or is lost. `code_folder`: the folder of the code in the container, in which variables of the
    platform are expanded; empty without `codeDir`.
    """

    document: Mapping[str, Value] | None
    errors: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()
    code_folder: str = ""


def convert(text: str) -> Converted:
    """Convert a job file of version 1, which may have comments."""
    try:
        job = parse_jsonc(text)
    except BadInput as error:
        line = error.details.get("line")
        return Converted(None, (Problem("", error.message, error.fix, line if isinstance(line, int) else 0),))
    return _Conversion().convert(job)


class _Conversion:
    """Collects the errors and notes of one file."""

    def __init__(self) -> None:
        self.errors: list[Problem] = []
        self.notes: list[Problem] = []

    def convert(self, job: object) -> Converted:
        if not isinstance(job, dict):
            self._error((), _("The file must contain a JSON object."), _("Write the job in braces."))
            return Converted(None, tuple(self.errors))
        self._lost(job, _KNOWN, ())
        folder = _code_folder(self._text(job, ("codeDir",), ""))
        names = self._role_names(job)
        document: dict[str, Value] = {
            "protocolVersion": 2,
            "name": self._name(job),
            "type": "job",
            "prerequisites": [*self._prerequisites(job)],
            "jobRetryCount": max(0, self._integer(job, ("retryCount",), 0)),
            "taskRoles": dict(self._roles(job, names, [*self._setup(job, folder)])),
        }
        if cluster := self._text(job, ("virtualCluster",), ""):
            document["defaults"] = {"virtualCluster": cluster}
        if isinstance(extras := job.get("extras"), dict):
            document["extras"] = extras
        errors = tuple(self.errors)
        return Converted(None if errors else document, errors, tuple(self.notes), folder)

    def _error(self, path: Path, text: str, fix: str) -> None:
        self.errors.append(Problem(path_text(path), text, fix))

    def _note(self, path: Path, text: str, fix: str) -> None:
        self.notes.append(Problem(path_text(path), text, fix))

    def _text(self, values: Mapping[str, Value], path: Path, default: str | None = None) -> str:
        value = values.get(str(path[-1]))
        if isinstance(value, str) and (value or default is not None):
            return value
        if value is None and default is not None:
            return default
        self._error(path, _("The value must be a text."), _("Write a text in double quotes."))
        return ""

    def _integer(self, values: Mapping[str, Value], path: Path, default: int, least: int | None = None) -> int:
        value = values.get(str(path[-1]), default)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            self._error(path, _("The value must be a whole number."), _("Write a number without quotes."))
            return default
        if least is not None and value < least:
            text = _("The number is less than {minimum}.").format(minimum=least)
            self._error(path, text, _("Write at least {minimum}.").format(minimum=least))
        return value

    def _lost(self, values: Mapping[str, Value], known: set[str], path: Path) -> None:
        """Note the keys that the document of version 2 has no place for."""
        for key in values:
            text: str
            if key == "authFile" and values[key]:
                text = _("The login of the image's registry is not carried over: `authFile` lies on the old HDFS.")
                fix = _("Add `auth` to the image, with user and password as `<% $secrets.NAME %>`.")
                self._note((*path, key), text, fix)
            elif key == "gpuType" and values[key]:
                text = _("The type of GPU `{name}` is not carried over.").format(name=values[key])
                self._note((*path, key), text, _("Choose an instance type, if the cluster has several."))
            elif key not in known and values[key]:
                text = _("The key `{key}` is not carried over.").format(key=key)
                self._note((*path, key), text, _("Add its counterpart to the converted document, if it is needed."))

    def _name(self, job: Mapping[str, Value]) -> str:
        name = self._text(job, ("jobName",))
        clean = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:255]
        if clean != name:
            text = _("The name `{old}` becomes `{new}`.").format(old=name, new=clean)
            self._note(("jobName",), text, _("Names have letters, digits, `_` and `-` only, and at most 255 of them."))
        return clean

    def _prerequisites(self, job: Mapping[str, Value]) -> Iterator[Value]:
        yield {"name": "image", "type": "dockerimage", "uri": self._text(job, ("image",))}
        if uri := self._text(job, ("dataDir",), ""):
            yield {"name": "data", "type": "data", "uri": [uri]}
        if uri := self._text(job, ("outputDir",), ""):
            yield {"name": "output", "type": "output", "uri": uri}
        if uri := self._text(job, ("codeDir",), ""):
            yield {"name": "code", "type": "script", "uri": uri}

    def _setup(self, job: Mapping[str, Value], folder: str) -> Iterator[str]:
        """Yield the commands before those of a role."""
        for key, name in _URIS.items():
            if uri := self._text(job, (key,), ""):
                yield f"export {name}={shell_word(uri)}"
        variables = job.get("jobEnvs") or {}
        if not isinstance(variables, dict):
            self._error(("jobEnvs",), _("The value must be a map."), _("Write names and values in braces."))
            variables = {}
        for name, value in variables.items():
            if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
                yield f"export {name}={_quoted('' if value is None else js_text(value))}"
            else:
                text = _("`{name}` is not a name of a variable.").format(name=name)
                self._error(("jobEnvs", name), text, _("Rename it: letters, digits and `_`."))
        if folder:
            yield f"mkdir -p -- {shell_word(folder)}"

    def _role_names(self, job: Mapping[str, Value]) -> dict[str, str]:
        """Return the new name of each role by its old one."""
        roles = job.get("taskRoles")
        if not isinstance(roles, list) or not roles or not all(isinstance(role, dict) for role in roles):
            self._error(("taskRoles",), _("The file has no roles."), _("Add a list of roles, with at least one."))
            return {}
        names: dict[str, str] = {}
        for n, role in enumerate(roles):
            path: Path = ("taskRoles", n, "name")
            name = self._text(role, path)
            if name in names:
                self._error(path, _("Two roles have the name `{name}`.").format(name=name), _("Rename one of them."))
                continue
            names[name] = clean_role_name(name, names.values())
            if names[name] != name:
                text = _("The role `{old}` becomes `{new}`, also in the variables that contain its name.")
                self._note(path, text.format(old=name, new=names[name]), _("Use lower-case letters and digits."))
        return names

    def _roles(
        self, job: Mapping[str, Value], names: Mapping[str, str], setup: list[str]
    ) -> Iterator[tuple[str, Value]]:
        roles = job.get("taskRoles")
        for n, role in enumerate(roles if isinstance(roles, list) and names else ()):
            path: Path = ("taskRoles", n)
            self._lost(role, _ROLE_KNOWN, path)
            command = rename_roles(self._text(role, (*path, "command")), names)
            value: dict[str, Value] = {
                "instances": self._integer(role, (*path, "taskNumber"), 1, 1),
                **self._completion(role, path),
                "dockerImage": "image",
                **{field: field for key, field in (("dataDir", "data"), ("outputDir", "output")) if job.get(key)},
                **({"script": "code"} if job.get("codeDir") else {}),
                "resourcePerInstance": self._resources(role, path),
                "commands": [rename_roles(line, names) for line in setup] + [_inline(command)],
            }
            if role.get("shmMB") is not None:
                value["extraContainerOptions"] = {"shmMB": self._integer(role, (*path, "shmMB"), 64, 0)}
            yield names.get(str(role.get("name")), ""), value

    def _completion(self, role: Mapping[str, Value], path: Path) -> dict[str, Value]:
        limits: dict[str, Value] = {}
        for key, field in (
            ("minFailedTaskCount", "minFailedInstances"),
            ("minSucceededTaskCount", "minSucceededInstances"),
        ):
            if role.get(key) is not None:
                limits[field] = self._integer(role, (*path, key), 1, 1)
        return {"completion": limits} if limits else {}

    def _resources(self, role: Mapping[str, Value], path: Path) -> Value:
        resources: dict[str, Value] = {
            "cpu": self._integer(role, (*path, "cpuNumber"), 1),
            "memoryMB": self._integer(role, (*path, "memoryMB"), 100),
            "gpu": self._integer(role, (*path, "gpuNumber"), 0),
        }
        ports: dict[str, Value] = {}
        listed = role.get("portList") or []
        for n, port in enumerate(listed if isinstance(listed, list) else [listed]):
            below = (*path, "portList", n)
            if not isinstance(port, dict):
                self._error(below, _("The value must be a map."), _("Write `label`, `beginAt` and `portNumber`."))
                continue
            label = self._text(port, (*below, "label"))
            clean = re.sub(r"\W", "_", label, flags=re.ASCII)
            ports[clean if not clean[:1].isdigit() else f"_{clean}"] = self._integer(port, (*below, "portNumber"), 1)
            if port.get("beginAt"):
                text = _("The port number {number} is not carried over: the cluster draws the ports.")
                fix = _("Read the port from `PAI_PORT_LIST_ROLE_INDEX_LABEL`.")
                self._note((*below, "beginAt"), text.format(number=port["beginAt"]), fix)
        return resources | ({"ports": ports} if ports else {})


def _code_folder(uri: str) -> str:
    """Return the last part of a path."""
    last = uri.rstrip("/").rpartition("/")[2]
    return "" if last in ("", ".", "..") or "PAI_DEFAULT_FS_URI" in last else last


def shell_word(text: str) -> str:
    """Quote a text for the shell, except for the variables of the platform in it."""
    words, end = [], 0
    for match in _VARIABLE.finditer(text):
        words += [_quoted(text[end : match.start()]), f'"${{{match[1] or match[2]}}}"']
        end = match.end()
    return "".join(word for word in [*words, _quoted(text[end:])] if word != "''") or "''"


def _quoted(text: str) -> str:
    """Quote a text for the shell, without the start of a template."""
    return shlex.quote(text).replace("<%", "<''%")


def _inline(command: str) -> str:
    """Return a command for the document. The server would take `<%` in it for a template."""
    if "<%" not in command:
        return command
    return f'eval "$(base64 -d <<< {base64.b64encode(command.encode()).decode()})"'
