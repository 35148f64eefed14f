"""`Session` of the PAI SDK: a region, a workspace, a bucket and credentials.

A session corresponds to a profile of the settings. A session that code sets up is stored as a profile on its first
use, so that other processes can follow its jobs. Access keys are never stored: those passed in code are used by this
process only.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from ..client.base import Client
from ..client.connect import connect
from ..client.parameters import offered
from ..client.printing import print_line
from ..cloud.keys import AccessKey
from ..core.errors import SettingsError, UsageError
from ..core.i18n import N_, _
from .absent import no_such_attribute
from .config_file import load_default_config_file
from .credentials import access_key, use_in_this_process
from .options import non_empty
from .target import Target

if TYPE_CHECKING:
    import oss2

    from ..cloud.alibaba.account import AlibabaAccount

__all__ = [
    "BACKEND",
    "NoRegion",
    "Session",
    "UnknownInstanceType",
    "default_session",
    "get_default_session",
    "load_default_config_file",
    "setup_default_session",
    "target_of",
]

_T = TypeVar("_T")

BACKEND = "pai"
# Settings that code can pass, and settings that identify a profile. A session keeps a profile's other settings.
_NAMED = ("region_id", "workspace_id", "oss_bucket_name", "oss_endpoint", "network")
_SAME = ("backend", "endpoint", "credentials", "own_credentials", *_NAMED)
_INNER_REGIONS = ("center",)
_REQUESTS = N_("The methods of Estimator, TrainingJob and TensorBoard send the requests.")
_SERVICES = N_("Services are deployed in the PAI console, or by the PAI SDK. Their instance types are listed there.")
_ABSENT = {
    **dict.fromkeys(
        (
            "algorithm_api", "code_source_api", "dataset_api", "experiment_api", "image_api", "job_api", "lineage_api",
            "model_api", "pipeline_api", "pipeline_run_api", "tensorboard_api", "training_job_api", "workspace_api",
        ),
        _REQUESTS,
    ),
    **dict.fromkeys(("is_gpu_inference_instance", "is_supported_inference_instance", "service_api"), _SERVICES),
    "get_default_oss_storage": N_("The workspace's bucket is the default: session.oss_bucket_name"),
    "provider": N_("See the account of the credentials: %pai doctor --backend pai"),
}  # fmt: skip

# The session that code in this process has set up.
_set_up: Session | None = None


class NoRegion(SettingsError, ValueError):
    """A session without a region."""


class UnknownInstanceType(UsageError, ValueError):
    """Jobs cannot run on an instance type."""


class Session:
    """An account of Alibaba Cloud in one region, workspace and bucket.

    Args:
        region_id: The region, such as cn-hangzhou.
        workspace_id: The PAI workspace. Default: the account's default workspace.
        credential_config: A `Config` of the official library with an access key. Other credentials need a profile.
        oss_bucket_name: The bucket. Default: the workspace's bucket.
        oss_endpoint: The endpoint of OSS. Default: that of the region.
        network: ``VPC`` or ``PUBLIC``. Default: the network that is reachable.
        profile: Further settings of a profile.

    Raises:
        NoRegion: if the region is missing. A `ValueError` too.
    """

    def __init__(
        self,
        region_id: str | None,
        workspace_id: str | int | None = None,
        credential_config: Any = None,
        oss_bucket_name: str | None = None,
        oss_endpoint: str | None = None,
        *,
        network: Any = None,
        profile: Mapping[str, Any] | None = None,
    ) -> None:
        if not region_id:
            raise NoRegion(_("A session requires a region."), fix=_("Pass it: region_id='cn-hangzhou'"))
        settings = {
            "region_id": region_id,
            "workspace_id": workspace_id,
            "oss_bucket_name": oss_bucket_name,
            "oss_endpoint": oss_endpoint and _url(oss_endpoint),
            "network": str(getattr(network, "value", network) or "").lower(),
        }
        self.settings = {**(profile or {}), **{name: str(value) for name, value in settings.items() if value}}
        self.credential_config = credential_config
        self._key: AccessKey | None = None
        if key := access_key(None, None, None, credential_config):
            self.use(key)

    def use(self, key: AccessKey) -> None:
        """Use this key in this session and in this process's engine."""
        use_in_this_process(key)
        self._key = key
        self.settings.pop("credentials", None)
        self.settings.pop("own_credentials", None)

    @property
    def region_id(self) -> str:
        return str(self.settings["region_id"])

    @property
    def workspace_id(self) -> str:
        """The workspace. Default: the account's default workspace."""
        return str(self.settings.get("workspace_id") or self._fetch("workspace_id"))

    @property
    def oss_bucket_name(self) -> str:
        """The bucket. Default: the workspace's bucket."""
        return str(self.settings.get("oss_bucket_name") or self._fetch("bucket"))

    @property
    def oss_endpoint(self) -> str:
        """The host of OSS, without a scheme, as in the SDK."""
        return urlsplit(self._account.oss_endpoint).netloc

    @property
    def is_inner(self) -> bool:
        """True for a region of Alibaba's own."""
        return self.region_id in _INNER_REGIONS

    @cached_property
    def workspace_name(self) -> str:
        """The name of the workspace, fetched from PAI."""
        return self._fetch("workspace_name")

    @property
    def console_uri(self) -> str:
        """The page of PAI's console."""
        return "https://pai.console.aliyun.com/console"

    @cached_property
    def oss_bucket(self) -> oss2.Bucket:
        """The bucket, as an `oss2.Bucket` of the official client."""
        return self.get_oss_bucket(self.oss_bucket_name)

    def get_oss_bucket(self, bucket_name: str, endpoint: str | None = None) -> oss2.Bucket:
        """Return another bucket, with the credentials of this session.

        Raises:
            BadInput: if the endpoint is not one that these credentials may be sent to.
        """
        from ..storage.oss.client import OssClient
        from ..storage.oss.uri import OssUri

        host = urlsplit(_url(endpoint)).netloc if endpoint else ""
        return OssClient(self._account).bucket(OssUri(bucket_name, endpoint=host))

    def patch_oss_endpoint(self, oss_uri: str) -> str:
        """Return an ``oss://`` URI with an endpoint: its own, or that of this session.

        Raises:
            BadInput: if the URI is invalid.
        """
        from ..storage.oss.uri import OssUri

        uri = OssUri.parse(oss_uri)
        return oss_uri if uri.endpoint else str(replace(uri, endpoint=self.oss_endpoint))

    @staticmethod
    def get_storage_path_by_category(category: str, dir_name: str | None = None) -> str:
        """Return the key of a folder in the bucket: ``pai/CATEGORY/NAME/``, by default named by the time."""
        return f"pai/{category}/{(dir_name or f'{datetime.now():%Y%m%d_%H%M%S_%f}').strip('/ ')}/"

    def is_supported_training_instance(self, instance_type: str) -> bool:
        """Return whether jobs can run on an instance type."""
        return instance_type in self._gpus()

    def is_gpu_training_instance(self, instance_type: str) -> bool:
        """Return whether an instance type for jobs has GPUs.

        Raises:
            UnknownInstanceType: if jobs cannot run on it. A `ValueError` too.
        """
        gpus = self._gpus()
        if instance_type not in gpus:
            raise UnknownInstanceType(
                _("Jobs cannot run on the instance type {name}.").format(name=instance_type),
                fix=offered(_("List the instance types: %pai instances")),
            )
        return gpus[instance_type] > 0

    def _gpus(self) -> dict[str, int]:
        """Return the number of GPUs of each instance type for jobs."""
        target = target_of(self)
        kinds = target.client.call("instances", profile=target.profile)["instances"]
        return {kind["name"]: kind["gpu"] for kind in kinds}

    @property
    def client(self) -> Client:
        """The engine that runs this session's jobs: one in this process, if code passed the keys."""
        return connect(here=self._key is not None)

    @property
    def profile(self) -> str:
        """The name of the profile with these settings; empty if there is none."""
        return self._profile_of(BACKEND)

    def _profile_of(self, backend: str) -> str:
        mine = self._values(backend)
        for view in self.client.call("profiles")["profiles"]:
            if all((view["settings"].get(key) or "") == mine.get(key, "") for key in _SAME):
                return str(view["name"])
        return ""

    def keep(self, profile: str = "", *, default: bool = False, backend: str = BACKEND) -> str:
        """Store these settings as a profile of a backend and return its name. Without a name, reuse a profile that has
        them.

        Raises:
            SettingsError: if the settings are invalid.
        """
        name = profile or self._profile_of(backend)
        known = {view["name"]: view["file"] for view in self.client.call("profiles")["profiles"]}
        if profile or not name or (default and not known[name]):
            name = name or next(n for n in (backend, *(f"{backend}-{i}" for i in range(2, 99))) if n not in known)
            own = self._values(backend)
            values = dict.fromkeys(_NAMED) | own if profile in known else own
            self.client.call("set_profile", profile=name, body={"values": values, "default": default})
            print_line(_("Stored these settings, without keys, as the profile `{name}`.").format(name=name))
        elif default:
            self.client.call("set_profile", profile=name, body={"default": True})
        return name

    def persist_config(self, profile: str = "") -> None:
        """Store these settings as the default profile, without keys."""
        self.keep(profile, default=True)

    def save_config(self, config_path: str | os.PathLike[str] | None = None) -> None:
        """Write region, workspace, bucket and OSS endpoint to the SDK's own file, without keys: by default
        ``PAI_CONFIG_PATH``, or ``~/.pai/config.json``. The SDK reads it, and a profile without a file, too.

        Raises:
            SettingsError: if the file cannot be written.
        """
        from ..cloud.alibaba.account import SDK_KEYS, sdk_file

        path = sdk_file(config_path)
        values = {name: self.settings[name] for name in SDK_KEYS if self.settings.get(name)}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(values, indent=4), "utf-8")
        except OSError as error:
            raise SettingsError(_("Cannot write {path}: {error}.").format(path=path, error=error)) from None

    def _values(self, backend: str = BACKEND) -> dict[str, Any]:
        return non_empty({**self.settings, "backend": backend})

    @cached_property
    def _account(self) -> AlibabaAccount:
        from ..cloud.alibaba.account import AlibabaAccount, AliyunSettings

        known = {name: value for name, value in self._values().items() if name in AliyunSettings.model_fields}
        return AlibabaAccount(AliyunSettings.model_validate(known))

    def _fetch(self, method: str) -> str:
        return str(self.request(lambda account: getattr(account, method)()))

    def request(self, call: Callable[[AlibabaAccount], Coroutine[Any, Any, _T]]) -> _T:
        """Call a function with the account. In a thread: a kernel's main thread already runs an event loop."""
        import asyncio
        from concurrent.futures import ThreadPoolExecutor

        from ..cloud import http as transport

        async def fetch() -> _T:
            try:
                return await call(self._account)
            finally:
                await transport.close()

        with ThreadPoolExecutor(1) as executor:
            return executor.submit(lambda: asyncio.run(fetch())).result()

    def __getattr__(self, name: str) -> Any:
        raise no_such_attribute("Session", name, _ABSENT)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={self.settings[name]!r}" for name in _NAMED if name in self.settings)
        return f"Session({shown})"


