"""Uploads to HDFS: below a hidden name, which is renamed when all is written.

HDFS shows a file from its first byte on, and a broken upload leaves a part of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
import time
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path

from ...core.cleanup import on_failure
from ...core.errors import BadInput, Conflict, NotFound, PaiError
from ...core.i18n import _
from ..meter import Meter
from ..staging import open_source, read_errors
from .client import Body, HdfsClient, Status
from .loop import run_parallel, wait
from .small import LARGEST, SmallFiles
from .uri import HdfsUri

__all__ = ["AT_A_TIME", "is_hidden", "upload", "upload_tree"]

# Each uses a connection to the NameNode and one to a DataNode. The transport keeps 20 open: more would be made anew.
AT_A_TIME = 8
# Bytes. Larger files are read in pieces of this size.
_PIECE = 1 << 20
_HIDDEN = re.compile(r"\._.*\.[0-9a-f]{8}\.part")
# Seconds for which the hidden files of a killed upload are kept.
_KEPT = 7 * 86_400.0


def is_hidden(name: str) -> bool:
    """Return whether a name is that of an unfinished upload."""
    return bool(_HIDDEN.fullmatch(name))


def _hidden(uri: HdfsUri) -> HdfsUri:
    """Return a new hidden URI beside a URI. Names in HDFS have at most 255 bytes."""
    return uri.parent.join(f"._{uri.name[:50]}.{secrets.token_hex(4)}.part")


def upload(client: HdfsClient, source: Path | bytes, uri: HdfsUri, meter: Meter, *, overwrite: bool) -> Status:
    """Write a file.

    Raises:
        Conflict: if it exists and `overwrite` is not set, or is a folder.
        BadInput: if the source cannot be read, or changes meanwhile.
        PaiError: if HDFS fails.
    """
    part = _hidden(uri)
    there = wait(client.status(uri))
    if there and (there.is_folder or not overwrite):
        raise _exists_error(uri, there)

    async def work() -> Status:
        body = _body(source, meter, uri.path)
        await client.create(part, body)
        meter.count(uri.path, body.size)
        await client.rename(part, uri, overwrite=overwrite)
        if written := await client.status(uri):
            return written
        raise NotFound(_("{uri} does not exist.").format(uri=uri), fix=_("List the files: %pai ls URI"))

    with on_failure(lambda: _remove(client, part)):
        return wait(work(), meter)


def upload_tree(
    client: HdfsClient, folder: Path, files: Sequence[tuple[str, int]], uri: HdfsUri, meter: Meter, *, overwrite: bool
) -> None:
    """Write the files of a local folder, given by path and size, below a folder of HDFS.

    They are written into a hidden folder. If the target does not exist, one rename shows all of them together.

    Raises:
        Conflict: if a file exists and `overwrite` is not set, or a folder is in the way of a file or the reverse.
        BadInput: if a file cannot be read, or changes meanwhile.
        PaiError: if HDFS fails.
    """
    is_new = uri.path.strip("/") and wait(client.status(uri)) is None
    place = _hidden(uri) if is_new else _hidden(uri.join("files"))
    small = SmallFiles(wait(client.base(uri)), client.settings, AT_A_TIME)

    def send_small(path: str) -> bool:
        with read_errors(folder / path), open_source(folder / path) as file:
            data = file.read(LARGEST + 1)
        is_sent = len(data) <= LARGEST and small.write(place.join(path), data)
        if is_sent:
            meter.count(path, len(data))
        return is_sent

    async def send(path: str) -> None:
        body = _body(folder / path, meter, path)
        await client.create(place.join(path), body)
        meter.count(path, body.size)

    async def work() -> None:
        await small.each([path for path, _size in files], send_small, send)
        if is_new:
            with contextlib.suppress(Conflict):  # It was created in the meantime.
                await client.rename(place, uri)
                return
        await _publish(client, place, uri, overwrite)
        await client.delete(place)

    with on_failure(lambda: _remove(client, place)), small:
        wait(work(), meter)


async def _publish(client: HdfsClient, place: HdfsUri, target: HdfsUri, overwrite: bool) -> None:
    """Move the content of a hidden folder into a folder. What does not exist there is moved as a whole."""
    ready, there = await asyncio.gather(client.listing(place), client.listing(target))
    known = {one.name: one for one in there}

    async def move(one: Status) -> None:
        other = known.get(one.name)
        source, goal = place.join(one.name), target.join(one.name)
        if other and one.is_folder and other.is_folder:
            await _publish(client, source, goal, overwrite)
        elif other and (one.is_folder or other.is_folder or not overwrite):
            raise _exists_error(goal, other)
        else:
            await client.rename(source, goal, overwrite=overwrite and not one.is_folder)

    await run_parallel((partial(move, one) for one in ready), AT_A_TIME)
    await run_parallel(
        (partial(client.delete, target.join(one.name)) for one in there if _is_left_over(one)), AT_A_TIME
    )


def _is_left_over(one: Status) -> bool:
    """Return whether a file belongs to a killed upload."""
    return is_hidden(one.name) and one.modified < time.time() - _KEPT


def _remove(client: HdfsClient, part: HdfsUri) -> None:
    """Remove a hidden file or folder, if HDFS responds."""
    with contextlib.suppress(PaiError):
        wait(client.delete(part, attempts=2))


def _body(source: Path | bytes, meter: Meter, piece: object) -> Body:
    """Return the bytes of a file, small ones as they are.

    Raises:
        BadInput: if it cannot be read.
    """
    if isinstance(source, bytes):
        return Body(source, len(source))
    with read_errors(source):
        size = source.stat().st_size
        if size > _PIECE:
            return Body(partial(_pieces, source, size, meter, piece), size)
        with open_source(source) as file:
            data = file.readall()
        return Body(data, len(data))


async def _pieces(source: Path, size: int, meter: Meter, piece: object) -> AsyncIterator[bytes]:
    """Yield the bytes of a file, as many as it had. Counts them from zero again in a repeated attempt."""
    done = 0
    with read_errors(source):
        with open_source(source) as file:
            before = os.fstat(file.fileno())
            while done < size and (data := file.read(min(_PIECE, size - done))):
                meter.count(piece, done)
                yield data
                done += len(data)
            after = os.fstat(file.fileno())
    if not done == size == after.st_size or before.st_mtime_ns != after.st_mtime_ns:
        raise BadInput(
            _("{file} changed during the upload.").format(file=source), fix=_("Upload it again when it is complete.")
        )


def _exists_error(uri: HdfsUri, there: Status) -> Conflict:
    if there.is_folder:
        return Conflict(
            _("{file} is a folder, but a file of that name is to be written.").format(file=uri),
            fix=_("Choose another name."),
        )
    return Conflict(
        _("{file} already exists.").format(file=uri),
        fix=_("Choose another name, or overwrite it with --overwrite."),
        files=[uri.name],
    )
