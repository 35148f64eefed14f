"""Tab completion of a line: verbs, options, profiles, backends, statuses, jobs, hyperparameters, and storage URIs."""

from __future__ import annotations

import contextlib
import re
import threading
from typing import Any

from ..client.connect import connect
from ..client.context import NotebookContext
from ..client.uri_completion import continuations
from ..core.errors import PaiError
from .parser import parser as grammar
from .parser.data import VERBS as DATA_VERBS
from .spec_from_options import spec_of

# Seconds that a storage may take to list its entries.
_TIMEOUT = 2.0
_STATUSES = "queued starting running succeeded failed stopped lost".split()
_ACTIONS = {"profile": ["list", "show", "set", "default", "remove"], "secret": ["list", "set", "remove"]}


def complete(line: str, word: str, caller: NotebookContext | None = None) -> list[str]:
    """Return the words that can replace `word`, the unfinished last word of `line`. `caller` is the notebook that the
    line is written in.
    """
    words = line.split() if line.endswith((" ", "\t")) else line.split()[:-1]
    is_cell = bool(words) and words[0].startswith("%%")
    verb = "" if is_cell or len(words) < 2 else words[1]
    if not is_cell and not verb:
        return [*grammar.VERBS]
    before = words[-1] if words else ""
    if before == "--profile":
        return _profiles("name")
    if before == "--backend":
        return _profiles("backend")
    if before == "--hp" and caller and not is_cell:
        return _hyperparameters(words[1:-1], caller)
    if before == "--status":
        return _STATUSES
    if before in _ACTIONS and before == verb:
        return _ACTIONS[verb]
    if verb == "profile":
        return _profiles("name")
    if before == "--secret" or verb == "secret":
        return [secret["name"] for secret in _listed("secrets", "secrets")]
    # Front ends split words at colons, so `word` may be only the end of a URI.
    if verb in DATA_VERBS and "://" in (token := re.split(r"\s", line)[-1].lstrip("\"'")):
        return _uris(token, word)
    command = grammar.cell_parser() if is_cell else grammar.parser("%pai")
    if verb and not word.startswith("-") and grammar.expects_job(command, verb, first=before == verb):
        return [*(job["id"] for job in _listed("list_jobs", "jobs", limit=50)), "last"]
    return grammar.options_of(command, verb or None) if word.startswith("-") or before else []


def _listed(verb: str, field: str, **query: object) -> list[dict[str, Any]]:
    """Return a list of the engine's, or an empty one if the engine fails: a completion prints no errors."""
    try:
        return list(connect().call(verb, **query)[field])
    except PaiError:
        return []


def _profiles(key: str) -> list[str]:
    profiles = _listed("profiles", "profiles")
    return sorted({profile["name"] if key == "name" else profile["settings"]["backend"] for profile in profiles})


def _uris(token: str, word: str) -> list[str]:
    """Return the continuations of a URI, without the part of `token` before `word`. Gives up on a slow storage."""
    uris: list[str] = []

    def fetch() -> None:
        with contextlib.suppress(PaiError):
            uris.extend(continuations(connect(), token))

    fetching = threading.Thread(target=fetch, daemon=True)
    fetching.start()
    fetching.join(_TIMEOUT)
    prefix = token.removesuffix(word)
    return [uri.removeprefix(prefix) for uri in uris]


def _hyperparameters(words: list[str], caller: NotebookContext) -> list[str]:
    """Return `NAME=` for each hyperparameter of the code that the line names."""
    try:
        options = grammar.parse(grammar.parser("%pai", words), words)
        definitions = connect().inspect(spec_of(options, caller, target=options.target))["hyperparameters"]
    except (PaiError, SystemExit):
        return []
    return [f"{item['name']}=" for item in definitions if item["form"] in ("option", "none")]
