"""An account of the stand-in's, as storages ask for one."""

from __future__ import annotations

from jupyter_pai.cloud.alibaba.access_key import AccessKey
from jupyter_pai.core.secret import Secret

from .alibaba import AccessKey as Key, StandIn

__all__ = ["AccountOf"]


class AccountOf:
    """Keys may be changed meanwhile: `account.key = pai.sts(10)`."""

    def __init__(self, pai: StandIn, key: Key | None = None) -> None:
        self.pai = pai
        self.key = key or pai.key
        self.oss_endpoint = pai.oss_endpoint
        self.region = pai.region
        self.keys = self

    def drop(self, key: AccessKey) -> None:
        """It is the test that changes keys."""

    def key_now(self) -> AccessKey:
        return AccessKey(self.key.id, Secret(self.key.secret), Secret(self.key.token) if self.key.token else None)

    async def bucket(self) -> str:
        return self.pai.bucket
