"""A stand-in for the site of an OpenPAI cluster (REST v2, as of 1.8) on loopback.

    from tests.fakes.openpai import openpai

    with openpai(tmp_path / "openpai", submits_an_hour=1000) as server:
        server.add_user("alice", "password", vcs=["default"])

No product code imports it, and it imports no product code. Jobs run here, each task as processes under `bash`.

- `server.url` is the address of the site, `server.settings` its settings, which may be changed.
- `server.requests` is the log of the requests, `server.count("rest:submit")` the number of calls of an action.
- `server.faults.add(kind, "rest:submit", ...)` lets calls fail; kinds are in `..alibaba.faults.KINDS`.
- `server.revoke_tokens`, `server.move_clock`, `server.lose_task` and `server.remove_logs` change the cluster.
"""

from .handle import OpenPai, openpai

__all__ = ["OpenPai", "openpai"]
