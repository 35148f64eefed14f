"""The OpenAPI services behind one address: what a request is, whether it is allowed, and errors in their words."""

from __future__ import annotations

import json
import re
import traceback
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import unquote

from . import validation
from .acs_signatures import Nonces, check
from .calls import Answer, Call
from .clock import Clock
from .dispatcher import Service
from .keys import Key, Keyring
from .service_errors import Refusal
from .settings import Settings

__all__ = ["Request", "Handler", "Operation", "Reply", "Services"]

_VERSIONS = {"2022-01-12": "paistudio", "2020-12-03": "dlc", "2021-02-04": "aiworkspace"}


class Request:
    """The parameters of an operation, from path, query and body, and its user."""

    def __init__(self, path: dict[str, str], query: dict[str, str], body: dict[str, Any], key: Key) -> None:
        self.path, self.query, self.body, self.key = path, query, body, key

    def number(self, name: str, default: int, most: int) -> int:
        """A whole number of the query, at least 1. Raises Refusal if it is more than there may be."""
        value = int(self.query.get(name) or default)
        if not 1 <= value <= most:
            raise Refusal(400, f"Invalid{name}", f"{name} must be between 1 and {most}.")
        return value

    def page(self, items: list[Any], default: int = 10, most: int = 100) -> list[Any]:
        """Return the requested page."""
        size, number = self.number("PageSize", default, most), self.number("PageNumber", 1, 10**9)
        return items[(number - 1) * size : number * size]

    def flag(self, name: str) -> bool:
        """A truth of the query."""
        return self.query.get(name, "").lower() == "true"


Reply = dict[str, Any]
Handler = Callable[[Request], Reply | Awaitable[Reply]]


class Operation:
    """One operation: `GET /api/v1/trainingjobs/{TrainingJobId}`."""

    def __init__(self, service: str, name: str, method: str, path: str, handler: Handler) -> None:
        self.service, self.name, self.method, self.handler = service, name, method, handler
        self.pattern = re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", f"/api/v1{path}"))


class Services(Service):
    """All of them."""

    name = "openapi"
    id_header = "x-acs-request-id"

    def __init__(self, operations: list[Operation], keyring: Keyring, clock: Clock, settings: Settings) -> None:
        self._operations, self._keyring, self._clock = operations, keyring, clock
        self._nonces, self._settings = Nonces(clock), settings

    def accept(self, call: Call) -> None:
        call.service = _VERSIONS.get(call.headers.get("x-acs-version", ""), "openapi")
        if result := self._find(call):
            call.action = result[0].name

    def _find(self, call: Call) -> tuple[Operation, dict[str, str]] | None:
        for operation in self._operations:
            if (operation.service, operation.method) != (call.service, call.method):
                continue
            if match := operation.pattern.fullmatch(call.path):
                return operation, {name: unquote(value) for name, value in match.groupdict().items()}
        return None

    async def answer(self, call: Call) -> Answer:
        data = await call.body()
        result = self._find(call)
        if result is None or call.headers.get("x-acs-action") != result[0].name:
            message = "Specified api is not found, please check your url and method."
            raise Refusal(404, "InvalidApi.NotFound", message)
        operation, path = result
        call.key = check(call, data, self._keyring, self._clock, self._nonces)
        self._check_region(call)
        self._check_rights(call)
        body = self._body(call, data)
        validation.check_query(call.service, call.action, {} if body else call.query, set())
        return await self._reply(call, operation, Request(path, call.query, body, call.key))

    async def _reply(self, call: Call, operation: Operation, request: Request) -> Answer:
        try:
            made = operation.handler(request)
            reply = made if isinstance(made, dict) else await made
            reply = {"RequestId": call.id} | reply
            validation.check_reply(call.service, call.action, reply)
        except Refusal:
            raise
        except Exception as error:
            traceback.print_exc()
            raise Refusal(500, "InternalError", f"the stand-in itself is wrong: {error!r}") from error
        return Answer.of_json(reply)

    def _body(self, call: Call, data: bytes) -> dict[str, Any]:
        if not data:
            return {}
        try:
            body = json.loads(data)
        except ValueError:
            raise Refusal(400, "InvalidJSON", "The request body is not JSON.") from None
        validation.check_body(call.service, call.action, body)
        return dict(body)

    def _check_region(self, call: Call) -> None:
        """A workspace lives in one region; hosts of another know nothing of it."""
        _, _, region = call.headers.get("host", "").removesuffix(".aliyuncs.com").partition(".")
        if call.headers.get("host", "").endswith(".aliyuncs.com") and region != self._settings.region:
            raise Refusal(404, "WORKSPACE_NOT_FOUND", f"The workspace is not found in region {region}.")

    def _check_rights(self, call: Call) -> None:
        action = f"{call.service}:{call.action}"
        if call.user.may(action):
            return
        detail = {
            "AuthAction": action.replace("paistudio", "pai").replace("dlc", "paidlc", 1),
            "AuthPrincipalType": "SubUser",
            "AuthPrincipalOwnerId": "100000000000000001",
            "AuthPrincipalDisplayName": call.user.user_id,
            "NoPermissionType": "ImplicitDeny",
            "PolicyType": "AccountLevelIdentityBasedPolicy",
            "EncodedDiagnosticMessage": "AQFoc3RhbmQtaW4=",
        }
        message = "You are not authorized to perform this operation."
        raise Refusal(403, "Forbidden.NoPermission", message, AccessDeniedDetail=detail)

    def refuse(self, call: Call, refusal: Refusal) -> Answer:
        fields: dict[str, Any] = {"Code": refusal.code, "Message": refusal.message, "RequestId": call.id}
        fields |= {"HostId": call.headers.get("host", "")}
        fields |= {"Recommend": f"https://api.aliyun.com/troubleshoot?q={refusal.code}&requestId={call.id}"}
        answer = Answer.of_json(fields | refusal.more, refusal.status)
        answer.headers |= refusal.headers
        return answer

    def injected(self, kind: str) -> Refusal:
        if kind == "500":
            message = "The request processing has failed due to some unknown error."
            return Refusal(500, "InternalError", message)
        if kind == "throttled":
            headers = {"x-acs-retry-after": str(int(self._settings.retry_after * 1000))}
            return Refusal(400, "Throttling.User", "Request was denied due to user flow control.", headers)
        return Refusal(503, "ServiceUnavailable", "The request has failed due to a temporary failure of the server.")
