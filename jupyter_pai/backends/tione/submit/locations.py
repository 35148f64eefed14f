"""The folders of code, inputs and outputs in COS.

Below ``jupyter-pai/`` in the bucket of the profile are ``code/<digest>/``, ``inputs/<digest>/`` and
``outputs/<task id>/``. The platform makes the last one: it adds the id of the task to the folder that it gets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from ....cloud.tencent.account import TencentAccount
from ....core.errors import SpecError
from ....core.i18n import _
from ....jobs.job import Job
from ..options import TioneSettings

__all__ = ["MODEL", "OUTPUT", "CosPath", "channel_uris", "code_uri", "input_uri", "output_uri"]

_FOLDER = "jupyter-pai"
_URI = re.compile(r"cos://(?P<bucket>[a-z0-9][a-z0-9-]*-[0-9]+)(?:/(?P<key>.*))?", re.DOTALL)
OUTPUT, MODEL = "output", "model"
"""Folders in a task's folder, and below ``/opt/ml`` in its containers, from which the platform uploads them."""


class CosPath(NamedTuple):
    """A bucket with its APPID, and a key; the key of a folder is empty or ends with ``/``."""

    bucket: str
    key: str

    @classmethod
    def parse(cls, uri: str) -> CosPath:
        """Parse ``cos://BUCKET-APPID/key``.

        Raises:
            SpecError: if it is something else.
        """
        match = _URI.fullmatch(uri)
        if match is None:
            raise SpecError(
                _("{uri} is not a location in COS.").format(uri=uri),
                fix=_("Use cos://BUCKET-APPID/path, with a final / for a folder."),
            )
        return cls(match["bucket"], match["key"] or "")

    def as_field(self, region: str) -> dict[str, object]:
        """Return it as a field of a request."""
        return {"Bucket": self.bucket, "Region": region, "Paths": [self.key or "/"]}


def code_uri(settings: TioneSettings, account: TencentAccount, digest: str) -> str:
    """Return the folder for packed code.

    Raises:
        BucketError: if the profile has no bucket.
    """
    base = settings.code_path or f"cos://{account.bucket}/{_FOLDER}/code/"
    return f"{base.rstrip('/')}/{digest}/"


def input_uri(settings: TioneSettings, account: TencentAccount) -> str:
    """Return the folder for inputs of this machine. Raises like `code_uri`."""
    return f"cos://{account.bucket}/{_FOLDER}/inputs/"


def output_uri(settings: TioneSettings, account: TencentAccount, job: Job) -> str:
    """Return the folder in which the platform makes the folder of a task. Raises like `code_uri`."""
    base = job.spec.output_path or f"cos://{account.bucket}/{_FOLDER}/outputs/"
    return f"{base.rstrip('/')}/"


def channel_uris(base: str, task_id: str, job: Job) -> Mapping[str, str]:
    """Return the folder of each output channel, by its name. `base`: that of `output_uri`."""
    folder = f"{base}{task_id}/"
    standard = {channel: f"{folder}{OUTPUT}/{channel}/" for channel in job.spec.channels}
    return standard | {"model": f"{folder}{MODEL}/"} | dict(job.spec.outputs)
