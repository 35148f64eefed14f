"""An Alibaba Cloud account as configured by a profile: hosts, network, workspace, bucket and keys.

Missing values are looked up when they are first needed and cached for the same settings.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Awaitable, Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field, SecretStr, field_validator

from ...config.credentials import Credentials
from ...config.policy import PriceLimit
from ...config.settings import IMPORTANT, ProfileSettings
from ...core.errors import BucketError, NotFound, SettingsError
from ...core.i18n import N_, _
from ..http import accepts_connections, service_url
from ..keys import AccessKey
from ..stored_key import StoredKey
from .credentials import KeyChain
from .openapi import DSW, STUDIO, WORKSPACE, OpenApi

# The keys in the configuration of PAI's SDK.
SDK_KEYS = ("region_id", "oss_bucket_name", "workspace_id", "oss_endpoint")


class AliyunSettings(ProfileSettings):
    """The keys of a profile for Alibaba Cloud. Access keys are not among them."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    region_id: str = Field(
        "", title=N_("Region"), description=N_("Region id, such as cn-hangzhou."), json_schema_extra=IMPORTANT
    )
    workspace_id: str = Field(
        "",
        title=N_("Workspace"),
        description=N_("PAI workspace. Default: the account's default workspace."),
        json_schema_extra=IMPORTANT,
    )
    oss_bucket_name: str = Field(
        "",
        title=N_("Bucket"),
        description=N_("Bucket for code, inputs and outputs. Default: the workspace's bucket."),
        json_schema_extra=IMPORTANT,
    )
    oss_endpoint: str = Field(
        "", title=N_("OSS endpoint"), description=N_("OSS endpoint, if it is not the region's own.")
    )
    endpoint: str = Field(
        "", title=N_("Endpoint"), description=N_("Base URL of all OpenAPI services, for a private cloud.")
    )
    ca_file: str = Field(
        "",
        title=N_("CA certificates"),
        description=N_("PEM file of certificate authorities to trust besides the usual ones, for a private cloud."),
    )
    network: Literal["", "public", "vpc"] = Field(
        "", title=N_("Network"), description=N_("Hosts to use. Default: the internal ones if they are reachable.")
    )
    credentials: str = Field(
        "", title=N_("Keys"), description=N_("Profile of the aliyun command. Default: the first keys found.")
    )
    max_run_time: int = Field(
        86_400,
        ge=0,
        title=N_("Maximum run time"),
        description=N_("Seconds after which a job without its own limit is stopped; 0 for no limit."),
    )
    price_limit: PriceLimit | None = Field(
        None,
        title=N_("Price limit"),
        description=N_("If set, submits outside of a quota ask for confirmation. PAI publishes no prices to compare."),
    )
    requests_per_second: float = Field(
        10,
        gt=0,
        title=N_("Requests per second"),
        description=N_("Maximum request rate for the services of the account."),
    )

    @field_validator("endpoint")
    @classmethod
    def _check_endpoint(cls, value: str) -> str:
        parts = urlsplit(value)
        if value and (parts.scheme not in ("http", "https") or not parts.hostname or parts.query):
            raise ValueError(
                _("Invalid base URL `{url}`: expected a URL such as https://pai.example.com").format(url=value)
            )
        return value

    @field_validator("oss_endpoint")
    @classmethod
    def _check_oss_endpoint(cls, value: str) -> str:
        """Add https:// to a host without a scheme, as in PAI's own configuration."""
        return service_url(value, "oss-cn-hangzhou.aliyuncs.com")


class AliyunCredentials(StoredKey):
    """An access key stored for a profile."""

    access_key_id: str = Field(
        min_length=1,
        max_length=200,
        title=N_("AccessKey ID"),
        description=N_("Starts with LTAI. Shown in the RAM console."),
    )
    access_key_secret: SecretStr = Field(
        min_length=1,
        max_length=500,
        title=N_("AccessKey secret"),
        description=N_("Shown once by RAM, when the key is created."),
    )
    security_token: SecretStr = Field(
        SecretStr(""),
        max_length=10_000,
        title=N_("Security token"),
        description=N_("Only for temporary credentials (STS)."),
    )

    @property
    def key(self) -> AccessKey:
        secret, token = self.access_key_secret.get_secret_value(), self.security_token.get_secret_value()
        return AccessKey.of(self.access_key_id, secret, token)


