"""An account of the stand-in of TI-ONE and COS for storages."""

from __future__ import annotations

from jupyter_pai.cloud.keys import AccessKey
from jupyter_pai.cloud.tencent.account import TencentAccount, TencentSettings
from jupyter_pai.cloud.tencent.credentials import TencentKeys

from .tione import SecretKey, TiOne

__all__ = ["CosAccount"]


class CosAccount(TencentAccount):
    """An account whose key a test can change: `account.access_key = server.sts(10)`."""

    def __init__(self, server: TiOne, key: SecretKey | None = None) -> None:
        super().__init__(TencentSettings(backend="tione", **server.profile()))
        self.server, self.access_key = server, key or server.key
        self.keys = _Keys(self)

    def drop(self, key: AccessKey) -> None:
        """Do nothing: the test changes keys."""


class _Keys(TencentKeys):
    def __init__(self, account: CosAccount) -> None:
        super().__init__()
        self.account = account

    def drop(self, key: AccessKey) -> None:
        self.account.drop(key)

    def now(self) -> AccessKey:
        return AccessKey.of(*self.account.access_key)
