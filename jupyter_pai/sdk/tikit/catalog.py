"""Frameworks, prices, and images that run models, by the API of Tikit."""

from __future__ import annotations

from typing import Any

from ..target import Target
from .reply import Reply

__all__ = ["frameworks", "prices", "reasoning_images"]

_GIB = 1 << 30


def frameworks(target: Target) -> Reply:
    """Return frameworks, with the environments and training modes of each version."""
    found: dict[str, list[dict[str, Any]]] = {}
    for image in _images(target, "training"):
        version = {"Version": image["version"], "TrainingModes": image["modes"], "Environment": image["name"]}
        found.setdefault(image["framework"], []).append(version)
    rows = [{"Name": name, "VersionInfos": versions} for name, versions in found.items()]
    return Reply({"FrameworkInfos": rows, "TotalCount": len(rows)}, "FrameworkInfos", ("Name", "VersionInfos"))


def prices(target: Target) -> Reply:
    """Return instance types with their prices in yuan per hour."""
    kinds = target.client.call("instances", profile=target.profile)["instances"]
    rows = [
        {
            "SpecName": kind["name"],
            "SpecId": str(kind["price"]["amount"]) if kind["price"] else "",
            "Cpu": kind["cpu"],
            "Memory": kind["memory"] / _GIB,
            "Gpu": kind["gpu"],
            "GpuType": kind["gpu_name"],
            "Available": kind["available"],
        }
        for kind in kinds
    ]
    return Reply({"Specs": rows}, "Specs", tuple(rows[0]) if rows else ())


def reasoning_images(target: Target) -> Reply:
    """Return images that run models."""
    rows = [
        {
            "ImageName": image["name"],
            "Framework": image["framework"],
            "FrameworkVersion": image["version"],
            "Description": image["description"],
        }
        for image in _images(target, "inference")
    ]
    fields = {"PlatformImageInfos": rows, "TotalCount": len(rows)}
    return Reply(fields, "PlatformImageInfos", tuple(rows[0]) if rows else ())


def _images(target: Target, scope: str) -> list[dict[str, Any]]:
    return list(target.client.call("images", profile=target.profile, scope=scope)["images"])
