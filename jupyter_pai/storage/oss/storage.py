"""Alibaba Cloud Object Storage Service as ``oss://`` URIs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Self

from ...cloud.alibaba.account import AlibabaAccount, AliyunSettings
from ...config.settings import ProfileSettings
from ..objects.storage import ObjectStorage
from .client import OssClient
from .uri import OssUri


class OssStorage(ObjectStorage[OssUri]):
    """The buckets of one account. The folder `state` holds checkpoints of uploads."""

    scheme: ClassVar[str] = "oss"
    settings_model: ClassVar[type[ProfileSettings] | None] = AliyunSettings
    client: OssClient

    def __init__(self, account: AlibabaAccount, state: Path) -> None:
        super().__init__(OssClient(account), state)

    @classmethod
    def of(cls, settings: ProfileSettings | None, state: Path) -> Self:
        assert isinstance(settings, AliyunSettings)
        return cls(AlibabaAccount.of(settings), state)

    @staticmethod
    def parse(uri: str) -> OssUri:
        return OssUri.parse(uri)

    async def roots(self) -> Sequence[str]:
        return (f"oss://{await self.client.account.bucket()}/",)
