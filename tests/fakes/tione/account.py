"""Other services of the account: STS, CAM, billing, VPC, CFS, CLS; and the keys that a machine's role gives."""

from __future__ import annotations

import base64
import json
from typing import Any

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from ..alibaba.keys import Key
from .keys import APP_ID, OWNER, Keys
from .requests import Action, Request, beijing, refuse
from .settings import Settings

__all__ = ["Account"]

_ROLE = f"qcs::cam::uin/{OWNER}:roleName/train"
_METADATA = "/latest/meta-data/cam/security-credentials/"


class Account:
    """The account behind the keys."""

    def __init__(self, keys: Keys, settings: Settings) -> None:
        self._keys, self._settings = keys, settings
        # Seconds that keys of a role live, whatever is asked for; None: as it is asked.
        self.role_seconds: float | None = None

    def actions(self) -> dict[str, Action]:
        """The actions by `service:Action`."""
        return {
            "sts:GetCallerIdentity": self._identity,
            "sts:AssumeRole": self._assume,
            "sts:AssumeRoleWithWebIdentity": self._assume_by_token,
            "cam:GetUserAppId": lambda request: {"Uin": _user(request), "OwnerUin": OWNER, "AppId": int(APP_ID)},
            "billing:DescribeAccountBalance": self._balance,
            "vpc:DescribeVpcs": self._vpcs,
            "vpc:DescribeSubnets": self._subnets,
            "cfs:DescribeCfsFileSystems": self._file_systems,
            "cls:DescribeLogsets": self._logsets,
            "cls:DescribeTopics": self._topics,
        }

    def extras(self) -> dict[str, Action]:
        """The action of TI-ONE that gives a key for passwords of registries."""
        return {"DescribePublicKey": self._public_key}

    def metadata(self, path: str, now: float) -> str | None:
        """Return a page of the machine's metadata: the name of its role, or keys of it."""
        if path == _METADATA:
            return "train"
        if path != f"{_METADATA}train":
            return None
        key = self._keys.sts(self.role_seconds or 7200)
        words = {"TmpSecretId": key.id, "TmpSecretKey": key.secret, "Token": key.token, "Code": "Success"}
        end = int(key.expires or now)
        return json.dumps(words | {"ExpiredTime": end, "Expiration": beijing(end)})

    def _identity(self, request: Request) -> dict[str, Any]:
        arn = f"qcs::cam::uin/{OWNER}:uin/{_user(request)}"
        return {
            "Arn": arn,
            "AccountId": OWNER,
            "UserId": _user(request),
            "PrincipalId": _user(request),
            "Type": "CAMUser",
        }

    def _assume(self, request: Request) -> dict[str, Any]:
        if request.body.get("RoleArn") != _ROLE:
            refuse("ResourceNotFound.RoleNotFound", "The role does not exist.")
        return self._credentials(request)

    def _assume_by_token(self, request: Request) -> dict[str, Any]:
        if request.body.get("RoleArn") != _ROLE or not request.body.get("WebIdentityToken"):
            refuse("InvalidParameter.WebIdentityTokenError", "The role or the token is invalid.")
        return self._credentials(request)

    def _credentials(self, request: Request) -> dict[str, Any]:
        key: Key = self._keys.sts(self.role_seconds or float(request.body.get("DurationSeconds") or 7200))
        end = int(key.expires or request.now)
        words = {"TmpSecretId": key.id, "TmpSecretKey": key.secret, "Token": key.token}
        return {"Credentials": words, "ExpiredTime": end, "Expiration": beijing(end)}

    def _balance(self, _request: Request) -> dict[str, Any]:
        balance = self._settings.balance
        return {
            "Uin": int(OWNER),
            "Balance": balance,
            "RealBalance": float(balance),
            "CashAccountBalance": float(balance),
        }

    def _vpcs(self, _request: Request) -> dict[str, Any]:
        return {"TotalCount": 1, "VpcSet": [{"VpcId": "vpc-standin1", "VpcName": "net", "CidrBlock": "10.0.0.0/16"}]}

    def _subnets(self, _request: Request) -> dict[str, Any]:
        row = {"SubnetId": "subnet-standin", "SubnetName": "nodes", "VpcId": "vpc-standin1", "CidrBlock": "10.0.1.0/24"}
        return {"TotalCount": 1, "SubnetSet": [row]}

    def _file_systems(self, _request: Request) -> dict[str, Any]:
        keys = [key for key in self._settings.file_systems if key.startswith("cfs-")]
        rows = [{"FileSystemId": key, "FsName": key, "LifeCycleState": "available"} for key in keys]
        return {"TotalCount": len(rows), "FileSystems": rows}

    def _logsets(self, _request: Request) -> dict[str, Any]:
        return {"TotalCount": 1, "Logsets": [{"LogsetId": "logset-1", "LogsetName": "training"}]}

    def _topics(self, _request: Request) -> dict[str, Any]:
        return {"TotalCount": 1, "Topics": [{"TopicId": "topic-1", "TopicName": "tasks", "LogsetId": "logset-1"}]}

    def _public_key(self, _request: Request) -> dict[str, Any]:
        key = rsa.generate_private_key(65537, 2048).public_key()
        text = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        return {"KeyId": "key-1", "PublicKey": base64.b64encode(text).decode()}


def _user(request: Request) -> str:
    return request.key.user_id if request.key else OWNER
