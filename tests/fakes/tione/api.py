"""API 3.0: which action a request is, whether it is allowed and how often, and errors as the gateway writes them."""

from __future__ import annotations

import json
import time
import traceback
import uuid
from collections import deque
from typing import Any

from ..alibaba.calls import Answer, Call
from ..alibaba.clock import Clock
from ..alibaba.dispatcher import Service
from ..alibaba.service_errors import Refusal
from . import models, tc3
from .keys import OWNER, Keys
from .requests import Action, Request, refuse
from .settings import Settings

__all__ = ["Api"]

_VERSIONS = {
    "2021-11-11": "tione", "2018-08-13": "sts", "2019-01-16": "cam", "2018-07-09": "billing", "2017-03-12": "vpc",
    "2020-10-16": "cls", "2019-07-19": "cfs",
}  # fmt: skip
_REGIONS = ("ap-guangzhou", "ap-shanghai", "ap-beijing", "ap-nanjing")
_UNSIGNED = ("sts:AssumeRoleWithWebIdentity",)
_LARGEST = 10 << 20


class Api(Service):
    """Actions by `service:Action`. The public API of TI-ONE lacks the `extras`."""

    name = "tione"
    id_header = "x-tc-requestid"

    def __init__(
        self, actions: dict[str, Action], extras: dict[str, Action], keys: Keys, clock: Clock, settings: Settings
    ) -> None:
        self._actions, self._extras, self._keys, self._clock = actions, extras, keys, clock
        self._settings, self._rates = settings, Rates(clock, settings)

    def accept(self, call: Call) -> None:
        call.id = str(uuid.uuid4())
        call.service = _VERSIONS.get(call.headers.get("x-tc-version", ""), "none")
        call.action = call.headers.get("x-tc-action", "")

    async def answer(self, call: Call) -> Answer:
        data = await call.body()
        if len(data) > _LARGEST:
            refuse("RequestSizeLimitExceeded", "The size of the request exceeds 10 MB.")
        if call.method != "POST" or call.path not in ("/", ""):
            refuse("UnsupportedProtocol", "Only POST requests for / are supported.")
        if call.service == "none":
            refuse("NoSuchVersion", "The specified version does not exist.")
        name = f"{call.service}:{call.action}"
        action = self._find(name)
        if name not in _UNSIGNED:
            call.key = tc3.check(call, data, self._keys, self._clock)
        self._check_region(call)
        self._check_rights(call, name)
        self._rates.take(name)
        body = self._body(call, data)
        return self._reply(
            call, action, Request(body, call.key, call.headers.get("x-tc-region", ""), self._clock.now())
        )

    def _find(self, name: str) -> Action:
        if name in self._extras:
            if self._settings.extras:
                return self._extras[name]
            refuse(self._settings.not_offered, f"The request action=`{name.partition(':')[2]}` is not offered.")
        if name not in self._actions:
            refuse("InvalidAction", f"The request action=`{name.partition(':')[2]}` is invalid or not found.")
        return self._actions[name]

    def _check_region(self, call: Call) -> None:
        region = call.headers.get("x-tc-region", "")
        if call.service in ("tione", "vpc", "cfs", "cls") and not region:
            refuse("MissingParameter", "The request is missing a required parameter `X-TC-Region`.")
        if region and region not in _REGIONS:
            refuse("UnsupportedRegion", f"The region {region} is not supported.")

    def _check_rights(self, call: Call, name: str) -> None:
        if call.key is not None and not call.key.may(name):
            who, what = f"qcs::cam::uin/{OWNER}:uin/{call.key.user_id}", f"qcs::{call.service}:::*"
            message = f"you are not authorized to perform operation ({name})\nresource ({what}) has no permission\n"
            refuse("UnauthorizedOperation", f"[request id:{call.id}]{message}principal ({who})")

    def _body(self, call: Call, data: bytes) -> dict[str, Any]:
        try:
            body = json.loads(data or b"{}")
        except ValueError:
            body = None
        if not isinstance(body, dict) or call.headers.get("content-type", "").partition(";")[0] != "application/json":
            raise Refusal(200, "InvalidParameter", "The body is not a JSON object of the type application/json.")
        if call.service == "tione":
            models.check_body(call.action, body)
            if (body.get("TiProjectId") or "0") not in self._settings.projects:
                refuse("ResourceNotFound", f"The workspace {body['TiProjectId']} does not exist.")
        return body

    def _reply(self, call: Call, action: Action, request: Request) -> Answer:
        try:
            reply = action(request) | {"RequestId": call.id}
            if call.service == "tione":
                models.check_reply(call.action, reply)
        except Refusal:
            raise
        except Exception as error:
            traceback.print_exc()
            raise Refusal(500, "InternalError", f"the stand-in itself is wrong: {error!r}") from error
        return _answer({"Response": reply})

    def refuse(self, call: Call, refusal: Refusal) -> Answer:
        if refusal.status >= 500:
            return Answer(refusal.status, refusal.message.encode(), {"Content-Type": "text/html"})
        error = {"Code": refusal.code, "Message": refusal.message}
        return _answer({"Response": {"Error": error, "RequestId": call.id}})

    def injected(self, kind: str) -> Refusal:
        if kind == "throttled":
            return _too_many(self._settings.calls_a_window)
        return Refusal(int(kind), "", "<html><body>The gateway has failed.</body></html>")


class Rates:
    """The moments of the last calls by action."""

    def __init__(self, clock: Clock, settings: Settings) -> None:
        self._clock, self._settings = clock, settings
        self._calls: dict[str, deque[float]] = {}

    def take(self, action: str) -> None:
        """Count a call. Raises Refusal where there were too many in the window."""
        # The clock of the machine may jump, that of the stand-in only moves when a test says so.
        now = time.monotonic() + self._clock.offset
        calls = self._calls.setdefault(action, deque())
        while calls and calls[0] <= now - self._settings.window:
            calls.popleft()
        if len(calls) >= self._settings.calls_a_window:
            raise _too_many(self._settings.calls_a_window)
        calls.append(now)


def _too_many(limit: int) -> Refusal:
    message = (
        f"Your current request times equals to `{limit + 1}` in a second, which exceeds the frequency limit `{limit}` "
        "for a second. Please reduce the frequency of calls."
    )
    return Refusal(200, "RequestLimitExceeded", message)


def _answer(value: dict[str, Any]) -> Answer:
    return Answer(200, json.dumps(value, ensure_ascii=False).encode(), {"Content-Type": "application/json"})
