"""Settings, credentials and options of the OpenPAI backend."""

from __future__ import annotations

import os
import re
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from ...cloud.hadoop import HdfsSettings
from ...config.settings import IMPORTANT, picked_from
from ...core.i18n import N_, _
from ...jobs.spec import SIZE
from ..kept_files import KeptFilesSettings

__all__ = ["Completion", "OpenPaiCredentials", "OpenPaiLogin", "OpenPaiOptions", "OpenPaiSettings"]

_ENDPOINT = re.compile(
    r"(?:https?://)?(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>\d{1,5}))?(?:/[\w./~-]*)?", re.IGNORECASE
)
# What a browser's address of a page of the portal has after the portal's, or that of the API.
_PAGE = re.compile(r"/([\w-]+\.html([?#].*)?|rest-server(/api(/.*)?)?)$")


class OpenPaiSettings(KeptFilesSettings, HdfsSettings):
    """Settings of an OpenPAI profile. The address is enough."""

    model_config = ConfigDict(defer_build=True)

    endpoint: str = Field(
        title=N_("Address"),
        description=N_("Address of the cluster's portal, such as openpai.example.com. Tried by HTTPS first."),
        json_schema_extra=IMPORTANT,
    )
    allow_http: bool = Field(
        False,
        title=N_("Allow HTTP"),
        description=N_(
            "Send passwords and tokens over http://, where others on the network can read them. Only for an address "
            "that is written with http://."
        ),
    )
    username: str = Field(
        "", title=N_("User"), description=N_("User whose jobs are listed. Default: that of the login.")
    )
    virtual_cluster: str = Field(
        "",
        title=N_("Virtual cluster"),
        description=N_("Virtual cluster of jobs that do not set one. Default: `default`."),
        json_schema_extra=picked_from("virtual_clusters"),
    )
    sku: str = Field(
        "",
        title=N_("SKU"),
        description=N_("Kind of machine of jobs that do not set an instance type, on clusters with HiveD."),
        json_schema_extra=picked_from("instance_types"),
    )
    storage: str = Field(
        "",
        title=N_("Storage"),
        description=N_("Storage of the cluster for code, inputs and outputs. It needs an entry in `mounts`."),
        json_schema_extra=picked_from("storages"),
    )
    mounts: dict[str, str] = Field(
        {},
        title=N_("Mounted storages"),
        description=N_("Storages of the cluster that are mounted on this machine: name to local folder."),
    )
    max_run_time: int | None = Field(
        None,
        gt=0,
        title=N_("Maximum run time"),
        description=N_("Seconds after which a job is stopped. Default: no limit."),
    )
    requests_per_second: float = Field(
        8,
        gt=0,
        title=N_("Requests per second"),
        description=N_("Maximum request rate, of which a tenth are lists of jobs. The cluster accepts 10 by default."),
    )

    @field_validator("endpoint")
    @classmethod
    def _check_endpoint(cls, value: str) -> str:
        text = _PAGE.sub("", value.strip()).rstrip("/")
        match = _ENDPOINT.fullmatch(text)
        # The message leaves the value out, which may have a password.
        if not match or int(match["port"] or 0) > 65535:
            raise ValueError(_("Invalid address: expected a host such as openpai.example.com, or a URL of it"))
        scheme, separator, rest = text.rpartition("://")
        return scheme.lower() + separator + rest

    @field_validator("mounts")
    @classmethod
    def _are_absolute(cls, mounts: dict[str, str]) -> dict[str, str]:
        found = {}
        for name, folder in mounts.items():
            path = os.path.expanduser(folder)
            if not os.path.isabs(path):
                raise ValueError(_("`{path}` is not an absolute path").format(path=folder))
            found[name] = os.path.normpath(path)
        return found

    @property
    def shared_storage(self) -> str:
        """The storage for code, inputs and outputs: `storage`, else the first of `mounts`; empty if it is not mounted
        here."""
        name = self.storage or next(iter(self.mounts), "")
        return name if name in self.mounts else ""

    @property
    def host(self) -> str:
        """The host of the cluster, with the port if the address has one."""
        return urlsplit(self.endpoint if "://" in self.endpoint else f"//{self.endpoint}").netloc


