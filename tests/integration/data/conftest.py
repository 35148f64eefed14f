"""A profile whose account is the stand-in's."""

from __future__ import annotations

from ..pai.conftest import engine, pai, platform, timings

__all__ = ["engine", "pai", "platform", "timings"]
