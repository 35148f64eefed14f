"""The two routes that are not verbs of the engine: the stream of a page, and the pages of a TensorBoard."""

from __future__ import annotations

from docs.site.reference.tables import code, of, table
from jupyter_pai.api.subscriptions import Subscribe

__all__ = ["live"]

# The messages: one per topic, and two that end a subscription.
_MESSAGES = (
    (
        '{"type": "jobs", "jobs": […], "deleted": […], "ended": […], "event": n}',
        "Changes of all jobs: the changed jobs, and the ids of deleted and ended jobs. The first message contains no"
        " jobs, only the event after which the topic starts.",
        "任何作业的任何变化：有变化的作业，以及被删除的、刚结束的作业的编号。第一条消息里没有作业：它说明这个主题从哪个事件之后开始。",
    ),
    (
        '{"type": "job", "job": {…}}',
        "The job with the names of its logs, at each change, until it ends; with `stay`, until it is deleted.",
        "作业和它的日志的名字，每次变化时发来，直到作业结束；带 `stay` 时直到它被删除。",
    ),
    (
        '{"type": "instances", "instances": [{…}]}',
        "The instances of the job, as in `GET /jobs/{job}/instances` but without unknown values, at each change, until"
        " the job ends.",
        "作业的实例，与 `GET /jobs/{job}/instances` 一样，但不含不知道的值，每次变化时发来，直到作业结束。",
    ),
    (
        '{"type": "log", "instance": "…", "offset": n, "end": n, "text": "…"}',
        "New output in the log, at most 256 KiB per message, from byte `offset` to `end`.",
        "日志，随增长发来，每次最多 256 KiB，从字节 `offset` 到 `end`。",
    ),
    (
        '{"type": "metrics", "metrics": {"…": {"start": n, "end": n, "step": […], "value": […], "time": […]}}}',
        "New points of each metric, from index `start` to `end`, possibly downsampled.",
        "每个指标的新点：从第 `start` 个到第 `end` 个，或代表它们的较少的点。",
    ),
    (
        '{"type": "end"}',
        "The last message of a subscription.",
        "一个订阅的最后一条消息。",
    ),
    (
        '{"type": "error", "code": "…", "message": "…", "fix": "…"}',
        "Also the last message: the error and a fix.",
        "也是最后一条：哪里不对，该怎么办。",
    ),
)
_STREAM = (
    "A WebSocket with JSON messages. A page can subscribe to several topics. It ends a subscription with"
    ' `{"type": "unsubscribe", "id": …}`. The response to `{"type": "ping"}` is `{"type": "pong"}`. After a reconnect,'
    " the page sends its last position: the last `end` of a log or metric, or the last `event`. The stream then"
    " continues without gaps or duplicates. Texts are in the language of the parameter `language`, else in that of the"
    " header `Accept-Language`.",
    '一个 WebSocket。页面用 JSON 订阅主题，可以同时订阅几个，用 `{"type": "unsubscribe", "id": …}` 结束一个订阅。'
    '`{"type": "ping"}` 的回答是 `{"type": "pong"}`。重新连接时说明上次到了哪里（日志或指标最后的 `end`，或最后的'
    " `event`），就不会遗漏也不会重复。"
    "文字的语言由地址里的参数 `language` 指定，没有它时由请求头 `Accept-Language` 指定。",
)
_BOARDS = (
    "The pages of a TensorBoard, below the `address` that `POST /tensorboards` returns, without the prefix"
    " `/pai/api/v1`. The Jupyter server proxies requests and responses behind its login.",
    "TensorBoard 自己提供的内容，在 `POST /tensorboards` 回复的 `address` 之下；因此不以 `/pai/api/v1` 开头。"
    "请求和回答原样转交，登录由 Jupyter 服务器负责。",
)


def live(language: str) -> str:
    """Return the sections of the two routes."""
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
