"""Calls are retried if that is safe, and every error has a fix."""

from __future__ import annotations

import asyncio
import logging
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from jupyter_pai.cloud import http as transport
from jupyter_pai.cloud.alibaba.openapi import STUDIO, OpenApi
from jupyter_pai.cloud.http import Retries, is_proxied
from jupyter_pai.cloud.keys import AccessKey
from jupyter_pai.core.errors import (
    BackendError,
    BucketError,
    ClockError,
    Conflict,
    CredentialsError,
    ImageError,
    NotFound,
    PaiError,
    PermissionDenied,
    QuotaExceeded,
    Refused,
    RegionError,
    ReplyLost,
    SoldOut,
    Throttled,
    Unreachable,
)
from jupyter_pai.core.secret import Secret

from ...fakes.scripted_server import Answer, Answers, answering, cut, refuse, reply, reset, silence

SHORT_WAITS = Retries(first_wait=0.01, longest_wait=0.05, jitter=0.02)
KEY = AccessKey("testAK", Secret("a-secret-of-tests"), Secret("a-token/of+tests"))


@pytest.fixture
def server() -> Iterator[Answers]:
    with answering() as answers:
        yield answers


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


def api_of(url: str, *keys: AccessKey, region: str = "cn-hangzhou", **options: Any) -> OpenApi:
    known = Keys(*(keys or (KEY,)))
    return OpenApi(region, known.key, known.drop, public, endpoint=url, **options)


def call(
    server: Answers | str, *, repeat: bool = True, retries: Retries = SHORT_WAITS, **options: Any
) -> dict[str, Any]:
    """Create a job by an idempotent (`repeat`) or a non-idempotent call."""
    api = api_of(server if isinstance(server, str) else server.url, **options)

    async def work() -> dict[str, Any]:
        try:
            method = "GET" if repeat else "POST"
            body = None if repeat else {"TrainingJobName": "t"}
            path = "/api/v1/trainingjobs"
            return await api.call(STUDIO, "CreateTrainingJob", method, path, {}, body, repeat=repeat, retries=retries)
        finally:
            await transport.close()

    return asyncio.run(work())


DONE = reply(200, {"TrainingJobId": "train1"})


@pytest.mark.parametrize(
    "fault",
    [
        refuse(500, "InternalError"),
        refuse(503, "ServiceUnavailable"),
        reply(502, "<html>bad gateway</html>"),
        refuse(400, "Throttling.User", x_acs_retry_after="20"),
        refuse(429, "Throttling"),
        refuse(400, "SignatureNonceUsed"),
        reset,
        cut,
        reply(200, '{"TrainingJobId": "tr'),
        reply(200, "<html>Please log in</html>"),
    ],
    ids="500 503 502 throttled 429 nonce reset cut half html".split(),
)
def test_idempotent_call_is_retried_with_a_new_signature(server: Answers, fault: Answer) -> None:
    server.say(fault, fault, DONE)
    assert call(server) == {"TrainingJobId": "train1"}
    assert len(server.seen) == 3
    assert len({seen.headers["x-acs-signature-nonce"] for seen in server.seen}) == 3
    assert len({seen.headers["authorization"] for seen in server.seen}) == 3


@pytest.mark.parametrize(
    "fault",
    [
        refuse(500, "InternalError"),
        refuse(500, "InternalError", x_acs_retry_after="1"),
        reply(503, "<html>no server is available</html>"),
        refuse(400, "SignatureNonceUsed"),
        reset,
        cut,
        reply(200, '{"TrainingJobId": "tr'),
    ],
    ids="500 500-with-a-wait 503-of-a-proxy nonce reset cut half".split(),
)
def test_creating_call_is_not_retried(server: Answers, fault: Answer) -> None:
    server.say(fault, DONE)
    with pytest.raises(ReplyLost, match="may have executed"):
        call(server, repeat=False)
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    "fault",
    [refuse(400, "Throttling.Api"), refuse(503, "Throttling"), refuse(503, "ServiceUnavailable")],
    ids="400 503 unavailable".split(),
)
def test_call_that_was_not_executed_is_always_retried(server: Answers, fault: Answer) -> None:
    server.say(fault, DONE)
    assert call(server, repeat=False) == {"TrainingJobId": "train1"}
    assert server.seen[0].body == server.seen[1].body == b'{"TrainingJobName": "t"}'


