"""A storage of objects in memory, whose requests fail as a test says."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Self

from jupyter_pai.cloud.keys import AccessKey
from jupyter_pai.cloud.tencent.credentials import TencentKeys
from jupyter_pai.core.errors import BadInput, Conflict, CredentialsError, NotFound, PaiError, Refused
from jupyter_pai.storage.meter import Meter
from jupyter_pai.storage.objects.client import Object, ObjectClient, Page, Received, Stored
from jupyter_pai.storage.objects.storage import ObjectStorage
from jupyter_pai.storage.objects.transfer import UploadBody, crc64
from jupyter_pai.storage.objects.uri import ObjectUri

__all__ = ["MemoryStorage", "MemoryUri", "RefusalError", "Service"]


@dataclass(frozen=True)
class MemoryUri(ObjectUri):
    @classmethod
    def parse(cls, uri: str) -> Self:
        if not uri.startswith("memory://"):
            raise BadInput(uri)
        bucket, _slash, key = uri.removeprefix("memory://").partition("/")
        return cls(bucket, key)

    def __str__(self) -> str:
        return f"memory://{self.bucket}/{self.key}"


class RefusalError(Exception):
    """An error response."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(code)
        self.status, self.code = status, code


class _Keys(TencentKeys):
    """Has so many keys, each of which is valid until it is dropped."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def now(self) -> AccessKey:
        return AccessKey.of(f"key-{self.number}", "secret")

    def drop(self, key: AccessKey) -> None:
        self.number = max(self.number - 1, 0)


class Service(ObjectClient[MemoryUri]):
    """Objects by bucket and key. `fail` has the errors of the next requests, by the name of the method."""

    def __init__(self, has_crc: bool = True) -> None:
        super().__init__(_Keys(2))
        self.has_crc = has_crc
        self.objects: dict[tuple[str, str], bytes] = {}
        self.uploads: dict[str, dict[int, bytes]] = {}
        self.fail: dict[str, list[Exception]] = {}
        # Errors that follow a request that was executed.
        self.lose: dict[str, list[Exception]] = {}
        self.asked: Counter[str] = Counter()
        self._numbers = count(1)

    def _take(self, method: str) -> None:
        self.keys.now()
        self.asked[method] += 1
        if waiting := self.fail.get(method):
            raise waiting.pop(0)

    def _lost(self, method: str) -> None:
        if waiting := self.lose.get(method):
            raise waiting.pop(0)

    def _crc(self, data: bytes) -> int | None:
        return crc64(data) if self.has_crc else None

    def _found(self, uri: MemoryUri) -> bytes:
        if (uri.bucket, uri.key) not in self.objects:
            raise RefusalError(404, "NoSuchKey")
        return self.objects[uri.bucket, uri.key]

    def _store(self, uri: MemoryUri, data: bytes, overwrite: bool) -> Stored:
        if not overwrite and (uri.bucket, uri.key) in self.objects:
            raise RefusalError(409, "Exists")
        self.objects[uri.bucket, uri.key] = data
        return Stored(str(crc64(data)), self._crc(data))

    def errors(self) -> tuple[type[Exception], ...]:
        return (RefusalError,)

    def is_transient(self, error: Exception) -> bool:
        assert isinstance(error, RefusalError)
        return self.is_refusal_transient(error.status, error.code, re.compile("KeyEnded"))

    def explained(self, error: Exception, uri: MemoryUri) -> PaiError:
        assert isinstance(error, RefusalError)
        kinds: dict[str, type[PaiError]] = {"NoSuchKey": NotFound, "Exists": Conflict, "KeyEnded": CredentialsError}
        return kinds.get(error.code, Refused)(f"{uri}: {error.code}", status=error.status)

    def network_fix(self, host: str) -> str:
        return "Check the cable."

    def endpoint(self, uri: MemoryUri) -> str:
        return "https://far" if uri.bucket == "far" else "https://memory"

    def page(
        self, uri: MemoryUri, *, after: str = "", token: str = "", most: int = 1000, folders: bool = False
    ) -> Page:
        self._take("page")
        names: dict[str, bool] = {}
        for bucket, key in sorted(self.objects):
            if bucket == uri.bucket and key.startswith(uri.prefix) and key > (token or after):
                first, slash, _rest = key.removeprefix(uri.prefix).partition("/")
                names |= {uri.prefix + first + slash: True} if folders and slash else {key: False}
        page = [*names][:most]
        objects = [self._described(uri.at(name)) for name in page if not names[name]]
        # Names after a folder begin with what follows the slash.
        token = page[-1] + ("\U0010ffff" if names[page[-1]] else "") if len(names) > most else ""
        return Page(objects, [name for name in page if names[name]], token)

    def _described(self, uri: MemoryUri) -> Object:
        data = self._found(uri)
        return Object(uri.key, len(data), 1.0, str(crc64(data)), self._crc(data), {"content-type": "text/x"})

    def head(self, uri: MemoryUri) -> Object:
        self._take("head")
        return self._described(uri)

    def get(self, uri: MemoryUri, start: int, end: int, version: str, meter: Meter | None) -> Received:
        self._take("get")
        data = self._found(uri)
        if version and version != str(crc64(data)):
            raise RefusalError(412, "Changed")
        return Received(data[start:end], self._crc(data))

    def put(self, uri: MemoryUri, body: UploadBody, *, overwrite: bool) -> Stored:
        self._take("put")
        stored = self._store(uri, b"".join(body), overwrite)
        self._lost("put")
        return stored

    def copy(self, uri: MemoryUri, source: MemoryUri) -> None:
        self._take("copy")
        self._store(uri, self._found(source), False)
        self._lost("copy")

    def delete(self, uri: MemoryUri) -> None:
        self._take("delete")
        self.objects.pop((uri.bucket, uri.key), None)

    def delete_many(self, uri: MemoryUri, keys: Sequence[str]) -> None:
        self._take("delete_many")
        assert len(keys) <= 1000
        for key in keys:
            del self.objects[uri.bucket, key]

    def begin(self, uri: MemoryUri, headers: Mapping[str, str]) -> str:
        self._take("begin")
        self.uploads[name := f"upload-{next(self._numbers)}"] = {}
        return name

    def put_part(self, uri: MemoryUri, upload: str, number: int, body: UploadBody) -> Stored:
        self._take("put_part")
        self.uploads[upload][number] = data = b"".join(body)
        return Stored(str(crc64(data)), self._crc(data))

    def copy_part(self, uri: MemoryUri, upload: str, number: int, source: MemoryUri, start: int, end: int) -> None:
        self._take("copy_part")
        self.uploads[upload][number] = self._found(source)[start:end]

    def parts(self, uri: MemoryUri, upload: str) -> dict[int, str]:
        self._take("parts")
        if upload not in self.uploads:
            raise RefusalError(404, "NoSuchKey")
        return {number: str(crc64(data)) for number, data in self.uploads[upload].items()}

    def complete(self, uri: MemoryUri, upload: str, parts: Mapping[int, str], *, overwrite: bool) -> str:
        self._take("complete")
        if upload not in self.uploads:
            raise RefusalError(404, "NoSuchKey")
        data = b"".join(self.uploads[upload][number] for number in sorted(parts))
        stored = self._store(uri, data, overwrite)
        del self.uploads[upload]
        self._lost("complete")
        return stored.etag

    def abort(self, uri: MemoryUri, upload: str) -> None:
        self._take("abort")
        self.uploads.pop(upload, None)


class MemoryStorage(ObjectStorage[MemoryUri]):
    scheme = "memory"

    @staticmethod
    def parse(uri: str) -> MemoryUri:
        return MemoryUri.parse(uri)
