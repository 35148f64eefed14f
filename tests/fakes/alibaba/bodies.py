"""Bodies of requests to an object storage, as blobs."""

from __future__ import annotations

import asyncio
import hashlib
from base64 import b64decode
from concurrent.futures import ThreadPoolExecutor

from .blobs import Blob, Blobs
from .calls import Call
from .service_errors import Refusal

__all__ = ["check_digest", "receive"]

_LARGE = 1 << 20
_pool = ThreadPoolExecutor(8, "bodies")


async def receive(blobs: Blobs, call: Call, wrong: Refusal) -> Blob:
    """Return the body of a request as a blob; large ones are summed and written beside the loop.

    Raises `wrong` if the body has another digest than its header says.
    """
    await call.go_on()
    loop = asyncio.get_running_loop()
    writer = blobs.writer()
    chunks: list[bytes] = []
    waiting, working = 0, loop.create_future()
    working.set_result(None)
    try:
        async for chunk in call.request.content.iter_any():
            chunks.append(chunk)
            waiting += len(chunk)
            call.received += len(chunk)
            if waiting >= _LARGE:
                await working
                working = loop.run_in_executor(_pool, writer.write, chunks)
                chunks, waiting = [], 0
        await working
    except BaseException:
        writer.drop()
        raise
    writer.write(chunks)
    blob = writer.close()
    if "content-md5" in call.headers:
        digest = bytes.fromhex(blob.md5) if writer.with_md5 else hashlib.md5(blob.read()).digest()
        check_digest(call, digest, wrong)
    return blob


def check_digest(call: Call, digest: bytes, wrong: Refusal) -> None:
    """Raise `wrong` if a request names another MD5 digest of its body than this one."""
    if b64decode(call.headers["content-md5"]) != digest:
        raise wrong
