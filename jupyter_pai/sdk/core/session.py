"""`jupyter_pai.sdk.session`, by its name in older versions of the PAI SDK."""

from ..session import Session, get_default_session, setup_default_session

__all__ = ["Session", "get_default_session", "setup_default_session"]
