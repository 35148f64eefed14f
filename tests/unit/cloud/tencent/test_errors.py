"""Each error code that a user can meet has a class, a sentence and a fix."""

from __future__ import annotations

import httpx
import pytest
from tencentcloud.tione.v20211111 import errorcodes

from jupyter_pai.cloud.keys import AccessKey
from jupyter_pai.cloud.tencent.error_table import meaning_of
from jupyter_pai.cloud.tencent.errors import error_of, read_refusal
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
    SoldOut,
    Throttled,
    Unsupported,
)
from jupyter_pai.core.i18n import Message, translated, use_language
from jupyter_pai.core.secret import Secret

CODES: dict[type[PaiError], str] = {
    Throttled: """RequestLimitExceeded RequestLimitExceeded.UinLimitExceeded RequestLimitExceeded.IPLimitExceeded
        RequestLimitExceeded.GlobalRegionUinLimitExceeded SlowDown""",
    BackendError: """InternalError ServiceUnavailable FailedOperation.Processing FailedOperation.ApiGatewayQueryFailed
        FailedOperation.ClusterQueryFailed FailedOperation.QueryDatabaseFail InternalError.QueryVPC
        FailedOperation.NewToday ResponseSizeLimitExceeded OperationDenied.BillingException""",
    CredentialsError: """AuthFailure AuthFailure.SecretIdNotFound AuthFailure.InvalidSecretId
        AuthFailure.SignatureFailure AuthFailure.TokenFailure AuthFailure.MFAFailure AuthFailure.InvalidAuthorization
        AuthFailure.CamException InvalidAccessKeyId SignatureDoesNotMatch ExpiredToken""",
    ClockError: "AuthFailure.SignatureExpire AuthFailure.SignatureExpired RequestTimeTooSkewed",
    PermissionDenied: """UnauthorizedOperation UnauthorizedOperation.NoPermission UnauthorizedOperation.CamNoAuth
        AuthFailure.UnauthorizedOperation AuthFailure.NoPermission FailedOperation.NoPermission
        FailedOperation.UnauthorizedOperation OperationDenied.UnauthorizedOperation IpNotInWhitelist AccessDenied
        InvalidParameterValue.FSPathInaccessible""",
    QuotaExceeded: """OperationDenied.BalanceInsufficient FailedOperation.FreezeBillFailed LimitExceeded
        OperationDenied.ResourceGroupInsufficient ResourceInsufficient.QuotaInsufficient
        OperationDenied.WhitelistQuotaExceed FailedOperation.InsufficientWhitelistQuota""",
    SoldOut: "OperationDenied.BillingStatusResourceInsufficient ResourceInsufficient ResourcesSoldOut",
    Conflict: """FailedOperation.DuplicateName FailedOperation.DuplicateNameTaskIsCreating OperationDenied.NotAllow
        InvalidParameterValue.DuplicateName FailedOperation.UnSubmitNotAllowToStop OperationDenied
        InternalError.UnSubmittedStatusNotAllowStop FailedOperation.ContextLimitError FailedOperation.CLSSizeExceed""",
    NotFound: """FailedOperation.RecordNotFound ResourceNotFound ResourceNotFound.NoModel
        InvalidParameterValue.CosPathNotExist ResourceNotFound.ResourceGroupNotFound ResourceNotFound.CfsNotFound
        InternalError.CFSNotFound InvalidParameterValue.DatasetNotExist NoSuchKey""",
    ImageError: """InvalidParameterValue.ImageNotFound InvalidParameterValue.ImageIllegal
        InvalidParameterValue.FrameworkVersionNotSupport""",
    BucketError: "NoSuchBucket PathStyleDomainForbidden",
    RegionError: "UnsupportedRegion",
    Unsupported: "InvalidAction ActionOffline UnsupportedOperation",
    Refused: """InvalidParameterValue.BadName InvalidParameterValue.InvalidResourceSpec
        InvalidParameterValue.ResourceConfigIllegal InvalidParameterValue.DataConfigNumLimitExceeded
        InvalidParameterValue.RDMAConfigIllegal InvalidParameterValue.SubnetNotFound ResourceNotFound.VPCNotFound
        InvalidParameterValue.ClsConfigRequired InvalidParameterValue.CodeRepoNotFound MissingParameter
        InvalidParameterValue.ParamLengthExceedLimit InternalError.ValidateCreateTaskFailed UnknownParameter
        FailedOperation.ClsServiceNotActived InvalidParameter InvalidParameterValue RequestSizeLimitExceeded
        NoSuchVersion""",
}


@pytest.mark.parametrize(("kind", "code"), [(kind, code) for kind, codes in CODES.items() for code in codes.split()])
def test_code_has_a_class_a_sentence_and_a_fix(kind: type[PaiError], code: str) -> None:
    error = error_of(code, "It is so.", what="TI-ONE CreateTrainingTask", request_id="r7")
    assert type(error) is kind
    assert error.message.endswith(f" TI-ONE CreateTrainingTask: It is so ({code}, request r7).")
    assert not error.message.startswith("TI-ONE")
    assert error.fix


def test_all_codes_of_the_official_client_are_explained() -> None:
    codes = [value for name, value in vars(errorcodes).items() if name.isupper()]
    assert len(codes) > 100
    assert [code for code in codes if not (meaning_of(code, 200).text and meaning_of(code, 200).fix)] == []


def test_only_codes_of_the_platform_itself_are_retried() -> None:
    codes = [code for codes in CODES.values() for code in codes.split()]
    again = {code for code in codes if meaning_of(code, 200).not_executed}
    assert again == {*CODES[Throttled].split()}
    unclear = {meaning_of(code, 200).kind for code in codes if meaning_of(code, 200).unclear}
    assert unclear == {BackendError}
    assert not meaning_of("FailedOperation.NewToday", 200).unclear


def test_unknown_code_is_shown_unchanged() -> None:
    error = error_of("Strange.New", "Why\n not。", what="TI-ONE X", request_id="r7")
    assert (type(error), str(error)) == (Refused, "TI-ONE X: Why not (Strange.New, request r7).")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (302, BackendError),
        (400, Refused),
        (401, CredentialsError),
        (403, PermissionDenied),
        (404, NotFound),
        (413, Refused),
        (429, Throttled),
        (500, BackendError),
        (502, BackendError),
    ],
)
def test_status_of_a_gateway_or_of_a_reply_without_body_counts(status: int, kind: type[PaiError]) -> None:
    key = AccessKey("AKID", Secret("hush"))
    refusal = read_refusal(httpx.Response(status, content=b"<html>hush</html>"), "TI-ONE X", key)
    assert refusal
    assert type(refusal.error) is kind
    assert f"HTTP {status}" in refusal.error.message


def test_permission_error_names_the_action() -> None:
    message = (
        "[request id:7bdd]you are not authorized to perform operation (tione:CreateTrainingTask)\n"
        "resource (qcs::tione:ap-guangzhou:uin/1:*) has no permission\n"
    )
    error = error_of("UnauthorizedOperation", message, what="TI-ONE CreateTrainingTask")
    assert error.details["action"] == "tione:CreateTrainingTask"
    assert "CAM action `tione:CreateTrainingTask`" in error.fix
    assert "\n" not in error.message


def test_sentence_stays_translatable() -> None:
    error = error_of("ResourcesSoldOut", "No.", what="TI-ONE X")
    with use_language("zh-CN"):
        assert isinstance(error.message, Message)
        assert translated(error.message).endswith("TI-ONE X: No (ResourcesSoldOut).")
