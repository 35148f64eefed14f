"""`jupyter_pai.sdk.job`, by its name in the PAI SDK."""

from . import *  # noqa: F403
from . import __all__ as __all__, __getattr__ as __getattr__  # noqa: PLC0414
