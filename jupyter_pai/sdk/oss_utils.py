"""``oss://`` URIs, uploads and downloads, by the API of the PAI SDK."""

from __future__ import annotations

import tarfile
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ..core.errors import UsageError
from ..core.i18n import _
from ..storage.oss.uri import OssUri
from .exception import sdk_errors
from .session import default_session, target_of
from .target import ARCHIVES, Target, unpack

if TYPE_CHECKING:
    import oss2

__all__ = ["NoSource", "OssUriObj", "download", "is_oss_uri", "parse_oss_url", "upload"]


class NoSource(UsageError, RuntimeError):
    """A file or folder to upload that does not exist."""


class OssUriObj:
    """An ``oss://`` URI: its bucket, the key of an object or folder, and its endpoint, if any.

    Raises:
        BadInput: if the URI is invalid. A `ValueError` too.
    """

    @sdk_errors()
    def __init__(self, uri: str) -> None:
        self._uri = OssUri.parse(uri)

    @classmethod
    def from_bucket_key_endpoint(cls, bucket_name: str, object_key: str, endpoint: str | None = None) -> OssUriObj:
        """Return the URI of a key in a bucket, with an endpoint if one is given."""
        host = (endpoint or "").rpartition("://")[2].rstrip("/")
        return cls(f"oss://{'.'.join(filter(None, (bucket_name, host)))}/{object_key.lstrip('/')}")

    @property
    def bucket_name(self) -> str:
        return self._uri.bucket

    @property
    def object_key(self) -> str:
        return self._uri.key

    @property
    def endpoint(self) -> str | None:
        """The host, with an optional port."""
        return self._uri.endpoint or None

    @property
    def role_arn(self) -> str | None:
        return self._uri.role_arn or None

    @property
    def uri(self) -> str:
        """The URI with bucket and key only."""
        return str(OssUri(self.bucket_name, self.object_key))

    @sdk_errors()
    def get_uri_with_endpoint(self, endpoint: str | None = None) -> str:
        """Return the URI with this endpoint, or with its own.

        Raises:
            UsageError: without an endpoint. A `ValueError` too.
        """
        host = (endpoint or self._uri.endpoint).partition("://")[2] or endpoint or self._uri.endpoint
        if not host:
            raise UsageError(
                _("{uri} has no endpoint.").format(uri=self._uri), fix=_("Pass one: oss-cn-hangzhou.aliyuncs.com")
            )
        return str(replace(OssUri(self.bucket_name, self.object_key), endpoint=host.rstrip("/")))

    def get_dir_uri(self) -> str:
        """Return the URI of the folder, or of the object's folder."""
        folder = self.object_key.rpartition("/")[0]
        return str(OssUri(self.bucket_name, f"{folder}/" if folder else ""))

    def parse_object_key(self) -> tuple[bool, str, str | None]:
        """Return whether the key is that of a folder, the folder's path with a leading slash, and the file's name."""
        folder, slash, name = self.object_key.rpartition("/")
        return not name, f"/{folder}{slash}", name or None

    def __str__(self) -> str:
        return str(self._uri)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OssUriObj) and self._uri == other._uri

    def __hash__(self) -> int:
        return hash(self._uri)

    def __repr__(self) -> str:
        return f"OssUriObj({str(self)!r})"


def parse_oss_url(url: str) -> OssUriObj:
    """Parse an ``oss://`` URI.

    Raises:
        BadInput: if the URI is invalid.
    """
    return OssUriObj(url)


def is_oss_uri(uri: object) -> bool:
    """Return whether a value is an ``oss://`` URI."""
    return isinstance(uri, str) and uri.startswith("oss://")


def upload(
    source_path: str | Path,
    oss_path: str | OssUriObj,
    bucket: oss2.Bucket | None = None,
    is_tar: bool = False,
) -> str:
    """Copy a local file or folder to OSS, replacing existing objects, and return its URI.

    `oss_path` is a URI, or a key in `bucket` or in the session's bucket. If it ends with a slash, a file is copied into
    that folder under its own name. `is_tar` uploads an archive instead, by default named source.tar.gz.

    Raises:
        NoSource: if the source does not exist. A `RuntimeError` too.
        BadInput: if the source cannot be read.
    """
    source = Path(source_path)
    if not source.exists():
        raise NoSource(_("{path} does not exist.").format(path=source))
    uri, target = _resolve(oss_path, bucket)
    if is_tar:
        uri = uri.join("source.tar.gz") if uri.key.endswith("/") else uri
        with tempfile.TemporaryDirectory() as folder:
            target.put(_packed(source, Path(folder)), str(uri))
    else:
        if source.is_dir():
            uri = uri.join("")
        elif not uri.key or uri.key.endswith("/"):
            uri = uri.join(source.name)
        target.put(source, str(uri))
    return str(OssUri(uri.bucket, uri.key))


def download(
    oss_path: str | OssUriObj, local_path: str | Path, bucket: oss2.Bucket | None = None, un_tar: bool = False
) -> str:
    """Copy an object or folder of OSS into a local folder, replacing existing files. Return the folder, or the path of
    the file.

    `oss_path` is a URI, or a key in `bucket` or in the session's bucket. `un_tar` unpacks a ``.tar.gz``.

    Raises:
        NotFound: if the object or folder does not exist.
    """
    (source, target), folder = _resolve(oss_path, bucket), Path(local_path)
    if un_tar and source.key.endswith(ARCHIVES):
        with tempfile.TemporaryDirectory() as packed:
            target.get(str(source), Path(packed))
            unpack(Path(packed) / source.split()[1], folder)
        return str(local_path)
    target.get(str(source), folder)
    file = folder / source.split()[1]
    return str(file) if not source.key.endswith("/") and file.is_file() else str(local_path)


def _resolve(oss_path: str | OssUriObj, bucket: oss2.Bucket | None) -> tuple[OssUri, Target]:
    """Return the URI of a URI or key, and the target that copies it."""
    if isinstance(oss_path, OssUriObj) or is_oss_uri(oss_path):
        return OssUri.parse(str(oss_path)), target_of(None)
    if bucket is not None:
        return OssUri(bucket.bucket_name, oss_path.lstrip("/"), urlsplit(bucket.endpoint).netloc), target_of(None)
    session = default_session()
    return OssUri(session.oss_bucket_name, oss_path.lstrip("/")), target_of(session)


def _packed(source: Path, folder: Path) -> Path:
    """Pack a file or the contents of a folder, and return the archive."""
    archive = folder / "source.tar.gz"
    try:
        with tarfile.open(archive, "w:gz") as tar:
            tar.add(source, "" if source.is_dir() else source.name)
    except OSError as error:
        raise UsageError(_("Cannot read {path}: {error}.").format(path=source, error=error)) from None
    return archive
