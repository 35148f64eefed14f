"""`Session`, by the PAI SDK's own name: a region, a workspace and a bucket, and who asks for them.

With us that is a profile of the settings. A session of a profile needs no call; one that code sets up becomes one when
the engine is first asked for something, since a job must be found again by whoever follows it. Keys of the account are
never written down: those that code names are used by this process, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..client.base import Client
from ..client.connect import connect
from ..cloud.alibaba.access_key import AccessKey
from ..core.errors import SettingsError
from ..core.i18n import _
from .credentials import key_of, use_here
from .target import Place

if TYPE_CHECKING:
    import oss2

    from ..cloud.alibaba.account import AlibabaAccount

__all__ = ["BACKEND", "Session", "default_session", "get_default_session", "place_of", "setup_default_session"]

BACKEND = "pai"
# What code may name. A profile has more keys, which a session takes along; with the first three it is the same account.
_NAMED = ("region_id", "workspace_id", "oss_bucket_name", "oss_endpoint", "network")
_SAME = ("backend", "endpoint", "credentials", "own_credentials", *_NAMED)

# The session that code of this process has set up.
_set_up: Session | None = None


class Session:
    """An account of Alibaba Cloud in one region, workspace and bucket.

    Args:
        region_id: Like cn-hangzhou.
        workspace_id: The PAI workspace; else the account's default one.
        credential_config: The official library's, with an access key. Anything else belongs into a profile.
        oss_bucket_name: The bucket; else the workspace's default one.
        oss_endpoint: OSS's endpoint, if it is not the region's own.
        network: ``VPC`` or ``PUBLIC``; else what can be reached.
        profile: Further keys of a profile.

    Raises:
        SettingsError: if there is no region.
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
            raise SettingsError(_("A session needs a region."), fix=_("Name it: region_id='cn-hangzhou'"))
        named = {
            "region_id": region_id,
            "workspace_id": workspace_id,
            "oss_bucket_name": oss_bucket_name,
            "oss_endpoint": oss_endpoint and _url(oss_endpoint),
            "network": str(getattr(network, "value", network) or "").lower(),
        }
        self.settings = {**(profile or {}), **{name: str(value) for name, value in named.items() if value}}
        self._key: AccessKey | None = None
        self._bucket: Any = None
        self._account: AlibabaAccount | None = None
        if key := key_of(None, None, None, credential_config):
            self.use(key)

    def use(self, key: AccessKey) -> None:
        """Ask with this key, as the engine of this process does from now on."""
        use_here(key)
        self._key = key
        self.settings.pop("credentials", None)
        self.settings.pop("own_credentials", None)

    @property
    def region_id(self) -> str:
        return str(self.settings["region_id"])

    @property
    def workspace_id(self) -> str:
        """The workspace that was named, else the account's default one."""
        named = self.settings.get("workspace_id")
        return str(named) if named else self._ask("workspace_id")

    @property
    def oss_bucket_name(self) -> str:
        """The bucket that was named, else the workspace's default one."""
        named = self.settings.get("oss_bucket_name")
        return str(named) if named else self._ask("bucket")

    @property
    def oss_endpoint(self) -> str:
        """Where OSS is: a host, as the SDK has it."""
        return urlsplit(self._open_account().oss_endpoint).netloc

    @property
    def oss_bucket(self) -> oss2.Bucket:
        """The bucket as the official client's own `oss2.Bucket`."""
        self._bucket = self._bucket or self.get_oss_bucket(self.oss_bucket_name)
        return self._bucket

    def get_oss_bucket(self, bucket_name: str, endpoint: str | None = None) -> oss2.Bucket:
        """Another bucket, with the keys of this session.

        Raises:
            BadInput: if it is at an endpoint that these keys are not for.
        """
        from ..storage.oss.client import OssClient
        from ..storage.oss.uri import OssUri

        host = urlsplit(_url(endpoint)).netloc if endpoint else ""
        return OssClient(self._open_account()).bucket(OssUri(bucket_name, endpoint=host))

    @property
    def client(self) -> Client:
        """The engine that jobs of this session go to: one in this process, if code has named its keys."""
        return connect(here=self._key is not None)

    @property
    def profile(self) -> str:
        """The name of the profile that has these settings; empty if none has."""
        mine = self._values()
        for view in _profiles(self.client)["profiles"]:
            if all((view["settings"].get(key) or "") == mine.get(key, "") for key in _SAME):
                return str(view["name"])
        return ""

    def keep(self, profile: str = "", *, default: bool = False) -> str:
        """Write these settings down as a profile, if none has them, or as the profile of that name; its name.

        Raises:
            SettingsError: if they cannot be right.
        """
        name = profile or self.profile
        known = {view["name"]: view["file"] for view in _profiles(self.client)["profiles"]}
        if profile or not name or (default and not known[name]):
            name = name or next(n for n in (BACKEND, *(f"{BACKEND}-{i}" for i in range(2, 99))) if n not in known)
            values = dict.fromkeys(_NAMED) | self._values() if profile in known else self._values()
            self.client.call("set_profile", profile=name, body={"values": values, "default": default})
            print(_("These settings are the profile `{name}` now; keys are no part of it.").format(name=name))
        elif default:
            self.client.call("set_profile", profile=name, body={"default": True})
        return name

    def persist_config(self, profile: str = "") -> None:
        """Make these settings those that count from now on: a profile, the default one. Without keys."""
        self.keep(profile, default=True)

    # As newer versions of the SDK call it.
    save_config = persist_config

    def _values(self) -> dict[str, Any]:
        return _filled({**self.settings, "backend": BACKEND})

    def _open_account(self) -> AlibabaAccount:
        if self._account is None:
            from ..cloud.alibaba.account import AlibabaAccount, AliyunSettings

            known = {name: value for name, value in self._values().items() if name in AliyunSettings.model_fields}
            self._account = AlibabaAccount(AliyunSettings.model_validate(known))
        return self._account

    def _ask(self, question: str) -> str:
        """What the account answers. In a thread: a kernel's own runs a loop already."""
        import asyncio
        from concurrent.futures import ThreadPoolExecutor

        from ..cloud import http as transport

        async def asked() -> str:
            try:
                return str(await getattr(self._open_account(), question)())
            finally:
                await transport.close()

        with ThreadPoolExecutor(1) as executor:
            return executor.submit(lambda: asyncio.run(asked())).result()

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
    """Set up the session that this process uses from now on. What is not named is as in the default one, as far as that
    is in the same region.

    Raises:
        SettingsError: if no region is named, and there is no default session.
        UsageError: if what is given is no whole key.
    """
    global _set_up
    key = key_of(access_key_id, access_key_secret, security_token, credential_config)
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
    """The session that code has set up, else that of the default profile, else that of the first profile of PAI; None
    if there is none."""
    if _set_up is not None:
        return _set_up
    reply = _profiles(connect())
    views = {view["name"]: view for view in reply["profiles"] if view["settings"]["backend"] == BACKEND}
    name = next((name for name in (reply["default"], BACKEND, *views) if name in views), "")
    if not name:
        return None
    settings = _filled(views[name]["settings"])
    return Session(settings.pop("region_id", None), profile=settings)


def place_of(session: Session | None) -> Place:
    """Where a session's jobs go; without one those of the session that code has set up, else of the default profile."""
    session = session or _set_up
    return Place(session.client, session.keep()) if session else Place(connect())


def default_session() -> Session:
    """The default session.

    Raises:
        SettingsError: if there is none.
    """
    session = get_default_session()
    if session is None:
        raise SettingsError(
            _("There is no session of PAI."),
            fix=_("Set one up: setup_default_session(region_id='cn-hangzhou', workspace_id='…')"),
        )
    return session


def _profiles(client: Client) -> dict[str, Any]:
    return dict(client.call("profiles"))


def _filled(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value not in (None, "")}


def _url(endpoint: str) -> str:
    return endpoint if "://" in endpoint else f"https://{endpoint}"
