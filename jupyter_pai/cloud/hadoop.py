"""The keys of a profile for HDFS, the file system of Hadoop."""

from __future__ import annotations

import os
import re

from pydantic import Field, field_validator

from ..config.settings import ProfileSettings
from ..core.i18n import N_, _

__all__ = ["RPC_PORTS", "HdfsSettings"]

RPC_PORTS = (8020, 8021, 9000, 9820)
"""Ports of the NameNode's protocol for Hadoop's own clients."""

_HOST = re.compile(r"[A-Za-z0-9._*-]+|\[[0-9A-Fa-f:.]+\]")
# Of HTTP, also without a query.
_ADDRESS = re.compile(
    r"(hdfs|https?(?=[^?#]*$))://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:(?P<port>\d{1,5}))?(?P<path>(/.*)?)"
)
_BAD_PATH = re.compile(r"//|/\.{1,2}(/|$)|[\0-\x1f\x7f\ud800-\udfff]")


class HdfsSettings(ProfileSettings):
    """The keys of a profile for HDFS. It has neither a password nor a ticket: HDFS takes the name of the user."""

    hdfs: str = Field(
        "",
        title=N_("HDFS address"),
        description=N_(
            "Folder of HDFS, such as hdfs://namenode/user/me, or its WebHDFS address, such as "
            "http://namenode:9870/webhdfs/v1."
        ),
    )
    hdfs_user: str = Field(
        "",
        # Source: `dfs.webhdfs.user.provider.user.pattern` of Hadoop.
        pattern=r"^([A-Za-z_][A-Za-z0-9._-]*\$?)?$",
        title=N_("HDFS user"),
        description=N_("Name of the user in HDFS. Default: your login name."),
    )
    hdfs_hosts: str = Field(
        "",
        title=N_("HDFS hosts"),
        description=N_(
            "Hosts of DataNodes that may send and receive data besides the host of HDFS itself, separated by commas, "
            "such as `10.0.3.*, *.cluster.example.com`."
        ),
    )
    ca_file: str = Field(
        "",
        title=N_("CA certificates"),
        description=N_("PEM file of certificate authorities to trust besides the usual ones, for a private cloud."),
    )

    @field_validator("hdfs")
    @classmethod
    def _check_hdfs(cls, value: str) -> str:
        """Add hdfs:// to a host without a scheme."""
        url = value if "://" in value or not value else f"hdfs://{value}"
        match = _ADDRESS.fullmatch(url)
        # The message leaves the value out, which may have a password.
        if url and (not match or int(match["port"] or 0) > 65535 or _BAD_PATH.search(match["path"])):
            raise ValueError(_("Invalid address: expected a URI such as hdfs://namenode/user/me"))
        return url

    @field_validator("hdfs_hosts")
    @classmethod
    def _check_hosts(cls, value: str) -> str:
        for host in re.split(r"[\s,]+", value.strip(" ,")):
            if host and not _HOST.fullmatch(host):
                raise ValueError(
                    _("Invalid host `{host}`: expected a name such as node7, without a port").format(host=host)
                )
        return value

    @property
    def hdfs_data_hosts(self) -> list[str]:
        """Patterns of the hosts of DataNodes."""
        return [host.lower() for host in re.split(r"[\s,]+", self.hdfs_hosts) if host]

    @property
    def hdfs_login(self) -> str:
        """The name of the user in HDFS: `hdfs_user`, else the login name of the profile, else that of this machine."""
        # Platforms with a login of their own call its key `username`.
        return self.hdfs_user or str(getattr(self, "username", "")) or _login()


def _login() -> str:
    """Return the name of this process's user, its number without one."""
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
