"""The reference: what the program itself says of its commands, settings, variables, specs and addresses."""

from __future__ import annotations

from .commands import commands
from .environment import environment
from .http import http
from .jupyterlab import jupyterlab
from .settings import settings
from .spec import spec

__all__ = ["commands", "environment", "http", "jupyterlab", "settings", "spec"]
