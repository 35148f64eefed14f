"""Pages and search of logs over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from tornado.httpclient import HTTPClientError

from .test_rest import Document, ask, run


async def test_lines_are_paged_and_searched_over_http(jp_fetch: Any, spec: dict[str, Any]) -> None:
    document = Document(await ask(jp_fetch, "GET", "openapi.json"))
    command = "for n in 0 1 2 3; do echo line $RANK $n; sleep 0.2; done"
    job = (await run(jp_fetch, spec | {"command": command, "instance_count": 2}))["id"]

    async def lines(**query: Any) -> Any:
        return document.check("lines", await ask(jp_fetch, "GET", "jobs", job, "lines", **query))

    async def search(**query: Any) -> Any:
        return document.check("search", await ask(jp_fetch, "GET", "jobs", job, "search", **query))

    assert (await lines(instance="worker-1", line=2, lines=1))["texts"] == ["line 1 2"]
    merged = await lines(merged="true", before=2**52, lines=3)
    assert (merged["line"], merged["lines"], len(merged["texts"])) == (5, 8, 3)
    whole = await lines(merged="true")
    assert sorted(whole["texts"]) == [f"line {rank} {n}" for rank in (0, 1) for n in range(4)]
    assert [text for text in whole["texts"] if text[5] == "1"] == [f"line 1 {n}" for n in range(4)]
    assert (await lines(at=str(2**40)))["line"] == 4
    assert (await lines(at="2001-01-01T00:00:00Z"))["line"] == 0
    result = await search(text="LINE . 3", regex="true", merged="true", limit=9)
    assert (result["total"], len(result["hits"]), result["complete"]) == (2, 2, True)
    assert (await search(errors="true"))["total"] == 0
    assert document.checked == {"lines", "search"}
    for verb, query in (
        ("lines", {"lines": 5001}),
        ("lines", {"at": "tomorrow"}),
        ("lines", {"instance": "worker-9"}),
        ("search", {}),
        ("search", {"text": "(", "regex": "true"}),
        ("search", {"text": "x", "limit": 1001}),
    ):
        with pytest.raises(HTTPClientError) as refused:
            await ask(jp_fetch, "GET", "jobs", job, verb, **query)
        assert 400 <= refused.value.code < 500