def setup_default_session(
    access_key_id: str | None = None,
    access_key_secret: str | None = None,
    security_token: str | None = None,
    region_id: str | None = None,
    credential_config: Any = None,
    oss_bucket_name: str | None = None,
    oss_endpoint: str | None = None,
    workspace_id: str | int | None = None,
    network: Any = None,
) -> Session:
    """Set up the default session of this process. Omitted settings are those of the previous default session, if it is
    in the same region.

    Raises:
        NoRegion: if the region is missing and no default session is set. A `ValueError` too.
        InvalidKey: if the access key is incomplete. A `ValueError` too.
    """
    global _set_up
    key = access_key(access_key_id, access_key_secret, security_token, credential_config)
    base = get_default_session()
    same = base is not None and region_id in (None, "", base.region_id)
    earlier = base.settings if base and same else {}
    session = Session(
        region_id or earlier.get("region_id"),
        workspace_id,
        None,
        oss_bucket_name,
        oss_endpoint,
        network=network,
        profile=earlier,
    )
    if key := key or (base._key if base and same else None):
        session.use(key)
    _set_up = session
    return session


def get_default_session() -> Session | None:
    """Return the session that code has set up, else that of the default profile, else that of the first PAI profile;
    None if there is none."""
    if _set_up is not None:
        return _set_up
    reply = connect().call("profiles")
    views = {view["name"]: view for view in reply["profiles"] if view["settings"]["backend"] == BACKEND}
    name = next((name for name in (reply["default"], BACKEND, *views) if name in views), "")
    if not name:
        return None
    settings = non_empty(views[name]["settings"])
    return Session(settings.pop("region_id", None), profile=settings)


def target_of(session: Session | None) -> Target:
    """Return the target of a session's jobs. Default: the session that code has set up, else the default profile."""
    session = session or _set_up
    return Target(session.client, session.keep()) if session else Target(connect())


def default_session() -> Session:
    """Return the default session.

    Raises:
        SettingsError: if there is none.
    """
    session = get_default_session()
    if session is None:
        raise SettingsError(
            _("No PAI session is set up."),
            fix=_("Set one up: setup_default_session(region_id='cn-hangzhou', workspace_id='…')"),
        )
    return session


def _url(endpoint: str) -> str:
    return endpoint if "://" in endpoint else f"https://{endpoint}"
