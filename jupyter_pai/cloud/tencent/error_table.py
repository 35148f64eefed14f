"""The meanings of the error codes of Tencent Cloud's gateway, TI-ONE and COS.

The codes are those of the services' documentation and of the official client.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...core.errors import (
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
from ...core.i18n import N_

__all__ = ["Meaning", "meaning_of"]

_KEYS_FIX = N_(
    "Check the keys: `%pai profile login NAME`, TENCENTCLOUD_SECRET_ID and TENCENTCLOUD_SECRET_KEY, or "
    "`~/.tencentcloud/credentials`; then `%pai doctor`."
)
_GRANT_FIX = N_("Ask an administrator of the account for the permission. `%pai doctor` shows what the keys may do.")
_IMAGE_FIX = N_("List available images: `%pai images`")
_TYPE_FIX = N_("List instance types: `%pai instances`")
_NETWORK_FIX = N_("Name a VPC and one of its subnets in the region of the profile.")
_PATH_FIX = N_("Check the path. A folder in COS ends with `/`, and the bucket's name with the APPID.")
_LATER_FIX = N_("Try again in a few minutes. If it fails again, give Tencent Cloud's support the request id.")
_FIELDS_FIX = N_("Check the field that the platform names.")


@dataclass(frozen=True)
class Meaning:
    """The class, sentence and fix for a code; both may be empty.

    `not_executed` and `unclear`: as in `Refusal`.
    """

    kind: type[PaiError]
    text: str = ""
    fix: str = ""
    not_executed: bool = False
    unclear: bool = False


# The first pattern that matches the whole code counts.
_TABLE: list[tuple[str, Meaning]] = [
    # Rates and failures.
    (
        r"RequestLimitExceeded(\..+)?|SlowDown",
        Meaning(
            Throttled, N_("The platform limits the rate of requests."), N_("Try again in a minute."), not_executed=True
        ),
    ),
    (
        r"InternalError|ServiceUnavailable"
        r"|FailedOperation\.(Processing|ApiGatewayQueryFailed|ClusterQueryFailed|StsQueryFailed)",
        Meaning(BackendError, N_("The platform is busy, or has failed."), _LATER_FIX, unclear=True),
    ),
    # Clock and keys.
    (
        r"AuthFailure\.SignatureExpired?|RequestTimeTooSkewed|RequestIsExpired",
        Meaning(
            ClockError,
            N_("The clock of this machine differs from the platform's by more than five minutes."),
            N_("Set the clock of this machine, for example by NTP."),
        ),
    ),
    (
        r"AuthFailure\.(SecretIdNotFound|InvalidSecretId)|InvalidAccessKeyId|InvalidSecretId",
        Meaning(CredentialsError, N_("The SecretId does not exist, or is disabled."), _KEYS_FIX),
    ),
    (
        r"AuthFailure\.(SignatureFailure|InvalidAuthorization)|SignatureDoesNotMatch",
        Meaning(CredentialsError, N_("The SecretKey does not belong to the SecretId."), _KEYS_FIX),
    ),
    (
        r"AuthFailure\.TokenFailure|FailedOperation\.InvalidAuthToken|ExpiredToken|InvalidToken|InvalidSecurityToken",
        Meaning(CredentialsError, N_("The token of the temporary keys is invalid, or has ended."), _KEYS_FIX),
    ),
    (
        r"AuthFailure\.MFAFailure",
        Meaning(
            CredentialsError,
            N_("The account requires multi-factor authentication for this action."),
            N_("Use keys of a sub-user or role without it, or ask an administrator of the account."),
        ),
    ),
    # Permission.
    (
        r"IpNotInWhitelist",
        Meaning(
            PermissionDenied,
            N_("The account does not accept requests from the address of this machine."),
            N_("Ask an administrator of the account to add the address to the list of allowed ones."),
        ),
    ),
    (
        r"InvalidParameterValue\.FSPathInaccessible|InternalError\.CheckFSPathAccessibilityFailed",
        Meaning(PermissionDenied, N_("The account may not use this path of the file system."), _GRANT_FIX),
    ),
    (
        r"(.+\.)?(UnauthorizedOperation|NoPermission)|UnauthorizedOperation\..+|AccessDenied|Forbidden",
        Meaning(PermissionDenied, N_("The account lacks a permission."), _GRANT_FIX),
    ),
    (
        r"InternalError\.CreateTcrInstanceTokenFailed",
        Meaning(ImageError, N_("The platform cannot log in to the registry of the image."), _GRANT_FIX),
    ),
    (r"AuthFailure(\..+)?", Meaning(CredentialsError, N_("The platform does not accept the keys."), _KEYS_FIX)),
    # Money and capacity.
    (
        r"OperationDenied\.(MIYING)?BalanceInsufficient|FailedOperation\.FreezeBillFailed",
        Meaning(
            QuotaExceeded,
            N_("The balance of the account is too low."),
            N_("Top up the account in the billing center of the console, or use a resource group."),
        ),
    ),
    (
        r"OperationDenied\.BillingStatusResourceInsufficient|ResourcesSoldOut|ResourceInsufficient|ResourceUnavailable",
        Meaning(
            SoldOut,
            N_("The instance type is sold out in this region."),
            N_("Use another instance type (`%pai instances`) or a resource group, or try again later."),
        ),
    ),
    (
        r"OperationDenied\.(ResourceGroupInsufficient|TAIJIApplicationGroupInsufficient)",
        Meaning(
            QuotaExceeded,
            N_("The resource group has too few free resources."),
            N_("Request less, use another resource group (`%pai instances`), or wait until jobs in it have ended."),
        ),
    ),
    (
        r"ResourceInsufficient\.SSHPortIsConsumedUp",
        Meaning(QuotaExceeded, N_("No port for SSH is left."), N_("Submit without SSH, or try again later.")),
    ),
    (
        r"ResourceInsufficient\.QuotaInsufficient|LimitExceeded|.*Whitelist(Free)?Quota.*"
        r"|InvalidParameterValue\.(LimitExceeded|DatasetNumLimitExceeded)",
        Meaning(
            QuotaExceeded,
            N_("A limit of the account or of the resource group is reached."),
            N_("Stop unused jobs, or request a higher quota."),
        ),
    ),
    (
        r"(OperationDenied|FailedOperation|InternalError)\.(BillingException|Query(Price|Specs|ResourceSpec)Failed"
        r"|CheckBillingWhiteListFailed)",
        Meaning(BackendError, N_("The billing service of the platform has failed."), _LATER_FIX, unclear=True),
    ),
    # Names, images, machines.
    (
        r".+\.(DuplicateName|DuplicateNameTaskIsCreating|DCDatasetNameExist)",
        Meaning(Conflict, N_("The name is taken."), N_("Use another name.")),
    ),
    (
        r".+\.BadName",
        Meaning(
            Refused,
            N_("The name is invalid."),
            N_("Use at most 60 letters, digits, `_` and `-`, and begin with a letter or a digit."),
        ),
    ),
    (
        r".+\.FrameworkVersionNotSupport",
        Meaning(ImageError, N_("The platform does not have this framework in this version."), _IMAGE_FIX),
    ),
    (
        r".+\.(ImageNotFound|ImageIllegal|ImageAddressIllegal|InvalidImageName)",
        Meaning(ImageError, N_("The image does not exist, or cannot be used."), _IMAGE_FIX),
    ),
    (
        r".+\.(InvalidResourceSpec|UnknownInstanceType|BillingStatusNotSupportWhitelistGPUType)",
        Meaning(Refused, N_("The instance type does not exist, or the account may not use it."), _TYPE_FIX),
    ),
    (
        r".+\.ResourceGroupNotFound",
        Meaning(NotFound, N_("The resource group does not exist."), N_("List resource groups: `%pai instances`")),
    ),
    (
        r".+\.NotSupportCustomResource",
        Meaning(
            Refused,
            N_("The resource group takes only jobs with GPUs."),
            N_("Request a GPU, or use another resource group."),
        ),
    ),
    (
        r".+\.(ResourceConfigIllegal|TAIJIResourceConfigIllegal|RDMAConfigIllegal)",
        Meaning(
            Refused,
            N_("The requested resources do not fit together."),
            N_("Check CPU, memory, GPU and RDMA of each role. A pay-as-you-go job has an instance type instead."),
        ),
    ),
    (
        r".+\.BackOffLimit(Illegal|NotSupport)",
        Meaning(Refused, N_("The platform does not restart this job as often as requested."), _FIELDS_FIX),
    ),
    # Paths and data.
    (
        r"NoSuchBucket|InvalidBucketName|PathStyleDomainForbidden|PermanentRedirect|TemporaryRedirect",
        Meaning(
            BucketError,
            N_("The bucket does not exist, or is in another region."),
            N_("Check the profile's `bucket` and `region`. The name of a bucket ends with the APPID."),
        ),
    ),
    (
        r".+\.(CosPathNotExist|DCCosPathInfo)|NoSuchKey|NoSuchResource|NoSuchUpload",
        Meaning(NotFound, N_("The path in COS does not exist."), _PATH_FIX),
    ),
    (
        r"FileAlreadyExists",
        Meaning(Conflict, N_("An object of this name exists in COS."), N_("Choose another name, or overwrite it.")),
    ),
    (
        r"InvalidObjectState",
        Meaning(Conflict, N_("The object in COS is archived."), N_("Restore it first in the console of COS.")),
    ),
    (r".+\.(PathIllegal|CfsPathCollision)", Meaning(Refused, N_("The path is invalid."), _PATH_FIX)),
    (
        r".+\.(CFSNotFound|CfsNotFound|GetCFSMountIPFailed|GetCFSFileSystemsFailed|GetCFSMountInfoFailed|GooseFSNotExist"
        r"|GetGooseFSFailed|GooseFSConfigCannotEmpty|UnsupportedGooseFSConfig|QueryHDFSInfoFailed)",
        Meaning(
            NotFound,
            N_("The file system does not exist, or cannot be mounted."),
            N_("Check its id. It must be in the region of the profile and in the VPC of the job."),
        ),
    ),
    (
        r".+\.(DatasetNotExist|DCDatasetIdNotExist)",
        Meaning(NotFound, N_("The dataset does not exist."), N_("Check its id in the console.")),
    ),
    (
        r".+\.DataConfigNumLimitExceeded",
        Meaning(Refused, N_("The job has too many inputs."), N_("Use at most ten. One input can be a folder of many.")),
    ),
    (
        r".+\.UnsupportedDataConfig",
        Meaning(
            Refused,
            N_("The resource group does not take this kind of input."),
            N_("Use another kind of input or another resource group."),
        ),
    ),
    (
        r".+\.CodeRepo(NotFound|Duplicated)",
        Meaning(Refused, N_("A code repository does not exist, or is named twice."), _FIELDS_FIX),
    ),
    # Network.
    (
        r".+\.(VPCNotFound|SubnetNotFound|SubnetIllegal|IpIllegal|NetworkCidrIllegal|QueryVPCInfoFailed"
        r"|QuerySubnetInfoFailed|CcnHasNoAttachedVpc)",
        Meaning(Refused, N_("The VPC or the subnet does not exist, or cannot be used."), _NETWORK_FIX),
    ),
    # Logs.
    (
        r".+\.(CLSSizeExceed|ContextLimitError)",
        Meaning(Conflict, N_("The platform does not return so many log lines at once."), N_("Name a shorter time.")),
    ),
    (
        r".+\.(ClsServiceNotActived|ClsConfigRequired|TopicNotFound)",
        Meaning(
            Refused,
            N_("The log service CLS is not activated, or its log set or topic does not exist."),
            N_("Activate CLS in the console, and name a log set and a topic of the region, or submit without them."),
        ),
    ),
    # States.
    (
        r".+\.(UnSubmitNotAllowToStop|UnSubmittedStatusNotAllowStop)",
        Meaning(
            Conflict,
            N_("The platform is still submitting the task, which cannot be stopped before."),
            N_("Try again in a minute."),
        ),
    ),
    (
        r".+\.(RecordNotFound|NoModel)|ResourceNotFound(\..+)?|NotFound",
        Meaning(NotFound, N_("It does not exist in this region and workspace."), N_("Check the id and the profile.")),
    ),
    (
        r".+\.NotAllow|ResourceInUse|.+\.RepoBindByInstance",
        Meaning(Conflict, N_("Its state does not allow this."), N_("Try again when its state has changed.")),
    ),
    # Calls.
    (
        r"InvalidAction|ActionOffline|UnsupportedOperation",
        Meaning(
            Unsupported,
            N_("The platform does not offer this action to the account."),
            N_("Use the console of the platform."),
        ),
    ),
    (
        r"NoSuchVersion|NoSuchProduct|UnsupportedProtocol",
        Meaning(Refused, N_("The host does not offer the service."), N_("Check the profile's `endpoint`.")),
    ),
    (
        r"UnsupportedRegion",
        Meaning(
            RegionError,
            N_("The service is not available in this region."),
            N_("Change the profile's `region`, for example to ap-guangzhou, ap-shanghai, ap-beijing or ap-nanjing."),
        ),
    ),
    (
        r"RequestSizeLimitExceeded|InvalidParameterValue\.ParamLengthExceedLimit",
        Meaning(
            Refused,
            N_("The request is larger than the platform accepts."),
            N_("Shorten the command, the hyperparameters and the descriptions."),
        ),
    ),
    (
        r"ResponseSizeLimitExceeded",
        Meaning(BackendError, N_("The reply would be larger than the platform sends."), N_("Request fewer items.")),
    ),
    (
        r"(InvalidParameter|InvalidParameterValue|MissingParameter|UnknownParameter)(\..+)?"
        r"|InternalError\.ValidateCreateTaskFailed",
        Meaning(Refused, N_("The platform does not accept a value."), _FIELDS_FIX),
    ),
    (
        r"OperationDenied(\..+)?",
        Meaning(Conflict, N_("The platform does not allow this now."), N_("Try again later, or use the console.")),
    ),
    (
        r"FailedOperation\.(\w*Query\w*Fail(ed)?|ExecDatabaseFail|CallClusterFail|CAMFailure)|InternalError\..+",
        Meaning(BackendError, N_("A part of the platform has failed."), _LATER_FIX, unclear=True),
    ),
    (r"FailedOperation(\..+)?", Meaning(BackendError, N_("The platform has failed."), _LATER_FIX)),
]
_STATUSES = {
    401: "AuthFailure",
    403: "UnauthorizedOperation",
    404: "ResourceNotFound",
    413: "RequestSizeLimitExceeded",
    429: "RequestLimitExceeded",
}


def meaning_of(code: str, status: int) -> Meaning:
    """Return what an error code means; for an empty one, what the HTTP status means."""
    code = code or _STATUSES.get(status, "")
    for pattern, meaning in _TABLE:
        if re.fullmatch(pattern, code):
            return meaning
    return Meaning(BackendError if status >= 500 or (not code and status < 400) else Refused)