class AlibabaAccount:
    """One account in one region.

    Raises:
        SettingsError: if the profile has no region.
    """

    def __init__(self, settings: AliyunSettings) -> None:
        if not settings.region_id:
            raise SettingsError(
                _("The profile has no `region_id` key."),
                fix=_("Set the region: %pai profile set NAME region_id=cn-hangzhou"),
            )
        self.settings = settings
        self.region, self.ca_file = settings.region_id, settings.ca_file
        self.keys = KeyChain(settings.credentials, self._own_key if settings.own_credentials else None)
        self.api = OpenApi(
            self.region,
            self.keys.current,
            self.keys.drop,
            self.network,
            endpoint=settings.endpoint,
            account=settings.own_credentials or settings.credentials,
            pace=settings.requests_per_second,
            ca_file=settings.ca_file,
        )
        self._found: dict[str, str] = {}

    @staticmethod
    @lru_cache(maxsize=64)
    def of(settings: AliyunSettings) -> AlibabaAccount:
        """Return the cached account for these settings, shared by backend and storage."""
        return AlibabaAccount(settings)

    def _own_key(self) -> AccessKey:
        return Credentials().open(self.settings.own_credentials, AliyunCredentials).key

    def network_now(self) -> str:
        """Return `network`, for threads. May block for a second on the first call."""
        named = self.settings.network or os.environ.get("PAI_NETWORK_TYPE", "").lower()
        if named in ("public", "vpc"):
            return named
        if "network" not in self._found:
            self._found["network"] = "vpc" if accepts_connections(STUDIO.host(self.region, "vpc"), 80) else "public"
        return self._found["network"]

    async def network(self) -> str:
        """Return ``vpc`` if the internal hosts of the services can be used, else ``public``: from the profile, from
        ``PAI_NETWORK_TYPE``, or by connecting."""
        network = self._found.get("network")
        return network if network else await asyncio.to_thread(self.network_now)

    @property
    def oss_endpoint(self) -> str:
        """The OSS URL of the region, without a bucket. For threads, as it may block like `network_now`."""
        if self.settings.oss_endpoint:
            return self.settings.oss_endpoint
        inner = "-internal" if self.network_now() == "vpc" else ""
        return f"https://oss-{self.region}{inner}.aliyuncs.com"

    async def workspace_id(self) -> str:
        """Return the workspace of the profile, of this DSW instance, or the account's default workspace.

        Raises:
            NotFound: if none exists.
        """
        return await self._value("workspace_id", self._find_workspace)

    async def workspace_name(self) -> str:
        """Return the name of the workspace.

        Raises:
            NotFound: if none exists.
        """
        path = f"/api/v1/workspaces/{await self.workspace_id()}"
        return str((await self.api.call(WORKSPACE, "GetWorkspace", "GET", path)).get("WorkspaceName") or "")

    async def bucket(self) -> str:
        """Return the bucket of the profile, or the default bucket of the workspace.

        Raises:
            BucketError: if neither is set.
        """
        return await self._value("oss_bucket_name", self._find_bucket)

    async def _value(self, key: str, find: Callable[[], Awaitable[str]]) -> str:
        """Return the value of a key of the settings, or the cached result of `find`."""
        if value := getattr(self.settings, key):
            return str(value)
        if key not in self._found:
            self._found[key] = await find()
        return self._found[key]

    async def bucket_uri(self) -> str:
        """Return ``oss://bucket.endpoint/``, as required by services that do not know the profile."""
        return await self.with_endpoint(f"oss://{await self.bucket()}/")

    def without_endpoint(self, uri: str) -> str:
        """Return an ``oss://`` URI without its endpoint, if this is the region's own and not set in the profile. PAI
        adds it, and selects the internal one for its machines."""
        if self.settings.oss_endpoint:
            return uri
        own = rf"^(oss://[a-z0-9-]+)\.oss-{re.escape(self.region)}(-internal)?\.aliyuncs\.com(?=/|$)"
        return re.sub(own, r"\1", uri)

    async def with_endpoint(self, uri: str) -> str:
        """Return an ``oss://`` URI with an endpoint: its own one, or that of the account."""
        return await asyncio.to_thread(self.with_endpoint_now, uri)

    def with_endpoint_now(self, uri: str) -> str:
        """Return `with_endpoint`, for threads. May block like `network_now`."""
        bucket = re.match(r"oss://([a-z0-9-]+)(?=/|$)", uri)
        if not bucket or re.search(r"\?(.*&)?(endpoint|host)=", uri):
            return uri
        return f"{bucket[0]}.{urlsplit(self.oss_endpoint).netloc}{uri[bucket.end() :]}"

    async def _find_workspace(self) -> str:
        if instance := os.environ.get("DSW_INSTANCE_ID"):
            reply = await self.api.call(DSW, "GetInstance", "GET", f"/api/v2/instances/{instance}")
        else:
            reply = await self.api.call(WORKSPACE, "GetDefaultWorkspace", "GET", "/api/v1/defaultWorkspaces")
        workspace = str(reply.get("WorkspaceId") or "")
        if not workspace:
            raise NotFound(
                _("The account does not have a default workspace in {region}.").format(region=self.region),
                fix=_("Set `workspace_id` in the profile. The PAI console shows it."),
            )
        return workspace

    async def _find_bucket(self) -> str:
        workspace = await self.workspace_id()
        reply = await self.api.call(
            WORKSPACE,
            "ListConfigs",
            "GET",
            f"/api/v1/workspaces/{workspace}/configs",
            {"ConfigKeys": "modelExportPath"},
        )
        for config in reply.get("Configs") or []:
            value = str(config.get("ConfigValue") or "")
            if config.get("ConfigKey") == "modelExportPath" and value.startswith("oss://"):
                return urlsplit(value).netloc.partition(".")[0]
        raise BucketError(
            _("The profile has no bucket, and the workspace {id} does not have a default one.").format(id=workspace),
            fix=_("Set `oss_bucket_name` in the profile to a bucket in {region}.").format(region=self.region),
        )


