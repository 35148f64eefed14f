"""Places where inputs and outputs are kept, by the scheme of their URIs."""

from __future__ import annotations

from urllib.parse import urlsplit

from ..errors import Unsupported
from ..i18n import _
from .base import Storage
from .local import LocalStorage

__all__ = ["storage_of"]

_STORAGES: dict[str, type[Storage]] = {LocalStorage.scheme: LocalStorage}


def storage_of(uri: str) -> Storage:
    """The storage that a URI belongs to.

    Raises:
        Unsupported: if there is none for its scheme.
    """
    scheme = urlsplit(uri).scheme
    if scheme not in _STORAGES:
        raise Unsupported(
            _("There is no storage for `{uri}`.").format(uri=uri),
            fix=_("Known are: {names}.").format(names=", ".join(f"{name}://" for name in _STORAGES)),
        )
    return _STORAGES[scheme]()
