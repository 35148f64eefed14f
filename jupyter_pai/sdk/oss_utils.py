"""``oss://`` URIs by the PAI SDK's own names, and what is copied to and from them."""

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
from .session import default_session, place_of
from .target import ARCHIVES, Place, unpack

if TYPE_CHECKING:
    import oss2

__all__ = ["OssUriObj", "download", "is_oss_uri", "parse_oss_url", "upload"]


class OssUriObj:
    """An ``oss://`` URI: its bucket, the key of an object or folder, and the endpoint if it names one.

    Raises:
        BadInput: if it is none.
    """

    def __init__(self, uri: str) -> None:
        self._uri = OssUri.parse(uri)

    @property
    def bucket_name(self) -> str:
        return self._uri.bucket

    @property
    def object_key(self) -> str:
        return self._uri.key

    @property
    def endpoint(self) -> str | None:
        """A host, perhaps with a port."""
        return self._uri.endpoint or None

    @property
    def role_arn(self) -> str | None:
        return self._uri.role_arn or None

    @property
    def uri(self) -> str:
        """The URI with its bucket and key alone."""
        return str(OssUri(self.bucket_name, self.object_key))

    def get_uri_with_endpoint(self, endpoint: str | None = None) -> str:
        """The URI with this endpoint, or its own.

        Raises:
            UsageError: if it has none.
        """
        host = (endpoint or self._uri.endpoint).partition("://")[2] or endpoint or self._uri.endpoint
        if not host:
            raise UsageError(
                _("{uri} names no endpoint.").format(uri=self._uri), fix=_("Name one: oss-cn-hangzhou.aliyuncs.com")
            )
        return str(replace(OssUri(self.bucket_name, self.object_key), endpoint=host.rstrip("/")))

    def get_dir_uri(self) -> str:
        """The folder that it is, or lies in."""
        folder = self.object_key.rpartition("/")[0]
        return str(OssUri(self.bucket_name, f"{folder}/" if folder else ""))

    def __str__(self) -> str:
        return str(self._uri)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OssUriObj) and self._uri == other._uri

    def __hash__(self) -> int:
        return hash(self._uri)

    def __repr__(self) -> str:
        return f"OssUriObj({str(self)!r})"


def parse_oss_url(url: str) -> OssUriObj:
    """An ``oss://`` URI in its parts.

    Raises:
        BadInput: saying what is wrong with it.
    """
    return OssUriObj(url)


def is_oss_uri(uri: object) -> bool:
    """Whether this is an ``oss://`` URI."""
    return isinstance(uri, str) and uri.startswith("oss://")


def upload(
    source_path: str | Path,
    oss_path: str | OssUriObj,
    bucket: oss2.Bucket | None = None,
    is_tar: bool = False,
) -> str:
    """Copy a local file, or all that is in a folder, to OSS, over what is there; its URI.

    `oss_path` is a URI, or a key in `bucket` or the session's. A file gets that name, or its own in a folder if it ends
    with a slash; so does the archive that `is_tar` makes of it, which is called source.tar.gz.

    Raises:
        BadInput: if there is nothing that can be read.
    """
    source, (target, place) = Path(source_path), _target(oss_path, bucket)
    if is_tar:
        target = target.join("source.tar.gz") if target.key.endswith("/") else target
        with tempfile.TemporaryDirectory() as folder:
            place.put(_packed(source, Path(folder)), str(target))
    else:
        if source.is_dir():
            target = target.join("")
        elif not target.key or target.key.endswith("/"):
            target = target.join(source.name)
        place.put(source, str(target))
    return str(OssUri(target.bucket, target.key))


def download(
    oss_path: str | OssUriObj, local_path: str | Path, bucket: oss2.Bucket | None = None, un_tar: bool = False
) -> str:
    """Copy an object, or all that is in a folder of OSS, into a local folder, over what is there; the folder, or the
    path of the file.

    `oss_path` is a URI, or a key in `bucket` or the session's. With `un_tar`, a ``.tar.gz`` is unpacked there.

    Raises:
        NotFound: if there is nothing.
    """
    (source, place), folder = _target(oss_path, bucket), Path(local_path)
    if un_tar and source.key.endswith(ARCHIVES):
        with tempfile.TemporaryDirectory() as packed:
            place.get(str(source), Path(packed))
            unpack(Path(packed) / source.split()[1], folder)
        return str(local_path)
    place.get(str(source), folder)
    file = folder / source.split()[1]
    return str(file) if not source.key.endswith("/") and file.is_file() else str(local_path)


def _target(oss_path: str | OssUriObj, bucket: oss2.Bucket | None) -> tuple[OssUri, Place]:
    """What a URI means, or a key in a bucket; and who copies."""
    if isinstance(oss_path, OssUriObj) or is_oss_uri(oss_path):
        return OssUri.parse(str(oss_path)), place_of(None)
    if bucket is not None:
        return OssUri(bucket.bucket_name, oss_path.lstrip("/"), urlsplit(bucket.endpoint).netloc), place_of(None)
    session = default_session()
    return OssUri(session.oss_bucket_name, oss_path.lstrip("/")), place_of(session)


def _packed(source: Path, folder: Path) -> Path:
    """An archive of a file, or of all that is in a folder."""
    archive = folder / "source.tar.gz"
    try:
        with tarfile.open(archive, "w:gz") as tar:
            tar.add(source, "" if source.is_dir() else source.name)
    except OSError as error:
        raise UsageError(_("{path} cannot be read: {error}.").format(path=source, error=error)) from None
    return archive
