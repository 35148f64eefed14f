"""The reference, generated from the program: commands, settings, variables, specs and routes."""

from __future__ import annotations

from docs.site.reference.commands import commands
from docs.site.reference.environment import environment
from docs.site.reference.http import http
from docs.site.reference.jupyterlab import jupyterlab
from docs.site.reference.settings import settings
from docs.site.reference.spec import spec

__all__ = ["commands", "environment", "http", "jupyterlab", "settings", "spec"]