class OpenPaiCredentials(BaseModel):
    """A stored login: an application token, or one that was pasted."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid", hide_input_in_errors=True)

    username: str = Field(title=N_("User"))
    token: SecretStr = Field(title=N_("Token"))
    # The cluster of the token, which is sent to no other one. Empty: unknown.
    host: str = Field("", title=N_("Host"))


class OpenPaiLogin(BaseModel):
    """The input of a login: user and password, or a token."""

    model_config = ConfigDict(
        defer_build=True, frozen=True, extra="forbid", str_strip_whitespace=True, hide_input_in_errors=True
    )

    username: str = Field("", max_length=255, title=N_("User"), description=N_("Not needed with a token."))
    password: SecretStr = Field(
        SecretStr(""),
        max_length=1000,
        title=N_("Password"),
        description=N_("Exchanged for a token. It is not stored."),
    )
    token: SecretStr = Field(
        SecretStr(""),
        max_length=10_000,
        title=N_("Token"),
        description=N_("Instead of user and password: a token from the profile page of the portal."),
    )

    @model_validator(mode="after")
    def _is_complete(self) -> OpenPaiLogin:
        has_password = bool(self.password.get_secret_value())
        if bool(self.token.get_secret_value()) == (has_password and bool(self.username)):
            raise ValueError(_("Enter either user and password, or a token."))
        return self


class Completion(BaseModel):
    """When a role ends the job. None: the protocol's default."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    min_failed: int | None = Field(
        None, ge=-1, title=N_("Failed instances"), description=N_("The job fails after so many failures. -1: never.")
    )
    min_succeeded: int | None = Field(
        None,
        ge=-1,
        title=N_("Succeeded instances"),
        description=N_("The job succeeds after so many successes. -1: never. Default: all."),
    )


class OpenPaiOptions(BaseModel):
    """Fields of a spec's `options` for this backend. Empty fields take the value of the profile."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    virtual_cluster: str = Field(
        "",
        title=N_("Virtual cluster"),
        description=N_("Virtual cluster of the job."),
        json_schema_extra=picked_from("virtual_clusters"),
    )
    priority: Literal["", "prod", "test", "oppo"] = Field(
        "",
        title=N_("Priority"),
        description=N_("Priority on clusters with HiveD. Jobs of `oppo` may be stopped for others. Default: `test`."),
    )
    storages: tuple[str, ...] = Field(
        (), title=N_("Storages"), description=N_("Storages of the cluster to mount, each at /mnt/NAME.")
    )
    shared_memory: str = Field(
        "", pattern=SIZE, title=N_("Shared memory"), description=N_("Size of /dev/shm: `8GiB`. Default: 512 MiB.")
    )
    ports: dict[str, int] = Field(
        {}, title=N_("Ports"), description=N_("Ports to reserve for each instance: label to number of ports.")
    )
    job_retries: int = Field(
        0, ge=0, title=N_("Retries"), description=N_("Number of times to run the job again after a failure.")
    )
    task_retries: int = Field(
        0,
        ge=0,
        title=N_("Retries of instances"),
        description=N_(
            "Number of times to run a failed instance again. The instances then start without waiting for each other."
        ),
    )
    completion: dict[str, Completion] = Field(
        {}, title=N_("Completion"), description=N_("When a role ends the job: role to its conditions.")
    )
    ssh: bool = Field(
        False, title=N_("SSH"), description=N_("Start an SSH server in each instance, for the keys of your user.")
    )
    tensorboard: bool = Field(
        False,
        title=N_("TensorBoard in the job"),
        description=N_("Run a TensorBoard in the first instance. Everyone on the cluster's network can open it."),
    )
    document: str = Field(
        "",
        title=N_("Document"),
        description=N_("Job document (YAML) to send instead of the generated one. Its name gets the id of the job."),
        json_schema_extra={"x-document": True},
    )
    document_file: str = Field(
        "",
        title=N_("Job file"),
        description=N_("Absolute path of the job file of the document. Its secrets are read at the submit only."),
        json_schema_extra={"x-hidden": True},
    )
    code_folder: str = Field(
        "",
        title=N_("Folder of the code"),
        description=N_("Folder in the container for the code of the document, such as `$PAI_JOB_NAME`."),
        json_schema_extra={"x-hidden": True},
    )
