"""A stand-in for Tencent Cloud on loopback: TI-ONE (2021-11-11), COS, and parts of other services.

    from tests.fakes.tione import tione

    with tione(tmp_path / "tione") as server:
        server.objects.write("code/main.py", b"print(1)")

No product code imports it, and it imports no product code. Tasks run here, each pod as processes under `bash`, with an
`/opt/ml` of its own. Signatures are checked; bodies and replies are those of the official SDK's models.

- `server.url` is the one address. A request for COS has the host of its bucket, as `server.cos_host`.
- `server.key` is a key; `server.make_key(denied)` has fewer rights, `server.sts(seconds)` ends,
  `server.change_key` changes one that is in use.
- `server.settings` may be changed while it runs: `settings.Settings`.
- `server.requests` is the log of the requests, `server.count("CreateTrainingTask")` the number of calls of an action.
- `server.faults.add(kind, "tione:Create*", ...)` lets calls fail; kinds are in `..alibaba.faults.KINDS`. `throttled` is
  `RequestLimitExceeded` with the status 200; `refused` with a `code` is any other error of an action.
- `server.move_clock`, `server.fail_next`, `server.add_tasks`, `server.set_task`, `server.add_lines` and
  `server.age_task` change the platform.
- `server.objects` reads and writes objects without a request.
- `server.proxy_environment()` is for clients that know the public hosts only.

`python -m tests.fakes.tione FOLDER` runs one in a process of its own.
"""

from .handle import SecretKey, TiOne, tione

__all__ = ["SecretKey", "TiOne", "tione"]
