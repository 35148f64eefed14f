"""Stored credentials of any platform: separate from the user's secrets, and listed by a hint."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from pydantic import BaseModel, Field, SecretStr, field_validator

from jupyter_pai.config.credentials import Credentials, StoredCredentials, own_credentials, parse_login
from jupyter_pai.config.secret_store import SecretStore
from jupyter_pai.config.settings import ProfileSettings
from jupyter_pai.core.errors import BadInput, CredentialsError, NotFound, SpecError
from jupyter_pai.core.secret import Secret
from jupyter_pai.jobs.state_dir import Home


class Login(BaseModel):
    """The credentials of a plug-in, with a validator that quotes values."""

    user: str = ""
    token: SecretStr = Field(min_length=4)

    @field_validator("user")
    @classmethod
    def _check(cls, value: str) -> str:
        if " " in value:
            raise ValueError(f"`{value}` is nobody")
        return value


def file() -> Path:
    return Path(os.environ["JUPYTER_CONFIG_DIR"]) / "jupyter_pai_secrets.json"


@pytest.mark.parametrize(
    ("user", "hint"), [("somebody-of-ours", "some…ours"), ("ada", "ad…"), ("", ""), ("用户", ""), ("../..", "")]
)
def test_stored_credentials_are_listed_by_a_hint(home: Home, user: str, hint: str) -> None:
    credentials = Credentials()
    reference = credentials.keep(Login.model_validate({"user": user, "token": "hush hush"}))
    assert credentials.kept() == {reference: StoredCredentials("file", hint)}
    opened = own_credentials(ProfileSettings(backend="x", own_credentials=reference), Login)
    assert opened
    assert (opened.user, opened.token.get_secret_value()) == (user, "hush hush")
    credentials.forget(reference)
    credentials.forget(reference)
    assert credentials.kept() == {}
    assert own_credentials(ProfileSettings(backend="x"), Login) is None
    with pytest.raises(CredentialsError, match="not stored on this machine"):
        credentials.open(reference, Login)


def test_credentials_and_user_secrets_are_separate(home: Home) -> None:
    credentials, secrets = Credentials(), SecretStore()
    reference = credentials.keep(Login.model_validate({"user": "somebody-of-ours", "token": "hush hush"}))
    secrets.keep(reference, Secret("the user's own"))
    assert secrets.places() == {reference: "file"}
    assert secrets.open({"A": reference})["A"].open() == "the user's own"
    for name in (f"profile:{reference}", "profile:", ":"):
        with pytest.raises(NotFound):
            secrets.forget(name)
        with pytest.raises(BadInput):
            secrets.open({"A": name})
        with pytest.raises(BadInput):
            secrets.keep(name, Secret("another"))
    secrets.forget(reference)
    assert credentials.open(reference, Login).token.get_secret_value() == "hush hush"
    assert list(json.loads(file().read_text())["file"]) == [f"profile:{reference}"]


def test_credentials_of_an_older_model_are_not_used(home: Home) -> None:
    class Newer(BaseModel):
        key: str

    reference = Credentials().keep(Login.model_validate({"token": "hush hush"}))
    with pytest.raises(CredentialsError, match="not stored on this machine"):
        Credentials().open(reference, Newer)


@pytest.mark.parametrize("body", [{"user": "a b c", "token": "hush hush"}, {"token": "abc"}, "hush hush", None, {}])
def test_validation_error_does_not_quote_the_credentials(home: Home, body: object) -> None:
    with pytest.raises(SpecError) as caught:
        parse_login(Login, body)
    message = json.dumps(caught.value.as_json())
    assert not [word for word in ("a b c", "hush hush", '"abc"', "`abc`") if word in message]
    assert caught.value.details["faults"]
    assert not file().exists()