def discover() -> dict[str, Any]:
    """Return profile keys from the configuration of PAI's SDK, or from the environment of a DSW instance or DLC job.
    Empty if neither exists."""
    return _sdk_configuration() or _instance_environment()


def sdk_file(path: str | os.PathLike[str] | None = None) -> Path:
    """Return the path of the configuration of PAI's SDK."""
    return Path(path or os.environ.get("PAI_CONFIG_PATH") or "~/.pai/config.json").expanduser()


def read_sdk_file(path: Path) -> dict[str, str]:
    """Return profile keys from the configuration of PAI's SDK. Source: ``pai.session``. Access keys, which older
    versions stored there too, are ignored.

    Raises:
        OSError, ValueError: if the file cannot be read.
    """
    config = json.loads(path.read_text("utf-8"))
    return {name: str(config[name]) for name in SDK_KEYS if config.get(name)} if isinstance(config, dict) else {}


def _sdk_configuration() -> dict[str, str]:
    try:
        settings = read_sdk_file(sdk_file())
    except (OSError, ValueError):
        return {}
    return settings if "region_id" in settings else {}


def _instance_environment() -> dict[str, Any]:
    environment = os.environ
    workspace = environment.get("PAI_AI_WORKSPACE_ID") or environment.get("PAI_WORKSPACE_ID", "")
    if not (workspace or environment.get("DSW_INSTANCE_ID") or environment.get("DLC_JOB_ID")):
        return {}
    region = next((environment[name] for name in ("REGION", "dsw_region", "DSW_REGION") if environment.get(name)), "")
    settings = {"region_id": region, "workspace_id": workspace}
    return {name: value for name, value in settings.items() if value} if region else {}
