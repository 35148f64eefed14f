"""Account: what a profile of an Alibaba Cloud backend names, and what is found out where it names nothing.

Which hosts, which network, which workspace and bucket, which keys. Nobody is asked before it is needed; what was found
out is kept as long as the profile stays the same.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from ...config.credentials import Credentials
from ...config.settings import IMPORTANT, ProfileSettings
from ...core.errors import BucketError, NotFound, SettingsError
from ...core.i18n import N_, _
from ...core.secret import Secret
from .access_key import AccessKey
from .credentials import KeyChain
from .openapi import DSW, STUDIO, WORKSPACE, OpenApi

__all__ = ["AlibabaAccount", "AliyunCredentials", "AliyunSettings", "discover"]

# Seconds after which a host of the VPC counts as out of reach.
_PROBE = 1.0


class AliyunSettings(ProfileSettings):
    """The keys of a profile that names a place at Alibaba Cloud. Keys of the account are none of them."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    region_id: str = Field(
        "", title=N_("Region"), description=N_("The region, like cn-hangzhou."), json_schema_extra=IMPORTANT
    )
    workspace_id: str = Field(
        "",
        title=N_("Workspace"),
        description=N_("The PAI workspace; else the account's default one."),
        json_schema_extra=IMPORTANT,
    )
    oss_bucket_name: str = Field(
        "",
        title=N_("Bucket"),
        description=N_("The bucket for code, inputs and outputs; else the workspace's."),
        json_schema_extra=IMPORTANT,
    )
    oss_endpoint: str = Field(
        "", title=N_("Endpoint of OSS"), description=N_("OSS's endpoint, if it is not the region's own.")
    )
    endpoint: str = Field(
        "", title=N_("Endpoint"), description=N_("Base URL of all OpenAPI services, for a private cloud.")
    )
    network: Literal["", "public", "vpc"] = Field(
        "", title=N_("Network"), description=N_("Which hosts to use; else what can be reached.")
    )
    credentials: str = Field(
        "", title=N_("Keys"), description=N_("A profile of the aliyun command; else the keys that are found first.")
    )
    max_run_time: int = Field(
        86_400,
        ge=0,
        title=N_("Maximum run time"),
        description=N_("Seconds after which a job ends that sets none; 0 for never."),
    )
    price_limit: float | None = Field(
        None,
        ge=0,
        title=N_("Ask above"),
        description=N_("Ask before a job is submitted that may cost more than this an hour."),
    )
    requests_per_second: float = Field(
        10, gt=0, title=N_("Requests a second"), description=N_("How often the account's services are asked at most.")
    )

    @field_validator("endpoint")
    @classmethod
    def _check_endpoint(cls, value: str) -> str:
        parts = urlsplit(value)
        if value and (parts.scheme not in ("http", "https") or not parts.hostname or parts.query):
            raise ValueError(_("`{url}` is no base URL, like https://pai.example.com").format(url=value))
        return value

    @field_validator("oss_endpoint")
    @classmethod
    def _check_oss_endpoint(cls, value: str) -> str:
        """A host alone, as PAI's own configuration has it, is meant with https."""
        url = value if "://" in value or not value else f"https://{value}"
        parts = urlsplit(url)
        if value and (parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/")):
            raise ValueError(_("`{url}` is no endpoint, like oss-cn-hangzhou.aliyuncs.com").format(url=value))
        return url.rstrip("/")


class AliyunCredentials(BaseModel):
    """The access key that a profile has of its own."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True, hide_input_in_errors=True)

    access_key_id: str = Field(
        min_length=1,
        max_length=200,
        title=N_("AccessKey ID"),
        description=N_("Like LTAI…: RAM's console shows it."),
    )
    access_key_secret: SecretStr = Field(
        min_length=1,
        max_length=500,
        title=N_("AccessKey secret"),
        description=N_("RAM shows it once, when the key is made."),
    )
    security_token: SecretStr = Field(
        SecretStr(""),
        max_length=10_000,
        title=N_("Security token"),
        description=N_("Only with a key that was lent for some time (STS)."),
    )

    @field_validator("access_key_id", "access_key_secret", "security_token")
    @classmethod
    def _check_letters(cls, value: Any) -> Any:
        text = value.get_secret_value() if isinstance(value, SecretStr) else value
        if not all("!" <= letter <= "~" for letter in text):
            raise ValueError(_("A key has letters, digits and signs only: no spaces, and none of other scripts."))
        return value

    @property
    def key(self) -> AccessKey:
        token = self.security_token.get_secret_value()
        secret = Secret(self.access_key_secret.get_secret_value())
        return AccessKey(self.access_key_id, secret, Secret(token) if token else None)


class AlibabaAccount:
    """One account in one region, as a profile names it.

    Raises:
        SettingsError: if the profile names no region.
    """

    def __init__(self, settings: AliyunSettings) -> None:
        if not settings.region_id:
            raise SettingsError(
                _("The profile names no region."),
                fix=_("Set it: %pai profile set NAME region_id=cn-hangzhou"),
            )
        self.settings = settings
        self.region = settings.region_id
        self.keys = KeyChain(settings.credentials, self._own_key if settings.own_credentials else None)
        self.api = OpenApi(
            self.region,
            self.key,
            self.keys.drop,
            self.network,
            endpoint=settings.endpoint,
            account=settings.own_credentials or settings.credentials,
            pace=settings.requests_per_second,
        )
        self._found: dict[str, str] = {}

    @staticmethod
    @lru_cache(maxsize=64)
    def of(settings: AliyunSettings) -> AlibabaAccount:
        """The one of these settings, for backend and storage alike: what was found out once is known to both."""
        return AlibabaAccount(settings)

    def _own_key(self) -> AccessKey:
        return Credentials().open(self.settings.own_credentials, AliyunCredentials).key

    def key_now(self) -> AccessKey:
        """A key that is good now, for threads: may block.

        Raises:
            CredentialsError: if there is none.
        """
        return self.keys.now()

    async def key(self) -> AccessKey:
        """A key that is good now.

        Raises:
            CredentialsError: if there is none.
        """
        held = self.keys.held()
        return held if held else await asyncio.to_thread(self.keys.now)

    def network_now(self) -> str:
        """As `network`, for threads: may block for a second, once."""
        named = self.settings.network or os.environ.get("PAI_NETWORK_TYPE", "").lower()
        if named in ("public", "vpc"):
            return named
        if "network" not in self._found:
            self._found["network"] = "vpc" if _reachable(STUDIO.host(self.region, "vpc")) else "public"
        return self._found["network"]

    async def network(self) -> str:
        """``vpc`` where the services' inner hosts can be used, else ``public``: as the profile says, or
        ``PAI_NETWORK_TYPE``, or as is found by trying."""
        known = self._found.get("network")
        return known if known else await asyncio.to_thread(self.network_now)

    @property
    def oss_endpoint(self) -> str:
        """The URL of OSS in the region, without a bucket. For threads: may block as `network_now` does."""
        if self.settings.oss_endpoint:
            return self.settings.oss_endpoint
        inner = "-internal" if self.network_now() == "vpc" else ""
        return f"https://oss-{self.region}{inner}.aliyuncs.com"

    async def workspace_id(self) -> str:
        """The workspace of the profile, of the DSW instance that this is, or the account's default one.

        Raises:
            NotFound: if there is none.
        """
        if self.settings.workspace_id:
            return self.settings.workspace_id
        if "workspace" not in self._found:
            self._found["workspace"] = await self._find_workspace()
        return self._found["workspace"]

    async def bucket(self) -> str:
        """The name of the profile's bucket, or of the workspace's default one.

        Raises:
            BucketError: if there is none.
        """
        if self.settings.oss_bucket_name:
            return self.settings.oss_bucket_name
        if "bucket" not in self._found:
            self._found["bucket"] = await self._find_bucket()
        return self._found["bucket"]

    async def bucket_uri(self) -> str:
        """``oss://bucket.endpoint/``, as the services want it: they do not know our profile."""
        endpoint = await asyncio.to_thread(lambda: self.oss_endpoint)
        return f"oss://{await self.bucket()}.{urlsplit(endpoint).netloc}/"

    async def _find_workspace(self) -> str:
        if instance := os.environ.get("DSW_INSTANCE_ID"):
            reply = await self.api.call(DSW, "GetInstance", "GET", f"/api/v2/instances/{instance}")
        else:
            reply = await self.api.call(WORKSPACE, "GetDefaultWorkspace", "GET", "/api/v1/defaultWorkspaces")
        found = str(reply.get("WorkspaceId") or "")
        if not found:
            raise NotFound(
                _("The account has no default workspace in {region}.").format(region=self.region),
                fix=_("Set the profile's `workspace_id`; PAI's console shows it."),
            )
        return found

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
            _("The profile names no bucket, and the workspace {id} has no default one.").format(id=workspace),
            fix=_("Set the profile's `oss_bucket_name` to a bucket in {region}.").format(region=self.region),
        )


