"""Endpoint: a verb of the engine, with its route, parameters, request, reply and code in one function.

The light route table (`routes.py`) and the TypeScript client are generated from the endpoints, the OpenAPI document is
built from them (`openapi.py`).
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, WithJsonSchema
from pydantic_core import PydanticSerializationError, to_json
from typing_extensions import TypedDict as TypedDict  # noqa: PLC0414  # pydantic requires it before Python 3.12.

from ..config.contents_root import ServerRoot
from ..core.errors import PermissionDenied, UsageError
from ..core.i18n import _
from ..engine.data.storages import Location
from ..engine.data.transfers import Transfer
from ..engine.requests import parse
from ..engine.service import JobService
from ..engine.tensorboard.tensorboards import TensorBoards
from ..jobs.job import Job
from .route import path_names

# Bounds of the JSON of a request: its values, those of one list or mapping, and its levels.
_MOST_VALUES, _MOST_ENTRIES, _DEEPEST = 100_000, 20_000, 100
# What precedes the values of a list or mapping in JSON: each but the first one, and the first one or the end.
_BEFORE_VALUES = (b",", b"[", b"{")

Json = dict[str, Any]
# A time as an ISO text.
Time = Annotated[str, WithJsonSchema({"type": "string", "format": "date-time"})]
F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


@dataclass(frozen=True)
class Context:
    """The values that every endpoint receives. `root` is set in a Jupyter server whose notebooks are local files,
    `boards` in a Jupyter server. `sessions` returns its sessions, as Jupyter's REST API does. `may_execute` returns
    whether the caller may execute code as the server's user; None if this is certain, as in a kernel. `turn` is that of
    a large request to be read."""

    service: JobService
    root: ServerRoot | None = None
    boards: TensorBoards | None = None
    base_url: str = "/"
    sessions: Callable[[], Awaitable[list[Json]]] | None = None
    may_execute: Callable[[], Awaitable[bool]] | None = None
    turn: asyncio.Lock | nullcontext[None] = field(default_factory=nullcontext)

    async def read(self, parse: Callable[..., T], *values: Any) -> T:
        """Return what `parse` makes of the body of a request, in a thread. One large body is read at a time: other
        requests would wait for each of several threads."""
        async with self.turn:
            return await asyncio.to_thread(parse, *values)

    def path(self, text: str, *, writable: bool = False) -> Path:
        """Return the absolute path of `text`, which is absolute or relative to the contents root. `writable`: the
        path is a destination.

        Raises:
            UsageError: if the path is not valid here.
        """
        if Path(text).is_absolute() and "\0" not in text:
            return Path(text)
        if not self.root or "\0" in text:
            raise UsageError(_("`{folder}` is not an absolute path.").format(folder=text))
        return self.root.within(text) if writable else self.root.resolve(text)

    def notebook_path(self, text: str) -> str:
        """Return a notebook's path with links resolved, as jobs store it."""
        try:
            return os.path.realpath(self.path(text))
        except ValueError:
            raise UsageError(_("`{path}` is not a valid notebook path.").format(path=text)) from None

    async def notebook_of(self, kernel: str) -> Path | None:
        """Return the path of a kernel's notebook; None if the kernel has none that is a local file."""
        if not self.root or not self.sessions:
            return None
        for session in await self.sessions():
            if session["kernel"]["id"] == kernel:
                with suppress(UsageError):
                    path = self.root.resolve(session["path"])
                    return path if path.is_file() else None
        return None

    def relative(self, path: Path | None) -> str | None:
        """Return a path relative to the contents root; None outside of it."""
        return self.root.place_of(path) if self.root and path else None

    async def reads_all(self) -> bool:
        """Return whether the caller may read files that JupyterLab does not show: outside of its root, or hidden."""
        return self.may_execute is None or await self.may_execute()

    def shows(self, path: Path | None) -> bool:
        """Return whether JupyterLab shows a path, or the path is None."""
        try:
            return path is None or self.relative(path) is not None
        except ValueError:  # A NUL character.
            return False

    async def check_readable(self, place: Location | Path) -> None:
        """Check that the caller may read a file or folder of this machine. Other storages check their account.

        Raises:
            PermissionDenied: if not.
        """
        path = place if isinstance(place, Path) else place.path
        if path and not await self.reads_all() and not self.shows(path):
            raise PermissionDenied(
                _("No permission to read {path}: JupyterLab does not show it.").format(path=path),
                fix=_(
                    "Choose a file in the folder that JupyterLab shows that is not hidden, or ask the administrator of "
                    "this server for the permission `execute` on `jupyter_pai`."
                ),
            )

    def transfer(self, copy: Transfer) -> Json:
        """Return a transfer as JSON, see `TransferReply`."""
        return copy.as_json() | {"place": self.relative(Path(copy.folder) if copy.folder else None)}