def test_endless_throttling_ends_after_a_few_attempts(server: Answers) -> None:
    server.say(refuse(400, "Throttling.User", "Request was denied due to user flow control.", x_acs_retry_after="1"))
    with pytest.raises(Throttled, match="user flow control") as caught:
        call(server)
    assert caught.value.details == {"code": "Throttling.User", "request_id": "request-1", "status": 400}
    assert 3 <= len(server.seen) <= 10


def test_long_retry_after_fails_at_once(server: Answers) -> None:
    server.say(refuse(429, "Throttling", x_acs_retry_after="600000"))
    with pytest.raises(Throttled):
        call(server)
    assert len(server.seen) == 1


@pytest.mark.parametrize("repeat", [True, False])
def test_refused_connection_reports_that_nothing_was_sent(repeat: bool) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    with pytest.raises(Unreachable, match="No response") as caught:
        call(url, repeat=repeat)
    assert type(caught.value) is Unreachable
    assert caught.value.details["sent"] is False


def test_missing_response_times_out(server: Answers) -> None:
    retries = replace(SHORT_WAITS, read_timeout=0.2)
    server.say(silence(server))
    with pytest.raises(ReplyLost):
        call(server, repeat=False, retries=retries)
    with pytest.raises(Unreachable):
        call(server, retries=retries)


def test_trickling_response_times_out(server: Answers) -> None:
    def trickle(handler: Any) -> None:
        handler.send_response(200)
        handler.send_header("content-length", "1000")
        handler.end_headers()
        while not server.released.wait(0.05):
            handler.wfile.write(b" ")

    server.say(trickle, DONE)
    assert call(server, retries=replace(SHORT_WAITS, attempt_timeout=0.3)) == {"TrainingJobId": "train1"}


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (403, "Forbidden", PermissionDenied),
        (403, "Forbidden.RAM", PermissionDenied),
        (400, "NoPermission", PermissionDenied),
        (403, "", PermissionDenied),
        (401, "", CredentialsError),
        (404, "InvalidAccessKeyId.NotFound", CredentialsError),
        (400, "InvalidAccessKeyId.Inactive", CredentialsError),
        (400, "InvalidSecurityToken.Expired", CredentialsError),
        (400, "SignatureDoesNotMatch", CredentialsError),
        (404, "InvalidApi.NotFound", RegionError),
        (400, "InvalidImage", ImageError),
        (404, "ImageNotFound", ImageError),
        (404, "NoSuchBucket", BucketError),
        (400, "TensorboardLimitExceeded", QuotaExceeded),
        (400, "QuotaExceeded.Jobs", QuotaExceeded),
        (400, "InstanceType.SoldOut", SoldOut),
        (404, "TRAINING_JOB_INSTANCE_NOT_FOUND", NotFound),
        (404, "", NotFound),
        (409, "", Conflict),
        (400, "MissingTrainingJobName", Refused),
        (400, "", Refused),
        (307, "", BackendError),
    ],
)
def test_error_codes_map_to_error_classes(server: Answers, status: int, code: str, kind: type[PaiError]) -> None:
    server.say(refuse(status, code, "It is so."))
    with pytest.raises(PaiError, match="It is so") as caught:
        call(server, repeat=False)
    assert type(caught.value) is kind
    assert "PaiStudio CreateTrainingJob" in caught.value.message
    assert "request-1" in caught.value.message
    assert caught.value.details["request_id"] == "request-1"
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    "body",
    [
        {"code": "Forbidden", "message": "You may not.", "requestId": "r7"},
        '<?xml version="1.0"?>'
        "<Error><Code>Forbidden</Code><Message>You may not.</Message><RequestId>r7</RequestId></Error>",
    ],
    ids="small xml".split(),
)
def test_error_body_is_parsed_in_each_spelling(server: Answers, body: object) -> None:
    server.say(reply(403, body))
    with pytest.raises(PermissionDenied, match="You may not") as caught:
        call(server)
    assert caught.value.details == {"code": "Forbidden", "request_id": "r7", "status": 403}


