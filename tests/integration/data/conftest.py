"""A profile whose account is the stand-in's."""

from __future__ import annotations

from ..pai.conftest import engine, pai, timings

__all__ = ["engine", "pai", "timings"]
