"""The account of a client: a profile of the settings, with keys that code passes."""

from __future__ import annotations

from typing import Any

from ...client.connect import connect
from ...client.parameters import offered
from ...client.printing import print_line
from ...cloud.keys import AccessKey
from ...core.errors import SettingsError, Unsupported, UsageError
from ...core.i18n import _
from ...core.secret import Secret
from ..credentials import warn_of_keys
from ..options import non_empty
from ..target import Target

__all__ = ["BACKEND", "Account"]

BACKEND = "tione"


class Account:
    """An account of Tencent Cloud in one region.

    It corresponds to a profile with this region. Without one, it is stored as a profile on its first use, without keys,
    so that other processes can follow its jobs.
    """

    def __init__(self, key: AccessKey | None, region: str) -> None:
        self._key, self.region = key, region

    @classmethod
    def of(cls, secret_id: str, secret_key: Secret, token: Secret, region: str, unsupported: str) -> Account:
        """Return the account of a client's arguments. `unsupported` is the name of one that has no effect here.

        Raises:
            UsageError: if the key is incomplete.
            Unsupported: with an argument that is not supported.
        """
        if unsupported:
            raise Unsupported(
                _("Client(…, {name}=…) is not supported.").format(name=unsupported),
                fix=_("Set the variable HTTPS_PROXY, or `endpoint` or `network` of the profile."),
            )
        if bool(secret_id) != bool(secret_key.open()):
            raise UsageError(
                _("Pass both secret_id and secret_key."),
                fix=offered(_("Omit both to use the keys of the profile: %pai doctor --backend tione")),
            )
        return cls(AccessKey.of(secret_id, secret_key.open(), token.open()) if secret_id else None, region)

    def target(self, bucket: str = "") -> Target:
        """Return the engine and the profile. A new profile gets `bucket`, as does one of this region without a bucket.

        Raises:
            SettingsError: if no profile exists, and the client has no region.
        """
        if self._key:
            from ...cloud.tencent.credentials import use_key

            use_key(self._key)
            warn_of_keys("jupyter pai profile login NAME")
        client = connect(here=self._key is not None)
        reply = client.call("profiles")
        views = {view["name"]: view for view in reply["profiles"] if self._matches(view["settings"])}
        name = next((name for name in (reply["default"], BACKEND, *views) if name in views), "")
        if not name:
            name = self._store(client, {view["name"] for view in reply["profiles"]}, bucket)
        elif bucket and not views[name]["settings"].get("bucket") and views[name]["file"] and not views[name]["locked"]:
            client.call("set_profile", profile=name, body={"values": {"bucket": bucket}})
        return Target(client, name, BACKEND)

    def _matches(self, settings: dict[str, Any]) -> bool:
        """Return whether a profile is that of this account. One with keys of its own would not use those of code."""
        return bool(
            settings["backend"] == BACKEND
            and self.region in ("", settings.get("region"))
            and not (self._key and (settings.get("credentials") or settings.get("own_credentials")))
        )

    def _store(self, client: Any, known: set[str], bucket: str) -> str:
        if not self.region:
            raise SettingsError(_("A client requires a region."), fix=_("Pass it: Client('…', '…', 'ap-guangzhou')"))
        name = next(n for n in (BACKEND, *(f"{BACKEND}-{i}" for i in range(2, 99))) if n not in known)
        values = non_empty({"backend": BACKEND, "region": self.region, "bucket": bucket})
        client.call("set_profile", profile=name, body={"values": values})
        print_line(_("Stored these settings, without keys, as the profile `{name}`.").format(name=name))
        return name
