"""An account of the stand-in for storages."""

from __future__ import annotations

from jupyter_pai.cloud.alibaba.account import AlibabaAccount
from jupyter_pai.cloud.alibaba.credentials import KeyChain
from jupyter_pai.cloud.keys import AccessKey
from jupyter_pai.core.secret import Secret

from .alibaba import AccessKey as Key, StandIn

__all__ = ["AccountOf"]


class AccountOf(AlibabaAccount):
    """An account whose key a test can change: `account.access_key = pai.sts(10)`."""

    oss_endpoint = ""

    def __init__(self, pai: StandIn, key: Key | None = None) -> None:
        self.pai = pai
        self.access_key = key or pai.key
        self.oss_endpoint = pai.oss_endpoint
        self.region, self.ca_file = pai.region, ""
        self.keys = _Keys(self)

    def drop(self, key: AccessKey) -> None:
        """Do nothing: the test changes keys."""

    async def bucket(self) -> str:
        return self.pai.bucket


class _Keys(KeyChain):
    def __init__(self, account: AccountOf) -> None:
        super().__init__()
        self.account = account

    def drop(self, key: AccessKey) -> None:
        self.account.drop(key)

    def now(self) -> AccessKey:
        key = self.account.access_key
        return AccessKey(key.id, Secret(key.secret), Secret(key.token) if key.token else None)
