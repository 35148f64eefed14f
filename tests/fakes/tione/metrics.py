"""Metrics that jobs or clients push."""

from __future__ import annotations

import math
from typing import Any

from .requests import Action, Request, refuse
from .tasks import Task

__all__ = ["Metrics"]


class Metrics:
    """The pushed items by task, in their order."""

    def __init__(self, tasks: dict[str, Task]) -> None:
        self._tasks = tasks
        self.pushed: dict[str, list[dict[str, Any]]] = {}

    def actions(self) -> dict[str, Action]:
        """The public actions."""
        return {"PushTrainingMetrics": self._push}

    def extras(self) -> dict[str, Action]:
        """The actions that were cut."""
        return {"DescribeTrainingMetrics": self._all, "DescribeLatestTrainingMetrics": self._latest}

    def _push(self, request: Request) -> dict[str, Any]:
        items = request.body.get("Data") or []
        if not items:
            refuse("MissingParameter", "The request is missing a required parameter `Data`.")
        for number, item in enumerate(items):
            if item["TaskId"] not in self._tasks:
                refuse("FailedOperation.RecordNotFound", f"The task {item['TaskId']} does not exist.")
            if not 1 <= len(item.get("Points") or []) <= 10:
                refuse("InvalidParameterValue", f"Data.{number}.Points must have 1 to 10 points.")
            if not all(math.isfinite(point["Value"]) for point in item["Points"]):
                refuse("InvalidParameterValue", f"Data.{number}.Points has a value that is not finite.")
        for item in items:
            self.pushed.setdefault(item["TaskId"], []).append({"Timestamp": int(request.now)} | item)
        return {}

    def _points(self, request: Request) -> dict[str, list[tuple[dict[str, Any], float]]]:
        found: dict[str, list[tuple[dict[str, Any], float]]] = {}
        for item in self.pushed.get(request.body.get("TaskId") or "", []):
            for point in item["Points"]:
                found.setdefault(point["Name"], []).append((item, point["Value"]))
        return found

    def _all(self, request: Request) -> dict[str, Any]:
        rows = []
        for name, points in self._points(request).items():
            axes = [("TIMESTAMP", "Timestamp"), ("EPOCH", "Epoch"), ("STEP", "Step")]
            series = [(kind, [(item[field], value) for item, value in points if field in item]) for kind, field in axes]
            metrics = [
                {"XType": kind, "Points": [{"XValue": x, "YValue": y} for x, y in pairs]}
                for kind, pairs in series
                if pairs
            ]
            rows.append({"MetricName": name, "Metrics": metrics})
        return {"Data": rows}

    def _latest(self, request: Request) -> dict[str, Any]:
        rows = []
        for name, points in self._points(request).items():
            item, value = points[-1]
            columns = {"Values": value, **{f"{axis}s": item.get(axis) for axis in ("Epoch", "Step")}}
            columns["TotalSteps"] = item.get("TotalSteps")
            row: dict[str, Any] = {"MetricName": name}
            for column, found in columns.items():
                row[column] = [] if found is None else [{"Timestamp": item["Timestamp"], "Value": found}]
            rows.append(row)
        return {"Metrics": rows}
