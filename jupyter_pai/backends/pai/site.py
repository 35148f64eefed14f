"""The profile of a PAI account: its settings, pages of the console, and folders in the bucket."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlencode

from pydantic import Field

from ...cloud.alibaba.account import AlibabaAccount, AliyunSettings
from ...core.i18n import N_
from ...jobs.job import Job
from ..kept_files import KeptFilesSettings
from ..reports import RemoteJob

__all__ = ["HOME_LABEL", "JOB_LABEL", "PaiSettings", "Site"]

# Labels of submitted jobs: the job's id, and the state folder's id.
JOB_LABEL, HOME_LABEL = "jupyter-pai-job", "jupyter-pai-home"


class PaiSettings(KeptFilesSettings, AliyunSettings):
    """Settings of a PAI profile."""

    code_path: str = Field(
        "",
        title=N_("Folder for code"),
        description=N_("OSS folder for packed code. Default: pai/training_src/jupyter-pai/ in the bucket."),
    )


class Site:
    """The pages and folders of a profile."""

    def __init__(self, settings: PaiSettings, account: AlibabaAccount) -> None:
        self._settings, self._account = settings, account

    def page(self, workspace: str, page: str) -> str:
        """Return the URL of a page of PAI's console; without a workspace, of the account's default one."""
        query = {"regionId": self._settings.region_id} | ({"workspaceId": workspace} if workspace else {})
        return f"https://pai.console.aliyun.com/?{urlencode(query)}#/{page}"

    async def code_uri(self, digest: str) -> str:
        """Return the folder for packed code."""
        base = self._settings.code_path or f"{await self._account.bucket_uri()}pai/training_src/jupyter-pai/"
        return f"{base.rstrip('/')}/{digest}/"

    async def output_uri(self, job: Job) -> str:
        """Return the folder for the outputs of a job, in the format of the platform's own client."""
        name = f"{re.sub('[^A-Za-z0-9_]', '_', job.name)}_{job.id}"
        base = job.spec.output_path or f"{await self._account.bucket_uri()}pai/training_job/{name}/"
        return base.rstrip("/") + "/"

    async def input_uri(self) -> str:
        """Return the folder for inputs of this machine."""
        return f"{await self._account.bucket_uri()}pai/input_data/"

    async def channel_uris(self, job: Job) -> Mapping[str, str]:
        """Return the folder of each output channel."""
        base = await self.output_uri(job)
        return {channel: f"{base}{channel}/" for channel in job.spec.channels} | dict(job.spec.outputs)

    async def with_endpoints(self, job: RemoteJob) -> RemoteJob:
        """Return a job whose outputs are readable from any profile."""
        outputs = {name: await self._account.with_endpoint(uri) for name, uri in job.outputs.items()}
        return replace(job, outputs=outputs)
