"""The users whose jobs are in the quotas of an account."""

from __future__ import annotations

from typing import Any

from jupyter_pai.client.embedded import EmbeddedClient

from ...fakes.alibaba import StandIn

QUOTA = "quota1stand"


def users(engine: EmbeddedClient) -> dict[str, list[dict[str, Any]]]:
    reply = engine.call("instances", profile="pai", quotas_only=True, quota_users=True)
    return {quota["id"]: quota["users"] for quota in reply["quotas"]}


def test_running_and_waiting_jobs_are_counted_by_user(engine: EmbeddedClient, pai: StandIn) -> None:
    share = {"ResourceId": QUOTA, "InstanceCount": 1, "InstanceSpec": {"CPU": "1", "Memory": "1"}}
    pai.add_jobs(2, "Running", ComputeResource=share)
    pai.add_jobs(1, "Submitted", ComputeResource=share)
    pai.add_jobs(1, "Succeed", ComputeResource=share)
    pai.add_jobs(1, "Running")  # In the public pool.
    (user,) = users(engine)[QUOTA]
    assert (user["running"], user["waiting"], bool(user["name"])) == (2, 1, True)
    assert users(engine)["quota2empty"] == []
    assert pai.count("paistudio", "ListQuotaWorkloads") == 2  # An empty quota has no jobs.


def test_quotas_are_listed_without_the_right_to_list_jobs(engine: EmbeddedClient, pai: StandIn) -> None:
    pai.faults.add("refused", "paistudio:ListQuotaWorkloads")
    assert users(engine) == {QUOTA: [], "quota2empty": []}
    reply = engine.call("instances", profile="pai", quotas_only=True)
    assert all(quota["users"] == [] for quota in reply["quotas"])