def test_permission_error_names_action_and_principal(server: Answers) -> None:
    denied = {"AuthAction": "pai:CreateTrainingJob", "AuthPrincipalDisplayName": "someone"}
    server.say(reply(403, {"Code": "NoPermission", "Message": "No.", "AccessDeniedDetail": denied}))
    with pytest.raises(PermissionDenied) as caught:
        call(server)
    assert "pai:CreateTrainingJob" in caught.value.fix


@pytest.mark.parametrize(("minutes", "word"), [(20, "20 minutes slow"), (-20, "20 minutes fast")])
@pytest.mark.parametrize("code", ["InvalidTimeStamp.Expired", "SignatureDoesNotMatch"])
def test_wrong_clock_is_reported(server: Answers, minutes: int, word: str, code: str) -> None:
    theirs = format_datetime(datetime.now(UTC) + timedelta(minutes=minutes), usegmt=True)
    server.say(refuse(400, code, date=theirs))
    with pytest.raises(ClockError, match=word) as caught:
        call(server)
    assert abs(float(str(caught.value.details["seconds"])) + minutes * 60) < 30
    assert len(server.seen) == 1


def test_expired_key_is_fetched_again(server: Answers) -> None:
    server.say(refuse(400, "InvalidSecurityToken.Expired"), DONE)
    api = api_of(server.url, KEY, AccessKey("nextAK", Secret("next-secret")))

    async def work() -> dict[str, Any]:
        try:
            return await api.call(STUDIO, "CreateTrainingJob", "POST", "/api/v1/trainingjobs", {}, {}, repeat=False)
        finally:
            await transport.close()

    assert asyncio.run(work()) == {"TrainingJobId": "train1"}
    assert [seen.headers["authorization"].split("Credential=")[1].split(",")[0] for seen in server.seen] == [
        "testAK",
        "nextAK",
    ]


def test_wrong_key_is_tried_once(server: Answers) -> None:
    server.say(refuse(404, "InvalidAccessKeyId.NotFound", "Specified access key is not found."))
    with pytest.raises(CredentialsError, match="not found") as caught:
        call(server)
    assert "aliyun configure" in caught.value.fix
    assert len(server.seen) == 1


