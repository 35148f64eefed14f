"""`jupyter_pai.sdk.session`, where older documents of the PAI SDK look for it."""

from ..session import Session, get_default_session, setup_default_session

__all__ = ["Session", "get_default_session", "setup_default_session"]
