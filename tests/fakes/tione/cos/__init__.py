"""COS: buckets by their host, signatures, objects, lists, multipart uploads."""

from .service import Cos

__all__ = ["Cos"]