def test_errors_and_logs_contain_no_key(server: Answers, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    quoted = "server string to sign is: x-acs-security-token:a-token/of+tests a-token%2Fof%2Btests a-secret-of-tests"
    server.say(reset, refuse(500, "InternalError", quoted), refuse(400, "SignatureDoesNotMatch", quoted))
    with pytest.raises(CredentialsError) as caught:
        call(server)
    frames = "".join(traceback.format_exception(caught.value))
    report = f"{caught.value} {caught.value.as_json()} {frames} {caplog.text}"
    assert "of+tests" not in report
    assert "of%2Btests" not in report
    assert "a-secret-of-tests" not in report
    assert "server string to sign" in report


@pytest.mark.parametrize(
    ("region", "fix"), [("cn-hangzho.inv", "Did you mean `cn-hangzhou`?"), ("x.invalid", "Set the profile's")]
)
def test_unknown_region_is_named(region: str, fix: str) -> None:
    # A name of one label and a dot needs no name server.
    api = api_of("", region=region)
    with pytest.raises(RegionError, match=region) as caught:
        asyncio.run(api.call(STUDIO, "ListTrainingJobs", "GET", "/api/v1/trainingjobs", retries=SHORT_WAITS))
    assert (caught.value.fix or "").startswith(fix)


def test_region_is_not_blamed_for_an_endpoint_or_a_known_name() -> None:
    for endpoint, region in (("http://127.0.0.1:9", "cn-hangzho.inv"), ("http://127.0.0.1:9", "cn-hangzhou")):
        api = api_of(endpoint, region=region)
        with pytest.raises(Unreachable):
            asyncio.run(api.call(STUDIO, "ListTrainingJobs", "GET", "/api/v1/trainingjobs", retries=SHORT_WAITS))


def test_any_page_but_a_gateway_error_is_reachable(server: Answers) -> None:
    async def reachable(url: str) -> bool:
        try:
            return await transport.is_reachable(url)
        finally:
            await transport.close()

    server.say(reply(200, "a page"), reply(403, "log in"), reply(499, ""), reply(500, ""), reply(502, ""))
    assert [asyncio.run(reachable(server.url)) for _ in range(5)] == [True, True, True, False, False]
    assert not asyncio.run(reachable("http://127.0.0.1:9"))
    assert not asyncio.run(reachable("http://[broken"))


class StoppedClock(asyncio.SelectorEventLoop):
    """An event loop whose time a test sets."""

    now = 0.0

    def time(self) -> float:
        return self.now


def test_rate_limit_is_shared_by_all_calls_of_an_account(server: Answers) -> None:
    apis = [api_of(server.url, pace=20), api_of(server.url, pace=20)]

    async def work(loop: StoppedClock) -> None:
        waiting = {
            asyncio.ensure_future(api.call(STUDIO, "ListQuotas", "GET", "/api/v1/quotas/"))
            for api in apis
            for _n in range(30)
        }
        # A burst of twenty is free, then twenty a second.
        for expected in (20, 40, 60):
            while len(waiting) > 60 - expected:
                _done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            await api_of(server.url, account="other").call(STUDIO, "ListImages", "GET", "/api/v1/images")
            assert sum("quotas" in seen.path for seen in server.seen) == expected
            loop.now += 1
        await transport.close()

    with asyncio.Runner(loop_factory=StoppedClock) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, StoppedClock)
        runner.run(work(loop))


def test_query_path_and_body_are_encoded(server: Answers) -> None:
    query = {"Labels": {"k": "v w"}, "Verbose": True, "Ids": ["a", "b"], "Status": None, "PageSize": 10}

    async def work() -> None:
        try:
            await api_of(server.url).call(STUDIO, "ListQuotas", "GET", "/api/v1/quotas/", query)
            await api_of(server.url).call(STUDIO, "GetTrainingJob", "GET", "/api/v1/trainingjobs/a b~ü")
        finally:
            await transport.close()

    asyncio.run(work())
    assert [seen.path for seen in server.seen] == [
        "/api/v1/quotas/?Ids=a%2Cb&Labels=%7B%22k%22%3A%20%22v%20w%22%7D&PageSize=10&Verbose=true",
        "/api/v1/trainingjobs/a%20b~%C3%BC",
    ]
    assert server.seen[0].headers["x-acs-action"] == "ListQuotas"
    assert server.seen[0].headers["x-acs-version"] == "2022-01-12"


def test_proxy_is_used_except_for_this_machine(server: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering() as proxy:
        proxy.say(reply(200, {"by": "proxy"}))
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("http_proxy", proxy.url)
        server.say(reply(200, {"by": "itself"}))
        assert call(server) == {"by": "itself"}
        assert call("http://pai.example.invalid") == {"by": "proxy"}
        assert proxy.seen[0].path.startswith("http://pai.example.invalid/")
        monkeypatch.setenv("no_proxy", ".cluster.invalid, node7")
        hosts = ["pai.example.invalid", "node7:9870", "a.cluster.invalid", "127.0.0.1:1", "[::1]:1", "localhost"]
        assert [host for host in hosts if is_proxied(f"http://{host}")] == ["pai.example.invalid"]


def test_retry_prints_nothing(server: Answers) -> None:
    code = f"""
import asyncio
from tests.unit.cloud.test_http import call
print(call({server.url!r}))
"""
    server.say(refuse(500, "InternalError"), DONE)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == ("{'TrainingJobId': 'train1'}", "")


def test_service_hosts_follow_the_pattern() -> None:
    assert STUDIO.host("cn-hangzhou", "public") == "pai.cn-hangzhou.aliyuncs.com"
    assert STUDIO.host("cn-hangzhou", "vpc") == "pai-vpc.cn-hangzhou.aliyuncs.com"
