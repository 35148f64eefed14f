"""Tencent Cloud Object Storage as ``cos://`` URIs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Self

from ...cloud.tencent.account import TencentAccount, TencentSettings
from ...config.settings import ProfileSettings
from ..objects.storage import ObjectStorage
from .client import CosClient
from .uri import CosUri

__all__ = ["CosStorage"]


class CosStorage(ObjectStorage[CosUri]):
    """The buckets of one account in the region of its profile. The folder `state` holds checkpoints of uploads."""

    scheme: ClassVar[str] = "cos"
    settings_model: ClassVar[type[ProfileSettings] | None] = TencentSettings
    account_keys: ClassVar[str] = "region=… bucket=NAME-APPID"
    client: CosClient

    def __init__(self, account: TencentAccount, state: Path) -> None:
        super().__init__(CosClient(account), state)

    @classmethod
    def of(cls, settings: ProfileSettings | None, state: Path) -> Self:
        assert isinstance(settings, TencentSettings)
        return cls(TencentAccount.of(settings), state)

    @staticmethod
    def parse(uri: str) -> CosUri:
        return CosUri.parse(uri)

    async def roots(self) -> Sequence[str]:
        return (f"cos://{self.client.account.bucket}/",)
