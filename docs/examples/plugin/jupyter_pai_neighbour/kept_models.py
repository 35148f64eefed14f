"""The models that the neighbour keeps: a file with all of them, and their versions. Their files stay where they are."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jupyter_pai import errors

__all__ = ["KeptModels"]


class KeptModels:
    """The models in a file."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def all(self) -> dict[str, Any]:
        """Each model by its id, the newest last, with its versions, the newest last."""
        found: dict[str, Any] = json.loads(self._file.read_text("utf-8")) if self._file.exists() else {}
        return found

    def add(self, sent: dict[str, Any]) -> dict[str, Any]:
        """Keep a version of a model, or of a new one without `model_id`. A client without a reply sends it again, with
        the same `key`.

        Raises:
            errors.NotFound: if the model does not exist.
        """
        models, name = self.all(), sent["name"]
        for known in (version for model in models.values() for version in model["versions"]):
            if known["key"] == sent["key"]:
                return dict(known)
        model_id = sent["model_id"] or f"m-{len(models) + 1}-{os.urandom(4).hex()}"
        if sent["model_id"] and model_id not in models:
            raise errors.NotFound(f"The neighbour has no model {model_id}.")
        created = datetime.now(UTC).isoformat()
        model = models.setdefault(model_id, {"id": model_id, "name": name, "created": created, "versions": []})
        number = max([int(one["id"]) for one in model["versions"]], default=0) + 1
        fields = {name: sent[name] for name in ("key", "uri", "description", "labels", "metrics", "hyperparameters")}
        version = {"model_id": model_id, "model": model["name"], "id": str(number), "version": f"v{number}"}
        model["versions"].append(version | {"created": created} | fields)
        self._store(models)
        stored: dict[str, Any] = model["versions"][-1]
        return stored

    def remove(self, model_id: str, version_id: str) -> None:
        """Forget a model, or one version of it."""
        models = self.all()
        if version_id and model_id in models:
            versions = models[model_id]["versions"]
            models[model_id]["versions"] = [one for one in versions if one["id"] != version_id]
        elif not version_id:
            models.pop(model_id, None)
        self._store(models)

    def _store(self, models: dict[str, Any]) -> None:
        new = self._file.with_suffix(".new")
        new.write_text(json.dumps(models), "utf-8")
        os.replace(new, self._file)
