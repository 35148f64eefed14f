"""WebHDFS requests: an operation is asked of the NameNode, and bytes go to the address that it redirects to.

The methods run in the loop of `loop`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from ...cloud.hadoop import HdfsSettings
from ...cloud.http import Call, Refusal, Retries, Transport
from ...core.errors import (
    BackendError,
    BadInput,
    Conflict,
    CredentialsError,
    EngineError,
    NotFound,
    PaiError,
    Unreachable,
)
from ...core.i18n import _
from .address import candidates, data_address, operation_address
from .replies import is_unknown_operation, read_reply
from .uri import HdfsUri

if TYPE_CHECKING:
    import httpx

__all__ = ["Body", "HdfsClient", "Status"]

T = TypeVar("T")
# HDFS has no rate limit of its own.
_PACE = 10_000
_PROBE = Retries(attempts=3, first_wait=0.1, jitter=0.1, attempt_timeout=10)
# One attempt, as both requests of a transfer are repeated together: another DataNode may get the bytes. A transfer
# without progress fails after a minute; one with progress may take a day.
_TRANSFER = Retries(attempts=1, read_timeout=60, attempt_timeout=86_400)
_TRANSFERS = 4
_NOTHING: Mapping[str, str] = {}


class Body(NamedTuple):
    """The bytes of a file to write: all of them, or a function that yields them; and their number."""

    data: bytes | Callable[[], AsyncIterable[bytes]]
    size: int


class Status(NamedTuple):
    """A file or folder as HDFS describes it: name (empty for a path asked for by itself), size in bytes, modification
    time in seconds since 1970. `version` changes with the content."""

    name: str
    type: str
    size: int
    modified: float
    version: str

    @classmethod
    def of(cls, reply: dict[str, Any]) -> Status:
        """Read a `FileStatus`.

        Raises:
            KeyError, TypeError, ValueError: if it is incomplete.
        """
        size, modified = int(reply["length"]), int(reply["modificationTime"])
        version = f"{modified:x}-{size:x}-{int(reply.get('fileId') or 0):x}"
        return cls(str(reply["pathSuffix"]), str(reply["type"]), size, modified / 1000, version)

    @property
    def is_folder(self) -> bool:
        return self.type == "DIRECTORY"


class HdfsClient:
    """HDFS with the user of one profile."""

    def __init__(self, settings: HdfsSettings) -> None:
        self.settings = settings
        self._bases: dict[str, str] = {}
        self._has_batches: dict[str, bool] = {}

    async def status(self, uri: HdfsUri) -> Status | None:
        """Return the file or folder at a URI, None if it does not exist."""
        try:
            return await self._get(uri, "GETFILESTATUS", lambda reply: Status.of(reply["FileStatus"]))
        except NotFound:
            return None
        except Conflict as error:  # A file is above.
            if error.details.get("code") == "ParentNotDirectoryException":
                return None
            raise

    async def listing(self, uri: HdfsUri) -> list[Status]:
        """Return all files and folders in a folder, in HDFS's order; empty if it does not exist."""
        try:
            return await self._get(uri, "LISTSTATUS", _statuses)
        except NotFound:
            return []

    async def page(self, uri: HdfsUri, after: str) -> tuple[list[Status], bool]:
        """Return some files and folders in a folder after a name, in HDFS's order, which is that of the bytes, and
        whether more follow. Servers before Hadoop 2.9 return all of them."""
        if self._has_batches.get(uri.site, True):
            try:
                return await self._get(uri, "LISTSTATUS_BATCH", _batch, startAfter=after)
            except NotFound:
                return [], False
            except BadInput as error:
                if not is_unknown_operation(error):
                    raise
                self._has_batches[uri.site] = False
        return [one for one in await self.listing(uri) if one.name > after], False

    async def count_files(self, uri: HdfsUri) -> int:
        """Return the number of files at a URI."""
        return await self._get(uri, "GETCONTENTSUMMARY", lambda reply: int(reply["ContentSummary"]["fileCount"]))

    async def make_folder(self, uri: HdfsUri) -> None:
        """Create a folder and its parents."""
        await self._send("PUT", uri, "MKDIRS")

    async def delete(self, uri: HdfsUri, attempts: int = 6) -> None:
        """Delete a file, or a folder with its content. Does nothing if it does not exist."""
        await self._send("DELETE", uri, "DELETE", {"recursive": "true"}, attempts)

    async def rename(self, uri: HdfsUri, target: HdfsUri, *, overwrite: bool = False) -> None:
        """Rename a file or folder. A file at the target is replaced with `overwrite`.

        Raises:
            Conflict: if the target exists.
            NotFound: if the source or the folder of the target does not exist.
        """
        how = {"destination": target.file.path, "renameoptions": "OVERWRITE" if overwrite else "NONE"}
        try:
            if (await self._send("PUT", uri, "RENAME", how)).get("boolean", True):
                return
        except (NotFound, Conflict):
            if await self._is_renamed(uri, target):
                return
            raise
        # Servers that do not know the option reply false.
        if await self._is_renamed(uri, target):
            return
        if not overwrite or not await self.status(target):
            raise Conflict(
                _("{file} already exists.").format(file=target), fix=_("Choose another name."), files=[target.name]
            )
        await self.delete(target)
        await self.rename(uri, target)

    async def _is_renamed(self, uri: HdfsUri, target: HdfsUri) -> bool:
        """Return whether an earlier attempt, whose response was lost, renamed a path."""
        return await self.status(uri) is None and await self.status(target) is not None

    async def create(self, uri: HdfsUri, body: Body) -> None:
        """Write a file and create the folders above it. An existing file is replaced."""

        async def attempt() -> None:
            location = await self._redirect("PUT", uri, "CREATE", overwrite="true")
            # A gateway of Hadoop (HttpFS) requires the type.
            headers = {"content-type": "application/octet-stream", "content-length": str(body.size)}
            await self._transfer(uri, Call("PUT", location, None, body.data, headers, retries=_TRANSFER))

        await self._repeated(attempt)

    async def read(self, uri: HdfsUri, offset: int, length: int) -> bytes:
        """Return `length` bytes of a file from `offset`.

        Raises:
            EngineError: if the file is shorter.
        """

        async def attempt() -> bytes:
            where = {"offset": str(offset), "length": str(length)}
            location = await self._redirect("GET", uri, "OPEN", **where)
            return (await self._transfer(uri, Call("GET", location, retries=_TRANSFER))).content

        data = await self._repeated(attempt)
        if len(data) != length:
            raise EngineError(_("{file} was truncated while it was read.").format(file=uri), fix=_("Try again."))
        return data

    async def _repeated(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Repeat both requests of a transfer while the second one fails."""
        import stamina

        retry = stamina.AsyncRetryingCaller(_TRANSFERS, timeout=None, wait_initial=0.2, wait_max=5.0, wait_jitter=0.5)
        try:
            return await retry(_FailedTransfer, attempt)
        except _FailedTransfer as failed:
            raise failed.error from None

    async def _redirect(self, method: str, uri: HdfsUri, operation: str, **query: str) -> str:
        """Return the address for the bytes of an operation."""
        base = await self.base(uri)
        read = partial(read_reply, what=str(uri), may_redirect=True)
        response = await self._transport(uri, read).fetch(self._call(method, base, uri, operation, query))
        return data_address(response.headers.get("location", ""), base, self.settings)

    async def _transfer(self, uri: HdfsUri, call: Call) -> httpx.Response:
        try:
            return await self._transport(uri).fetch(call)
        except BackendError as error:
            own = urlsplit(await self.base(uri))
            if error.details.get("code") or error.details.get("untrusted"):
                raise
            if error.details.get("sent") is False and urlsplit(call.url).hostname != own.hostname:
                raise _FailedTransfer(_out_of_reach(own.netloc, call.host)) from None
            raise _FailedTransfer(error) from None

    async def _send(
        self, method: str, uri: HdfsUri, operation: str, query: Mapping[str, str] = _NOTHING, attempts: int = 6
    ) -> dict[str, Any]:
        """Return the JSON reply to an operation.

        Raises:
            NotFound: if the path does not exist.
            PaiError: for other errors of HDFS.
        """
        call = self._call(method, await self.base(uri), uri, operation, query)
        call = replace(call, retries=Retries(attempts=attempts))
        reply = await self._transport(uri).send(call)
        return reply if isinstance(reply, dict) else {}

    async def _get(self, uri: HdfsUri, operation: str, read: Callable[[dict[str, Any]], T], **query: str) -> T:
        """Return the result of `read` for the reply to an operation."""
        reply = await self._send("GET", uri, operation, query)
        try:
            return read(reply)
        except (ValueError, KeyError, TypeError) as error:
            raise BackendError(
                _("The reply of HDFS about {uri} cannot be read: {error}.").format(uri=uri, error=repr(error)),
                fix=_(
                    "Check that the profile's `hdfs` is the address of WebHDFS, such as http://HOST:9870/webhdfs/v1."
                ),
            ) from None

    def _call(self, method: str, base: str, uri: HdfsUri, operation: str, query: Mapping[str, str]) -> Call:
        return Call(method, operation_address(base, uri, self.settings, operation, query))

    def _transport(self, uri: HdfsUri, read: Callable[[httpx.Response], Refusal | None] | None = None) -> Transport:
        return Transport("hdfs", read or partial(read_reply, what=str(uri)), _PACE, self.settings.ca_file)

    async def base(self, uri: HdfsUri) -> str:
        """Return the address of WebHDFS for a URI. It is found once.

        Raises:
            Unreachable: if none responds.
        """
        if uri.site not in self._bases:
            self._bases[uri.site] = await self._find(uri)
        return self._bases[uri.site]

    async def _find(self, uri: HdfsUri) -> str:
        tried = candidates(uri, self.settings)
        errors: list[PaiError] = []
        for _scheme, group in groupby(tried, lambda base: urlsplit(base).scheme):
            if base := await self._first(uri, [*group], errors):
                return base
        raise Unreachable(
            _("No WebHDFS at {site}: none of these addresses responds as expected: {urls}.").format(
                site=uri.site, urls=", ".join(tried)
            ),
            fix=_(
                "Check the network, and name the HTTP port of the NameNode in the URI (hdfs://HOST:PORT/) or the whole "
                "address in the profile's `hdfs` (http://HOST:PORT/webhdfs/v1)."
            ),
            sent=all(error.details.get("sent", True) for error in errors),
        )

    async def _first(self, uri: HdfsUri, tried: Sequence[str], errors: list[PaiError]) -> str:
        """Return the first of some addresses that is one of WebHDFS; empty if none is.

        Raises:
            CredentialsError: if it requires a login.
            Unreachable: if its certificate is not trusted. An address without a certificate must not follow it.
        """
        probes = [asyncio.ensure_future(self._probe(uri, base)) for base in tried]
        try:
            for base, probe in zip(tried, probes, strict=True):
                try:
                    if await probe:
                        return base
                except PaiError as error:
                    if isinstance(error, CredentialsError) or error.details.get("untrusted"):
                        raise
                    errors.append(error)
            return ""
        finally:
            for base, probe in zip(tried, probes, strict=True):
                # httpx leaves a connection open whose TLS handshake is cancelled.
                if base.startswith("http:"):
                    probe.cancel()
            await asyncio.gather(*probes, return_exceptions=True)

    async def _probe(self, uri: HdfsUri, base: str) -> bool:
        """Return whether an address is one of WebHDFS."""

        def read(response: httpx.Response) -> Refusal | None:
            refusal = read_reply(response, str(uri))
            # A refusal by HDFS is an answer of WebHDFS.
            return None if refusal and refusal.error.details.get("code") else refusal

        call = replace(self._call("GET", base, replace(uri, path="/"), "GETFILESTATUS", {}), retries=_PROBE)
        response = await self._transport(uri, read).fetch(call)
        try:
            reply = response.json()
        except ValueError:
            return False
        return isinstance(reply, dict) and not {"FileStatus", "RemoteException"}.isdisjoint(reply)


class _FailedTransfer(Exception):
    """The second request of a transfer failed."""

    def __init__(self, error: PaiError) -> None:
        super().__init__(error.code)
        self.error = error


def _out_of_reach(own: str, host: str) -> Unreachable:
    return Unreachable(
        _("HDFS at {own} redirects to {host}, which does not respond to this machine.").format(own=own, host=host),
        fix=_(
            "A NameNode redirects to the inner addresses of its DataNodes. From outside of the cluster, set the "
            "profile's `hdfs` to the address of a gateway, such as http://HOST/webhdfs/api/v1."
        ),
        sent=False,
    )


def _statuses(reply: dict[str, Any]) -> list[Status]:
    """Read a reply to LISTSTATUS. That of a file has one entry without a name."""
    return [one for one in map(Status.of, reply["FileStatuses"]["FileStatus"]) if one.name]


def _batch(reply: dict[str, Any]) -> tuple[list[Status], bool]:
    listing = reply["DirectoryListing"]
    return _statuses(listing["partialListing"]), int(listing["remainingEntries"]) > 0
