"""A stand-in for Alibaba PAI on loopback: OSS, PaiStudio, DLC, and the parts of AIWorkSpace that we use.

    from tests.fakes.alibaba import stand_in

    with stand_in(tmp_path / "pai") as pai:
        bucket = oss2.Bucket(oss2.Auth(pai.key.id, pai.key.secret), pai.oss_endpoint, pai.bucket)
        bucket.put_object("a", b"1")
        assert pai.objects.read("a") == b"1"
        assert pai.count("oss", "PutObject") == 1

It runs in a process of its own and ends with the `with`. It knows nothing of our code, and no product code knows it.
Requests are answered as the services do: signatures are checked, and so are rights, times, types and names.

- `pai.url`, `pai.oss_endpoint`, `pai.region`, `pai.workspace_id`, `pai.bucket`: where things are; `pai.settings()`
  is the same as the keys of a profile, `pai.environment()` the variables of the credentials.
- `pai.key` is an access key of the workspace's owner; `pai.make_key(role, denied)` one with fewer rights,
  `pai.sts(seconds)` one that expires; `pai.change_key` changes one that is in use.
- `pai.requests` is all that was asked, `pai.count(service, action)` how often.
- `pai.faults.add(kind, "service:Action*", ...)` lets something go wrong; kinds are in `faults.KINDS`.
- `pai.set_clock(seconds)` moves the services' clocks.
- `pai.objects` reads and writes objects without a request.
- Jobs that are created run here, under `sh`, with a `/ml` of their own. `pai.jobs` are all jobs. `pai.add_jobs(1000)`
  adds jobs that nothing runs: `pai.set_job`, `pai.add_lines` and `pai.age_job` say what becomes of them.
  `pai.fail_next("CreateFailed")` lets the next job end so, `pai.fail_next_board()` the next TensorBoard.
  A job of the quota `quota2empty` waits for ever.
- Jobs of DLC run in the same way, with their roles and mounts; `pai.dlc` is what `pai` itself is for training jobs.
  An image whose repository is named `distroless` or `scratch` has no `sh`.
- `pai.credentials_uri(60)` is an address that gives new keys of STS; `pai.proxy_environment()` is for clients that know
  the public hosts only, as the official SDK does.

What can be told at the start: `settings.Settings`; `md5=False` is for measurements of large uploads.
`official.py` beside this folder has the official clients for it, `alipai.py` the official SDK.
"""

from .handle import AccessKey, StandIn, stand_in

__all__ = ["AccessKey", "StandIn", "stand_in"]
