"""Models by the API of Tikit, in the registry of the platform."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...core.errors import SpecError, UsageError
from ...core.i18n import _
from ..options import non_empty
from ..target import Target
from .models import CosPathInfo, ReasoningEnvironment, cos_uri
from .reply import Reply
from .task import pair_of

__all__ = ["create"]


def create(
    target: Target,
    *,
    training_model_name: str,
    training_job_id: str,
    reasoning_env: ReasoningEnvironment,
    model_output_path: str | CosPathInfo,
    model_format: str,
    training_model_index: str | None,
    delete_task_cos_model: bool,
    tags: Sequence[Any] | None,
    training_model_cos_path: str | CosPathInfo | None,
    **more: Any,
) -> Reply:
    """Register the model of a task: see `Client.create_model_by_task`."""
    for name, value in more.items():
        if value:
            raise SpecError(
                _("The argument `{name}` is not supported.").format(name=name), fix=_("Omit it, or use Tikit.")
            )
    source = {"job": target.client.call("adopt", body={"remote_id": training_job_id, "profile": target.profile})["id"]}
    if training_model_cos_path:
        source = {"uri": _uri(training_model_cos_path), "profile": target.profile}
    fields = {
        "model": training_model_name,
        "format": model_format,
        "image": reasoning_env.ImageKey or reasoning_env.ImageUrl,
        "target": _uri(model_output_path),
        "move": delete_task_cos_model,
        "labels": dict(pair_of(tag, "TagKey", "TagValue") for tag in tags or ()),
        "metrics": _metrics(training_model_index or ""),
    }
    reply = target.client.call("register_model", body=source | non_empty(fields))
    version: Mapping[str, Any] = reply["version"]
    return Reply({"Id": version["model_id"], "TrainingModelVersionId": version["id"], "Status": version["status"]})


def _uri(path: str | CosPathInfo) -> str:
    return path.uri if isinstance(path, CosPathInfo) else cos_uri(path)


def _metrics(index: str) -> dict[str, float]:
    """Return the metrics in ``acc=0.5,loss=1``.

    Raises:
        UsageError: if it has another form.
    """
    try:
        return {
            name.strip(): float(value) for name, value in (one.split("=") for one in filter(None, index.split(",")))
        }
    except ValueError:
        raise UsageError(
            _("training_model_index: `{text}` has no metrics.").format(text=index), fix=_("Write acc=0.5,loss=1")
        ) from None
