"""The two addresses that are no verbs of the engine: the stream of a page, and a TensorBoard's own pages."""

from __future__ import annotations

from docs.site.reference.tables import code, of, table
from jupyter_pai.api.subscriptions import Subscribe

__all__ = ["live"]

# What comes: for each topic one, and the two that end a subscription.
_MESSAGES = (
    (
        '{"type": "jobs", "jobs": […], "deleted": […], "ended": […], "event": n}',
        "Every change to any job: those that changed, and the ids of those that are gone or came to their end. The"
        " first message has none: it says after which event the topic begins.",
        "任何作业的任何变化：有变化的作业，以及被删除的、刚结束的作业的编号。第一条消息里没有作业：它说明这个主题从哪个事件之后开始。",
    ),
    (
        '{"type": "job", "job": {…}}',
        "The job with its instances, whenever it changes, until it has ended; with `stay`, until it is deleted.",
        "作业和它的实例，每次变化时发来，直到作业结束；带 `stay` 时直到它被删除。",
    ),
    (
        '{"type": "log", "instance": "…", "offset": n, "end": n, "text": "…"}',
        "The log as it grows, at most 256 KiB at a time, from byte `offset` up to `end`.",
        "日志，随增长发来，每次最多 256 KiB，从字节 `offset` 到 `end`。",
    ),
    (
        '{"type": "metrics", "metrics": {"…": {"start": n, "end": n, "step": […], "value": […], "time": […]}}}',
        "New points by metric: those from number `start` up to `end`, or fewer that stand for them.",
        "每个指标的新点：从第 `start` 个到第 `end` 个，或代表它们的较少的点。",
    ),
    (
        '{"type": "end"}',
        "The last message of a subscription.",
        "一个订阅的最后一条消息。",
    ),
    (
        '{"type": "error", "code": "…", "message": "…", "fix": "…"}',
        "The last one as well: what is wrong, and what to do.",
        "也是最后一条：哪里不对，该怎么办。",
    ),
)
_STREAM = (
    "A WebSocket. A page subscribes to topics, several at a time, in JSON, and ends a subscription by"
    ' `{"type": "unsubscribe", "id": …}`. `{"type": "ping"}` is answered by `{"type": "pong"}`. Who connects again says'
    " where it stood, the last `end` of a log or metric or the last `event`, and misses and repeats nothing.",
    '一个 WebSocket。页面用 JSON 订阅主题，可以同时订阅几个，用 `{"type": "unsubscribe", "id": …}` 结束一个订阅。'
    '`{"type": "ping"}` 的回答是 `{"type": "pong"}`。重新连接时说明上次到了哪里（日志或指标最后的 `end`，或最后的'
    " `event`），就不会遗漏也不会重复。",
)
_BOARDS = (
    "What a TensorBoard serves itself, below the `address` that `POST /tensorboards` replies; so these begin without"
    " `/pai/api/v1`. Requests and answers are handed on, with the login of the Jupyter server.",
    "TensorBoard 自己提供的内容，在 `POST /tensorboards` 回复的 `address` 之下；因此不以 `/pai/api/v1` 开头。"
    "请求和回答原样转交，登录由 Jupyter 服务器负责。",
)


def live(language: str) -> str:
    """What is asked and answered there."""
    index = 1 if language == "zh-CN" else 0
    asked = of(Subscribe.model_json_schema(), ("field", "kind", "default", "means"), language)
    rows = [(code(form), told[index]) for form, *told in _MESSAGES]
    return "\n".join(
        (
            f"## `GET /stream`\n\n{_STREAM[index]}\n{asked}",
            table(("message", "means"), rows, language),
            f"## `GET /pai/tensorboard/{{id}}/…`, `HEAD`, `POST`\n\n{_BOARDS[index]}\n",
        )
    )
