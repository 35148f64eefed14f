"""Calls are retried if that is safe, errors with the status 200 are found, and no key is shown."""

from __future__ import annotations

import asyncio
import json
import logging
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from jupyter_pai.cloud import http as transport
from jupyter_pai.cloud.http import Retries
from jupyter_pai.cloud.keys import AccessKey
from jupyter_pai.cloud.tencent.api import STS, TIONE, TencentApi
from jupyter_pai.cloud.tencent.signature import authorization
from jupyter_pai.core.errors import (
    BackendError,
    ClockError,
    CredentialsError,
    PermissionDenied,
    ReplyLost,
    Throttled,
    Unreachable,
    Unsupported,
)
from jupyter_pai.core.i18n import use_language
from jupyter_pai.core.secret import Secret

from ....fakes.scripted_server import Answer, Answers, answering, cut, reply, reset
from ....support.connections import run_and_close as run
from ..test_http import StoppedClock

SHORT_WAITS = Retries(first_wait=0.01, longest_wait=0.05, jitter=0.02)
KEY = AccessKey("AKIDtest", Secret("a-secret-of-tests"), Secret("a-token/of+tests"))
NEXT = AccessKey("AKIDnext", Secret("next-secret"))


@pytest.fixture
def server() -> Iterator[Answers]:
    with answering() as answers:
        answers.say(DONE)
        yield answers


def refuse(code: str, message: str = "No.", **headers: str) -> Answer:
    body = {"Response": {"Error": {"Code": code, "Message": message}, "RequestId": "request-1"}}
    return reply(200, body, **headers)


DONE = reply(200, {"Response": {"Id": "train-1", "RequestId": "request-2"}})


class Keys:
    """Return keys in turn; the last one is repeated."""

    def __init__(self, *keys: AccessKey) -> None:
        self.keys = list(keys)

    async def key(self) -> AccessKey:
        return self.keys[0]

    def drop(self, key: AccessKey) -> None:
        if len(self.keys) > 1:
            self.keys.pop(0)


async def public() -> str:
    return "public"


def api_of(server: Answers, *keys: AccessKey, **options: Any) -> TencentApi:
    known = Keys(*(keys or (KEY,)))
    return TencentApi("ap-guangzhou", known.key, known.drop, public, endpoint=server.url, **options)


def call(server: Answers, *keys: AccessKey, repeat: bool = True) -> dict[str, Any]:
    api = api_of(server, *keys)
    return run(lambda: api.call(TIONE, "CreateTrainingTask", {"Name": "训练"}, repeat=repeat, retries=SHORT_WAITS))


# Requests.


def test_request_has_the_headers_of_the_api(server: Answers) -> None:
    assert call(server) == {"Id": "train-1", "RequestId": "request-2"}
    seen = server.seen[0]
    names = ("content-type", "x-tc-action", "x-tc-version", "x-tc-region", "x-tc-language", "x-tc-token")
    assert [seen.headers[name] for name in names] == [
        "application/json",
        "CreateTrainingTask",
        "2021-11-11",
        "ap-guangzhou",
        "en-US",
        "a-token/of+tests",
    ]
    assert (seen.method, seen.path, json.loads(seen.body)) == ("POST", "/", {"Name": "训练"})
    assert seen.headers["authorization"] == authorization(
        KEY, "tione", int(seen.headers["x-tc-timestamp"]), seen.headers["host"], "application/json", seen.body
    )


def test_other_service_has_its_own_scope_and_version(server: Answers) -> None:
    run(lambda: api_of(server).call(STS, "GetCallerIdentity"))
    headers = server.seen[0].headers
    assert (headers["x-tc-version"], server.seen[0].body) == ("2018-08-13", b"{}")
    assert "/sts/tc3_request" in headers["authorization"]


def test_messages_are_in_the_language_of_the_user(server: Answers) -> None:
    with use_language("zh-CN"):
        call(server)
    assert server.seen[0].headers["x-tc-language"] == "zh-CN"


