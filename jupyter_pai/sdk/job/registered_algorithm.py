"""Algorithms that are registered with PAI, by name, provider and version."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core.errors import NotFound
from ...core.i18n import _
from ..session import default_session

if TYPE_CHECKING:
    from ...cloud.alibaba.account import AlibabaAccount
    from ..session import Session

__all__ = ["NoSuchAlgorithm", "RegisteredAlgorithm", "find_algorithm"]


class NoSuchAlgorithm(NotFound, ValueError):
    """An algorithm or a version that is not registered."""


class RegisteredAlgorithm(NamedTuple):
    """A version of an algorithm. `spec` is its definition, as PAI returns it."""

    name: str
    version: str
    provider: str
    spec: Mapping[str, Any]


def find_algorithm(
    name: str, version: str | None = None, provider: str | None = None, session: Session | None = None
) -> RegisteredAlgorithm:
    """Return a registered algorithm; by default, its newest version. Without a provider, it is one of the workspace.

    Raises:
        NoSuchAlgorithm: if there is none. A `ValueError` too.
    """

    async def find(account: AlibabaAccount) -> RegisteredAlgorithm:
        return await _find(account, name, version, provider)

    return (session or default_session()).request(find)


async def _find(account: AlibabaAccount, name: str, version: str | None, provider: str | None) -> RegisteredAlgorithm:
    place = {"AlgorithmProvider": provider} if provider else {"WorkspaceId": await account.workspace_id()}
    query = {"AlgorithmName": name, **place}
    found = await _items(account, "ListAlgorithms", "", "Algorithms", query)
    algorithm = next((one for one in found if one.get("AlgorithmName") == name), None)
    if algorithm is None:
        raise NoSuchAlgorithm(
            _("No algorithm `{name}` is registered.").format(name=name),
            fix=_("Algorithms of PAI have the provider `pai`: AlgorithmEstimator(…, algorithm_provider='pai')"),
        )
    path = f"/{algorithm['AlgorithmId']}/versions"
    versions = [
        str(one.get("AlgorithmVersion") or "")
        for one in await _items(account, "ListAlgorithmVersions", path, "AlgorithmVersions", {})
    ]
    chosen = version or max(versions, key=_order, default="")
    if chosen not in versions:
        raise NoSuchAlgorithm(
            _("The algorithm `{name}` has no version `{version}`.").format(name=name, version=chosen or "-"),
            fix=_("Known are: {names}.").format(names=", ".join(sorted(versions, key=_order)) or "-"),
        )
    reply = await _call(account, "GetAlgorithmVersion", f"{path}/{chosen}", {})
    provider = str(reply.get("AlgorithmProvider") or provider or "")
    return RegisteredAlgorithm(name, chosen, provider, reply.get("AlgorithmSpec") or {})


async def _items(
    account: AlibabaAccount, action: str, path: str, key: str, query: Mapping[str, object]
) -> list[dict[str, Any]]:
    from ...backends.pai.api import list_items
    from ...cloud.alibaba.openapi import STUDIO

    address = f"/api/v1/algorithms{path}"
    return [item async for item in list_items(account.api, STUDIO, action, address, key, query, 50)]


async def _call(account: AlibabaAccount, action: str, path: str, query: Mapping[str, object]) -> dict[str, Any]:
    from ...cloud.alibaba.openapi import STUDIO

    return await account.api.call(STUDIO, action, "GET", f"/api/v1/algorithms{path}", query)


def _order(version: str) -> list[tuple[int, int, str]]:
    """Return a key that orders versions by their numbers."""
    return [(1, int(word), "") if word.isdigit() else (0, 0, word) for word in re.findall(r"\d+|[^\d.]+", version)]
