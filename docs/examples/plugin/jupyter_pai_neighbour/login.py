"""Logging in to a neighbour that asks for a password: the token that it gives for one is all that is kept."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from jupyter_pai import ProfileSettings, credentials, errors

from .place import Note

__all__ = ["NeighbourCredentials", "NeighbourLogin", "token"]


class NeighbourLogin(BaseModel):
    """The login form: user and password."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    user: str = Field(min_length=1, title="User", description="As the neighbour knows you.")
    password: SecretStr = Field(min_length=1, title="Password", description="Sent to the neighbour, and not kept.")


class NeighbourCredentials(BaseModel):
    """The stored credentials: user and token."""

    user: str
    token: SecretStr


def token(note: Note, settings: ProfileSettings | None) -> str:
    """Return the token for requests: that of the login, else the one in the note. May block.

    Raises:
        errors.CredentialsError: if it asks for a login, and there was none.
    """
    own = credentials.own_credentials(settings, NeighbourCredentials)
    if not own and not note.token:
        raise errors.CredentialsError("The neighbour asks for a login.", fix="Log in: jupyter pai profile login NAME")
    return own.token.get_secret_value() if own else note.token
