"""The settings of a stand-in. A test may change all but the hosts and ports while it runs."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Settings"]


@dataclass
class Settings:
    """How the stand-in behaves. Sizes in bytes."""

    host: str = "127.0.0.1"
    # 0 for a port of the system's choice.
    name_node_port: int = 0
    # The address in redirects of the NameNode, instead of the DataNode's own.
    data_node: str = ""
    # The version of Hadoop before LISTSTATUS_BATCH and `renameoptions`.
    old: bool = False
    # The number of entries in one reply to LISTSTATUS_BATCH (`dfs.ls.limit`).
    page: int = 1000
    safe_mode: bool = False
    standby: bool = False
    kerberos: bool = False
    # No DataNode takes a block.
    full: bool = False
    # The quota of all files together; negative for none.
    quota: int = -1
    seed: int = 1