def test_absent_fields_are_omitted(server: Answers) -> None:
    body = {"Name": "a", "VpcId": None, "Envs": [{"Name": "A", "Value": None}, {"Name": "B", "Value": ""}], "N": 0}
    run(lambda: api_of(server).call(TIONE, "CreateTrainingTask", body))
    assert json.loads(server.seen[0].body) == {"Name": "a", "Envs": [{"Name": "A"}, {"Name": "B", "Value": ""}], "N": 0}


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "text/html", "text/plain"])
def test_content_type_of_a_reply_does_not_count(server: Answers, kind: str) -> None:
    server.say(reply(200, {"Response": {"Id": "train-1", "DeprecatedWarning": "old"}}, content_type=kind))
    assert call(server)["Id"] == "train-1"
    server.say(refuse("UnauthorizedOperation", content_type=kind))
    with pytest.raises(PermissionDenied):
        call(server)


# Faults.


@pytest.mark.parametrize(
    "fault",
    [
        refuse("RequestLimitExceeded"),
        refuse("RequestLimitExceeded.UinLimitExceeded"),
        refuse("InternalError"),
        refuse("FailedOperation.Processing"),
        refuse("FailedOperation.ClusterQueryFailed"),
        reply(502, "<html>bad gateway</html>"),
        reply(429, ""),
        reset,
        cut,
        reply(200, '{"Response": {"Id": "tr'),
        reply(200, '{"Response": null}'),
        reply(200, "<html>Please log in</html>"),
    ],
    ids="limit uin internal processing cluster 502 429 reset cut half null html".split(),
)
def test_idempotent_call_is_retried(server: Answers, fault: Answer) -> None:
    server.say(fault, fault, DONE)
    assert call(server)["Id"] == "train-1"
    assert len(server.seen) == 3


@pytest.mark.parametrize(
    "fault",
    [refuse("InternalError"), reply(502, ""), reset, cut, reply(200, '{"Response": {"Id": "tr')],
    ids="internal 502 reset cut half".split(),
)
def test_creating_call_is_not_retried(server: Answers, fault: Answer) -> None:
    server.say(fault, DONE)
    with pytest.raises(ReplyLost, match="may have executed"):
        call(server, repeat=False)
    assert len(server.seen) == 1


def test_throttled_call_is_always_retried(server: Answers) -> None:
    server.say(refuse("RequestLimitExceeded"), DONE)
    assert call(server, repeat=False)["Id"] == "train-1"


def test_endless_faults_end_after_a_few_attempts(server: Answers) -> None:
    for fault, kind in ((refuse("RequestLimitExceeded"), Throttled), (refuse("InternalError"), BackendError)):
        server.seen.clear()
        server.say(fault)
        with pytest.raises(kind, match=r"request-1"):
            call(server)
        assert 3 <= len(server.seen) <= 10
    server.say(reply(200, "<html>Please log in</html>"))
    with pytest.raises(Unreachable, match="incomplete"):
        call(server)


def test_refusal_is_raised_at_once_with_its_details(server: Answers) -> None:
    server.say(refuse("OperationDenied.BalanceInsufficient", "余额不足。"))
    with pytest.raises(Exception, match="balance of the account is too low") as caught:
        call(server)
    error: Any = caught.value
    assert error.details == {"code": "OperationDenied.BalanceInsufficient", "request_id": "request-1", "status": 200}
    assert (
        "TI-ONE CreateTrainingTask: 余额不足 (OperationDenied.BalanceInsufficient, request request-1)" in error.message
    )
    assert len(server.seen) == 1


# Keys and clock.


@pytest.mark.parametrize("code", ["AuthFailure.TokenFailure", "AuthFailure.SecretIdNotFound"])
def test_ended_key_is_fetched_again(server: Answers, code: str) -> None:
    server.say(refuse(code), DONE)
    assert call(server, KEY, NEXT, repeat=False)["Id"] == "train-1"
    keys = [seen.headers["authorization"].split("Credential=")[1].split("/")[0] for seen in server.seen]
    assert keys == ["AKIDtest", "AKIDnext"]
    assert "x-tc-token" not in server.seen[1].headers


