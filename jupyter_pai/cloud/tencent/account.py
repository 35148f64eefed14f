"""A Tencent Cloud account as configured by a profile: hosts, network, bucket and keys."""

from __future__ import annotations

import asyncio
import os
import re
from functools import lru_cache
from typing import Any, Literal

from pydantic import Field, SecretStr, field_validator

from ...config.credentials import Credentials
from ...config.settings import IMPORTANT, ProfileSettings
from ...core.errors import BucketError, SettingsError
from ...core.i18n import N_, _
from ..http import accepts_connections, service_url
from ..keys import AccessKey
from ..stored_key import StoredKey
from .api import STS, TIONE, TencentApi
from .credentials import TencentKeys

__all__ = ["TencentAccount", "TencentCredentials", "TencentSettings", "discover"]


class TencentSettings(ProfileSettings):
    """The keys of a profile for a Tencent Cloud account. Access keys are not among them."""

    region: str = Field(
        "", title=N_("Region"), description=N_("Region id, such as ap-guangzhou."), json_schema_extra=IMPORTANT
    )
    bucket: str = Field(
        "",
        title=N_("COS bucket"),
        description=N_("COS bucket for code, inputs and outputs, with the APPID, such as demo-1256580188."),
        json_schema_extra=IMPORTANT,
    )
    cos_endpoint: str = Field(
        "", title=N_("COS endpoint"), description=N_("COS endpoint, if it is not the region's own.")
    )
    endpoint: str = Field(
        "", title=N_("Endpoint"), description=N_("Base URL of all services but COS, for a private cloud.")
    )
    ca_file: str = Field(
        "",
        title=N_("CA certificates"),
        description=N_("PEM file of certificate authorities to trust besides the usual ones, for a private cloud."),
    )
    network: Literal["", "public", "internal"] = Field(
        "", title=N_("Network"), description=N_("Hosts to use. Default: the internal ones if they are reachable.")
    )
    credentials: str = Field(
        "",
        title=N_("Keys"),
        description=N_("Section of ~/.tencentcloud/credentials. Default: the first keys found."),
    )
    requests_per_second: float = Field(
        10,
        gt=0,
        le=20,
        title=N_("Requests per second"),
        description=N_("Maximum request rate for each action. Tencent Cloud refuses more than 20."),
    )

    @field_validator("bucket")
    @classmethod
    def _check_bucket(cls, value: str) -> str:
        if value and not re.fullmatch(r"[a-z0-9][a-z0-9-]*-[0-9]+", value):
            raise ValueError(
                _("Invalid bucket `{name}`: expected the name with the APPID, such as demo-1256580188").format(
                    name=value
                )
            )
        return value

    @field_validator("endpoint", "cos_endpoint")
    @classmethod
    def _check_endpoint(cls, value: str) -> str:
        return service_url(value, "tione.tencentcloudapi.com")


class TencentCredentials(StoredKey):
    """An access key stored for a profile."""

    secret_id: str = Field(
        min_length=1,
        max_length=200,
        title=N_("SecretId"),
        description=N_("Starts with AKID. Shown in the console of CAM, at API keys."),
    )
    secret_key: SecretStr = Field(
        min_length=1,
        max_length=500,
        title=N_("SecretKey"),
        description=N_("Shown once by CAM, when the key is created."),
    )
    token: SecretStr = Field(
        SecretStr(""),
        max_length=10_000,
        title=N_("Security token"),
        description=N_("Only for temporary credentials (STS)."),
    )

    @property
    def key(self) -> AccessKey:
        return AccessKey.of(self.secret_id, self.secret_key.get_secret_value(), self.token.get_secret_value())


class TencentAccount:
    """One account in one region.

    Raises:
        SettingsError: if the profile has no region.
    """

    def __init__(self, settings: TencentSettings) -> None:
        if not settings.region:
            raise SettingsError(
                _("The profile has no `region` key."),
                fix=_("Set the region: %pai profile set NAME region=ap-guangzhou"),
            )
        self.settings = settings
        self.region, self.ca_file = settings.region, settings.ca_file
        self.keys = TencentKeys(
            settings.credentials, self._own_key if settings.own_credentials else None, sts=self._sts_host()
        )
        self.api = TencentApi(
            self.region,
            self.keys.current,
            self.keys.drop,
            self.network,
            endpoint=settings.endpoint,
            account=settings.own_credentials or settings.credentials,
            pace=settings.requests_per_second,
            ca_file=settings.ca_file,
        )
        self._network: str = settings.network

    @staticmethod
    @lru_cache(maxsize=64)
    def of(settings: TencentSettings) -> TencentAccount:
        """Return the cached account for these settings, shared by backend and storage."""
        return TencentAccount(settings)

    def _own_key(self) -> AccessKey:
        return Credentials().open(self.settings.own_credentials, TencentCredentials).key

    def _sts_host(self) -> str:
        """Return the host that gives a pod its keys, empty for the public one. The official library adds https:// to a
        host."""
        if self.settings.endpoint:
            return self.settings.endpoint.removeprefix("https://")
        return STS.host(self.region, "internal") if self.settings.network == "internal" else ""

    def network_now(self) -> str:
        """Return `network`, for threads. May block for a second on the first call."""
        if not self._network:
            self._network = "internal" if accepts_connections(TIONE.host(self.region, "internal"), 443) else "public"
        return self._network

    async def network(self) -> str:
        """Return ``internal`` if the internal hosts of the services can be used, else ``public``: from the profile, or
        by connecting."""
        return self._network or await asyncio.to_thread(self.network_now)

    @property
    def cos_endpoint(self) -> str:
        """The COS URL of the region, without a bucket. For threads, as it may block like `network_now`."""
        if self.settings.cos_endpoint:
            return self.settings.cos_endpoint
        if self.network_now() == "internal":
            return f"https://cos-internal.{self.region}.tencentcos.cn"
        return f"https://cos.{self.region}.myqcloud.com"

    @property
    def bucket(self) -> str:
        """The bucket of the profile.

        Raises:
            BucketError: if the profile has none.
        """
        if not self.settings.bucket:
            raise BucketError(
                _("The profile has no `bucket` key."),
                fix=_("Set it to a bucket in {region}: %pai profile set NAME bucket=NAME-APPID").format(
                    region=self.region
                ),
            )
        return self.settings.bucket


def discover() -> dict[str, Any]:
    """Return the region from the variables of Tencent Cloud's own tools, if keys are among them. Empty otherwise."""
    environment = os.environ
    region = environment.get("TENCENTCLOUD_REGION", "").strip()
    has_key = environment.get("TENCENTCLOUD_SECRET_ID") and environment.get("TENCENTCLOUD_SECRET_KEY")
    return {"region": region} if region and has_key else {}