def discover() -> dict[str, Any]:
    """The keys of a profile that lie ready: in the configuration of PAI's own SDK, or in the environment of a DSW
    instance or a DLC job. Empty if nothing does."""
    return _sdk_configuration() or _instance_environment()


def _sdk_configuration() -> dict[str, Any]:
    """Source: ``pai.session``; keys of the account, which older versions wrote there too, are left alone."""
    path = Path(os.environ.get("PAI_CONFIG_PATH") or "~/.pai/config.json").expanduser()
    try:
        said = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    names = ("region_id", "workspace_id", "oss_bucket_name", "oss_endpoint")
    found = {name: str(said[name]) for name in names if said.get(name)} if isinstance(said, dict) else {}
    return found if "region_id" in found else {}


def _instance_environment() -> dict[str, Any]:
    said = os.environ
    workspace = said.get("PAI_AI_WORKSPACE_ID") or said.get("PAI_WORKSPACE_ID", "")
    if not (workspace or said.get("DSW_INSTANCE_ID") or said.get("DLC_JOB_ID")):
        return {}
    region = next((said[name] for name in ("REGION", "dsw_region", "DSW_REGION") if said.get(name)), "")
    found = {"region_id": region, "workspace_id": workspace}
    return {name: value for name, value in found.items() if value} if region else {}


def _reachable(host: str) -> bool:
    try:
        socket.create_connection((host, 80), _PROBE).close()
    except OSError:
        return False
    return True
