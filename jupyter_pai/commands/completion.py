"""Tab completion of a line of the grammar: verbs, options, profiles, backends, statuses, jobs,
hyperparameters, what is in a storage."""

from __future__ import annotations

import contextlib
import re
import threading

from ..client.connect import connect
from ..client.context import Place
from ..client.uri_completion import continuations
from ..core.errors import PaiError
from .parser import parser as grammar
from .spec_from_options import spec_of

__all__ = ["complete"]

_JOB_VERBS = (
    *("show", "logs", "metrics", "stop", "rerun", "diff", "delete", "pin", "unpin", "outputs", "tensorboard"),
    *("download", "models", "terminal"),
)
_DATA_VERBS = ("ls", "put", "get", "mv", "rm", "mkdir")
# Seconds for a storage's answer.
_PATIENCE = 2.0
_STATUSES = "queued starting running succeeded failed stopped lost".split()


def complete(line: str, word: str, place: Place | None = None) -> list[str]:
    """The words that may stand at the end of `line`, where `word` has been begun; `place` is where it is written."""
    words = line.split()
    if not line.endswith((" ", "\t")) and words:
        words = words[:-1]
    is_cell = bool(words) and words[0].startswith("%%")
    verb = "" if is_cell or len(words) < 2 else words[1]
    if not is_cell and not verb:
        return [*grammar.VERBS]
    before = words[-1] if words else ""
    if before == "--profile":
        return _profiles("name")
    if before == "--backend":
        return _profiles("backend")
    if before == "--hp" and place and not is_cell:
        return _hyperparameters(words[1:-1], place)
    if before == "--status":
        return _STATUSES
    if verb == "profile":
        return ["list", "show", "set", "default", "remove"] if before == verb else _profiles("name")
    if before == "--secret":
        return _secrets()
    if verb in _DATA_VERBS and "://" in (token := _token(line)):
        return _below(token, word)
    if verb == "secret":
        return ["list", "set", "remove"] if before == verb else _secrets()
    if not word.startswith("-") and (verb in _JOB_VERBS or before == verb == "label"):
        return [*_jobs(), "last"]
    command = grammar.cell_parser() if is_cell else grammar.parser("%pai")
    return grammar.options_of(command, verb or None) if word.startswith("-") or before else []


def _profiles(key: str) -> list[str]:
    try:
        profiles = connect().call("profiles")["profiles"]
    except PaiError:
        return []
    found = {profile["name"] if key == "name" else profile["settings"]["backend"] for profile in profiles}
    return sorted(found)


def _token(line: str) -> str:
    """The last word of a line, also where the front end has begun a new one within it, as at a colon."""
    return re.split(r"\s", line)[-1].lstrip("\"'")


def _below(token: str, word: str) -> list[str]:
    """What there is in the folder in which a URI has been begun, in place of the part `word` of it. A storage that does
    not answer at once is not waited for."""
    found: list[str] = []

    def look() -> None:
        with contextlib.suppress(PaiError):
            found.extend(continuations(connect(), token))

    asking = threading.Thread(target=look, daemon=True)
    asking.start()
    asking.join(_PATIENCE)
    begun = token.removesuffix(word)
    return [uri.removeprefix(begun) for uri in found]


def _hyperparameters(words: list[str], place: Place) -> list[str]:
    """What the code that a line names can be given."""
    try:
        options = grammar.parse(grammar.parser("%pai"), words)
        found = connect().inspect(spec_of(options, place, target=options.target))
    except (PaiError, SystemExit):
        return []
    return [f"{one['name']}=" for one in found["hyperparameters"] if one["form"] in ("option", "none")]


def _secrets() -> list[str]:
    try:
        return [secret["name"] for secret in connect().call("secrets")["secrets"]]
    except PaiError:
        return []


def _jobs() -> list[str]:
    try:
        return [job["id"] for job in connect().call("list_jobs", limit=50)["jobs"]]
    except PaiError:
        return []