class RequestBody(BaseModel):
    """The JSON of a request. Unknown fields are refused. The validator is built with the first request."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


@dataclass(frozen=True)
class Schema:
    """Annotate plain JSON with the model that it fits."""

    model: Any

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        return handler.generate_schema(self.model)


class Parameter(NamedTuple):
    """A query parameter. `kind` is str, int, bool or list (a repeated text); `values` are those of an int."""

    kind: type
    text: str = ""
    values: range = range(1 << 62)


class Endpoint:
    """A coroutine function with its route.

    Its first argument is the `Context`. The others are the names in the path (text, or a `Job`), `body`, `content`
    (bytes) and the query parameters, `Annotated` with a description and, unless that is all integers from 0, a range.
    `body` is a model, or JSON `Annotated` with its `Schema` if the function parses it, as within an audit entry. The
    return type is that of the reply: a `TypedDict`, JSON `Annotated` with its `Schema`, or an iterator of chunks of
    bytes. The first paragraph of the docstring is the summary.
    """

    def __init__(self, method: str, path: str, function: Callable[..., Any]) -> None:
        self.method, self.path, self.function = method, path, function

    @cached_property
    def _hints(self) -> dict[str, Any]:
        return get_type_hints(self.function, include_extras=True)

    @property
    def summary(self) -> str:
        return (inspect.getdoc(self.function) or "").split("\n\n")[0].replace("\n", " ")

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        others = {"context", "body", "content", "return", *path_names(self.path)}
        return {name: _parameter(hint) for name, hint in self._hints.items() if name not in others}

    @cached_property
    def jobs(self) -> list[str]:
        """The arguments that name a job, which is found by its id, the beginning of its id, its name, or `last`."""
        return [name for name in path_names(self.path) if self._hints[name] is Job]

    @property
    def body(self) -> Any:
        """The model of the request's body; None without one."""
        return _model(self._hints.get("body"))

    @property
    def reply(self) -> Any:
        """The model of the reply; None if that is bytes or any JSON object."""
        return None if self.sends_bytes else _model(self._hints["return"])

    @property
    def takes_bytes(self) -> bool:
        return "content" in self._hints

    @property
    def sends_bytes(self) -> bool:
        return get_origin(self._hints["return"]) is AsyncIterator

    def parse(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Check the range of every integer, and parse the body.

        Raises:
            UsageError: if an integer is out of range, or the body is too large.
            SpecError: if the body does not fit its model.
        """
        for name, value in arguments.items():
            if type(value) is int and name in self.parameters:
                check_range(name, value, self.parameters[name].values)
        if "body" in arguments:
            check_body(arguments["body"])
        if "body" not in arguments or get_origin(self._hints["body"]) is Annotated:
            return arguments
        return {**arguments, "body": parse(self._hints["body"], arguments["body"])}


ENDPOINTS: dict[str, Endpoint] = {}


def endpoint(method: str, path: str) -> Callable[[F], F]:
    """Register a coroutine function as the verb of its name."""

    def register(function: F) -> F:
        ENDPOINTS[function.__name__] = Endpoint(method, path, function)
        return function

    return register


def _parameter(hint: Any) -> Parameter:
    kind, *details = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    kind = get_args(kind)[0] if isinstance(kind, UnionType) else kind
    return Parameter(kind if kind in (str, int, bool) else list, *details)


def _model(hint: Any) -> Any:
    if get_origin(hint) is Annotated:
        return get_args(hint)[1].model
    return None if hint is None or get_origin(hint) is dict else hint


def check_range(name: str, value: int, values: range) -> None:
    """Check that an integer parameter is one of `values`.

    Raises:
        UsageError: if not.
    """
    if value not in values:
        raise UsageError(
            _("Invalid value of `{name}`: {value} is not between {least} and {most}.").format(
                name=name, value=value, least=values.start, most=values.stop - 1
            )
        )


def check_text(body: bytes) -> None:
    """Check the number of values of a JSON text before it is parsed: the parser lets no other thread run.

    Raises:
        UsageError: if they are too many.
    """
    if sum(map(body.count, _BEFORE_VALUES)) <= _MOST_VALUES:
        return
    # The same without the texts. Each value has at most two, with its name.
    bare = body.replace(rb"\\", b"").replace(rb"\"", b"")
    if max(bare.count(b'":'), bare.count(b'"') // 4) > _MOST_VALUES:
        raise _too_large()
    bare = b"".join(bare.split(b'"')[::2])
    if sum(map(bare.count, _BEFORE_VALUES)) > _MOST_VALUES:
        raise _too_large()


def check_body(body: object) -> None:
    """Check the number of values of a JSON body before it is compared with its model, which reports each wrong one.

    Raises:
        UsageError: if they are too many, or within too many levels.
    """
    count, depth, level = 0, 0, [body]
    while level:
        inside: list[object] = []
        for value in level:
            if isinstance(value, (dict, list, tuple)):
                if len(value) > _MOST_ENTRIES or count + len(inside) + len(value) > _MOST_VALUES:
                    raise _too_large()
                inside += value.values() if isinstance(value, dict) else value
        count, depth, level = count + len(inside), depth + 1, inside
        if depth > _DEEPEST:
            raise _too_large()


def _too_large() -> UsageError:
    text = _(
        "The request is too large: it may have {values} values, {entries} of them in one list or mapping, in {levels} "
        "levels."
    )
    return UsageError(text.format(values=_MOST_VALUES, entries=_MOST_ENTRIES, levels=_DEEPEST))


def encode(reply: object) -> str:
    """Return a reply as JSON text. Data classes are objects."""
    try:
        return to_json(reply, fallback=vars, inf_nan_mode="constants").decode()
    except PydanticSerializationError:  # A file name that is not UTF-8. `json` takes many times longer.
        return json.dumps(reply, separators=(",", ":"), default=vars)