def test_wrong_key_is_tried_once(server: Answers) -> None:
    server.say(refuse("AuthFailure.SignatureFailure", "The provided credentials could not be validated."))
    with pytest.raises(CredentialsError, match="does not belong to the SecretId") as caught:
        call(server)
    assert "TENCENTCLOUD_SECRET_ID" in caught.value.fix
    assert len(server.seen) == 1


@pytest.mark.parametrize(("minutes", "word"), [(20, "20 minutes slow"), (-20, "20 minutes fast")])
@pytest.mark.parametrize("code", ["AuthFailure.SignatureExpire", "AuthFailure.SignatureFailure"])
def test_wrong_clock_is_reported(server: Answers, minutes: int, word: str, code: str) -> None:
    theirs = format_datetime(datetime.now(UTC) + timedelta(minutes=minutes), usegmt=True)
    server.say(refuse(code, date=theirs))
    with pytest.raises(ClockError, match=word) as caught:
        call(server)
    assert abs(float(str(caught.value.details["seconds"])) + minutes * 60) < 30
    assert len(server.seen) == 1


def test_expired_signature_means_the_clock_whatever_the_date(server: Answers) -> None:
    server.say(refuse("AuthFailure.SignatureExpire"))
    with pytest.raises(ClockError, match="more than five minutes"):
        call(server)


def test_errors_and_logs_contain_no_key(server: Answers, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    quoted = "x-tc-token:a-token/of+tests a-token%2Fof%2Btests key a-secret-of-tests"
    server.say(reset, refuse("InternalError", quoted), refuse("AuthFailure.TokenFailure", quoted))
    with pytest.raises(CredentialsError) as caught:
        call(server)
    report = (
        f"{caught.value} {caught.value.as_json()} {''.join(traceback.format_exception(caught.value))} {caplog.text}"
    )
    assert "x-tc-token:***" in report
    assert not [word for word in ("of+tests", "of%2Btests", "a-secret-of-tests") if word in report]


# Actions that the platform need not offer.


@pytest.mark.parametrize("code", ["InvalidAction", "ActionOffline", "UnsupportedOperation"])
def test_action_that_is_not_offered_is_asked_for_once_a_day(server: Answers, code: str) -> None:
    now = [0.0]
    api = api_of(server, clock=lambda: now[0])

    async def ask(action: str = "DescribeTrainingFrameworks") -> dict[str, Any] | None:
        return await api.extra(TIONE, action)

    async def work() -> None:
        server.say(refuse(code), DONE)
        assert [await ask(), await ask()] == [None, None]
        assert len(server.seen) == 1
        assert await ask("DescribeTrainingMetrics")
        now[0] = 86_399
        assert await ask() is None
        now[0] = 86_401
        assert await ask()

    run(work)
    server.say(refuse(code))
    with pytest.raises(Unsupported, match="does not offer"):
        call(server)


def test_other_error_of_an_extra_action_is_raised_and_not_kept(server: Answers) -> None:
    api = api_of(server)

    async def work() -> None:
        server.say(refuse("UnauthorizedOperation"), DONE)
        with pytest.raises(PermissionDenied):
            await api.extra(TIONE, "DescribeTrainingFrameworks")
        assert await api.extra(TIONE, "DescribeTrainingFrameworks")

    run(work)


# Rate.


def test_each_action_has_a_rate_limit_of_its_own(server: Answers) -> None:
    async def work(loop: StoppedClock) -> None:
        waiting = {asyncio.ensure_future(api_of(server).call(TIONE, "DescribeTrainingTasks")) for _n in range(30)}
        # A burst of ten, then ten a second.
        for expected in (10, 20, 30):
            while len(waiting) > 30 - expected:
                _done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            await api_of(server).call(TIONE, "DescribeLogs")
            listed = [seen for seen in server.seen if seen.headers["x-tc-action"] == "DescribeTrainingTasks"]
            assert len(listed) == expected
            loop.now += 1
        await transport.close()

    with asyncio.Runner(loop_factory=StoppedClock) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, StoppedClock)
        runner.run(work(loop))
