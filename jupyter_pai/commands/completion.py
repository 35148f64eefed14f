"""Tab completion of a line, in notebooks and in shells: verbs, options, and the values of options and arguments.

argcomplete walks the parser and calls the completer of the next argument. A shell starts a process for each key press,
and an engine takes longer to load than a user waits: there, the names of jobs, profiles and secrets are read from their
files, and so are values of platforms, as far as a form has listed them. Profiles that need no file, URIs and
hyperparameters need the engine, and are completed in notebooks.
"""

from __future__ import annotations

import argparse
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, cast

from argcomplete.completers import BaseCompleter
from argcomplete.finders import CompletionFinder

from ..client.connect import connect
from ..client.context import NotebookContext
from ..client.uri_completion import continuations
from ..config.secret_store import SecretStore
from ..config.toml_file import SYSTEM_FILE, SettingsFile, user_file
from ..core.errors import PaiError
from ..core.text import plain
from ..jobs.choices import StoredChoices, profiles_with_choices, stored_choices
from ..jobs.state_dir import Home
from ..jobs.store import names
from .parser import parser as grammar
from .spec_from_options import spec_of

# Seconds that a storage may take to list its entries.
_TIMEOUT = 2.0
_STATUSES = "queued starting running succeeded failed stopped lost".split()
_SORTS = "submitted name status took hp:".split()
_SPECS = (".json", ".toml", ".yaml", ".yml")
_WORKFLOWS = (".json", ".yaml", ".yml")
# Runs of workflows offered at once.
_MOST_RUNS = 50

# Returns the completions of a word: a list, or a table with their descriptions, which some shells show.
Completer = Callable[[str], Iterable[str]]


def complete(line: str, word: str, caller: NotebookContext | None = None) -> list[str]:
    """Return the texts that can replace `word`, the end of `line`, in a notebook. `caller` is the notebook that the
    line is written in.

    Front ends split words at colons, so `word` may be only the end of a URI.
    """
    magic, _space, rest = line.lstrip().partition(" ")
    if magic.startswith("%%"):
        command, words = grammar.cell_parser(), []
    else:
        words = rest.split()
        command = grammar.parser("%pai", words)
    finder = _Finder(command, always_complete_options=False, default_completer=_Nothing(), append_space=False)
    finder.word = word
    finder.attach(command, _InNotebook(caller or NotebookContext(Path.cwd()), words))
    finder.rl_complete(rest, 0)
    return finder.found


def complete_in_shell() -> None:
    """Print the completions that a shell asks for, by argcomplete's protocol, and end the process."""
    try:
        command = grammar.parser(words=os.environ.get("COMP_LINE", "").split())
        finder = _Finder(command)
        finder.attach(command, _InShell(NotebookContext(Path.cwd())))
        finder(command, always_complete_options=False, default_completer=_Nothing())
    finally:
        os._exit(1)  # Without the traceback of an error.


class _Finder(CompletionFinder):
    """Completes the words of a parser. Options are offered after a dash, or where no other completion is known."""

    # The end of the last word, for which completions are wanted, if not for the whole word.
    word: str | None = None
    prefix = ""
    found: list[str]

    def attach(self, command: argparse.ArgumentParser, completers: _InShell, verb: str = "") -> None:
        """Give the arguments of a parser and of its verbs their completers."""
        for action in command._actions:
            if isinstance(action, argparse._SubParsersAction):
                for name, parser in action.choices.items():
                    self.attach(parser, completers, name)
            elif completer := completers.of(verb, action.dest):
                cast(Any, action).completer = partial(_quietly, completers, completer)

    def collect_completions(self, active_parsers: Any, parsed_args: Any, cword_prefix: str) -> list[str]:
        self.prefix = cword_prefix
        found: list[str] = super().collect_completions(active_parsers, parsed_args, cword_prefix)
        if not found and not cword_prefix:
            self.always_complete_options = "long"
            found = super().collect_completions(active_parsers, parsed_args, cword_prefix)
        return found

    def quote_completions(self, completions: Any, cword_prequote: str, last_wordbreak_pos: Any) -> list[str]:
        if self.word is not None and self.prefix.endswith(self.word):
            completions = [text[len(self.prefix) - len(self.word) :] for text in completions]
        self.found = super().quote_completions(completions, cword_prequote, last_wordbreak_pos)
        return self.found


def _quietly(
    completers: _InShell, completer: Completer, prefix: str, parsed_args: argparse.Namespace, **_context: object
) -> Iterable[str]:
    """Return the completions of a word, or none after any error: a completion prints no errors. Texts with control
    characters are omitted, since a shell prints them."""
    completers.options = parsed_args
    try:
        found = completer(prefix)
        if isinstance(found, dict):
            return {text: plain(str(description)) for text, description in found.items() if plain(text) == text}
        return [text for text in found if plain(text) == text]
    except Exception:
        return []


class _Nothing(BaseCompleter):
    """Completes no files for arguments without a completer."""

    def __call__(self, **_context: object) -> list[str]:
        return []


class _InShell:
    """The completers of arguments, without an engine. `caller` has the folder of relative paths."""

    def __init__(self, caller: NotebookContext) -> None:
        self.caller = caller
        # Those in front of the word.
        self.options = argparse.Namespace()
        folders = partial(self._paths, suffixes=())
        # By the name of the argument, or by verb and name.
        self._completers: dict[str, Completer] = {
            **dict.fromkeys(("job", "jobs", "other"), self._jobs),
            **dict.fromkeys(("stop jobs", "terminal job"), partial(self._jobs, ended=False)),
            "delete jobs": partial(self._jobs, ended=True),
            **dict.fromkeys(("path", "allow_secret"), self._paths),
            **dict.fromkeys(("source", "folder", "place"), folders),
            **dict.fromkeys(("uri", "to", "output_path"), self._uris),
            **dict.fromkeys(("input", "output"), self._channels),
            "target": partial(self._paths, suffixes=(".py", ".sh", ".ipynb")),
            "notebook": partial(self._paths, suffixes=(".ipynb",)),
            "spec": partial(self._paths, suffixes=_SPECS),
            **dict.fromkeys(("profile", "profile name"), lambda _prefix: self._profiles()),
            "backend": lambda _prefix: sorted(set(self._profiles().values())),
            "instance_type": lambda _prefix: self._instance_types(),
            "option": partial(self._choices, "options"),
            "profile values": partial(self._choices, "settings"),
            "workflow target": self._workflows,
            "workflow output": self._paths,
            **dict.fromkeys(("secret", "secret name"), lambda _prefix: SecretStore().places()),
            "status": lambda _prefix: _STATUSES,
            "sort": lambda _prefix: _SORTS,
            "order": lambda _prefix: ("asc", "desc"),
        }

    def of(self, verb: str, argument: str) -> Completer | None:
        """Return the completer of an argument, if it has one."""
        return self._completers.get(f"{verb} {argument}") or self._completers.get(argument)

    def _jobs(self, prefix: str, ended: bool | None = None) -> dict[str, str]:
        return names.job_names(Home().database, prefix, ended=ended) | {"last": ""}

    def _profiles(self) -> dict[str, str]:
        """Return the backends of profiles: of the files, and of profiles without a file that jobs have used."""
        used = names.used_profiles(Home().database)
        profiles = {"local": "local"} | {name: backend for name, backend in used.items() if name == backend}
        for path in (SYSTEM_FILE, user_file()):
            with suppress(PaiError):
                profiles |= {
                    name: str(keys.get("backend", name)) for name, keys in SettingsFile(path).profiles().items()
                }
        return dict(sorted(profiles.items()))

    def _instance_types(self) -> dict[str, str]:
        listed = [lists["instance_types"].choices for lists in self._lists() if "instance_types" in lists]
        used = names.used_instance_types(Home().database)
        return {name: label for choices in listed for name, label in choices.items()} | used

    def _choices(self, kind: str, prefix: str) -> dict[str, str]:
        """Return `KEY=` for each key that is picked from a list of the platform, or `KEY=VALUE` with the values."""
        key, equals, _value = prefix.partition("=")
        found = [(one, field) for lists in self._lists() for one in lists.values() for field in getattr(one, kind)]
        if not equals:
            return {f"{field}=": "" for _one, field in found}
        return {f"{key}={value}": label for one, field in found if field == key for value, label in one.choices.items()}

    def _lists(self) -> list[dict[str, StoredChoices]]:
        """Return the stored lists of the profile that the line names, else of the default one, else of all."""
        words, folder = vars(self.options), Home().choices
        if words.get("verb") == "profile":
            return [stored_choices(folder, words["name"])]
        profile = words.get("profile")
        for path in () if words.get("backend") else (user_file(), SYSTEM_FILE):
            with suppress(PaiError):
                profile = profile or SettingsFile(path).default()
        return [stored_choices(folder, name) for name in ([profile] if profile else profiles_with_choices(folder))]

    def _workflows(self, prefix: str) -> dict[str, str]:
        """Return the newest runs by id and by name, or the files of `run` and `export`, or gathered steps."""
        action = vars(self.options).get("action")
        if action == "clear":
            return self._gathered_steps()
        files = dict.fromkeys(self._paths(prefix, _WORKFLOWS), "") if action in ("run", "export") else {}
        if action == "run":
            return files
        runs = [_run_of(path) for path in sorted(Home().workflows.glob("*/run.json"), key=_time_of)[-_MOST_RUNS:]]
        ids = {run["id"]: f"{run['name']}, {run['status']}" for run in runs}
        return files | {run["name"]: f"{run['id']}, {run['status']}" for run in runs} | ids | {"last": ""}

    def _gathered_steps(self) -> dict[str, str]:
        return {}  # A shell gathers none.

    def _paths(self, prefix: str, suffixes: tuple[str, ...] = ("",)) -> Iterator[str]:
        """Yield folders, and files with one of these suffixes. Hidden ones are included once the dot is typed."""
        parent, begun = prefix[: prefix.rfind("/") + 1], prefix[prefix.rfind("/") + 1 :]
        for entry in sorted(os.scandir(self.caller.path(parent or ".")), key=lambda entry: entry.name):
            if entry.name.startswith(begun) and (begun.startswith(".") or not entry.name.startswith(".")):
                if entry.is_dir():
                    yield f"{parent}{entry.name}/"
                elif entry.name.endswith(suffixes):
                    yield f"{parent}{entry.name}"

    def _uris(self, prefix: str) -> Iterable[str]:
        return [] if "://" in prefix else self._paths(prefix)

    def _channels(self, prefix: str) -> list[str]:
        name, equals, uri = prefix.partition("=")
        return [f"{name}={found}" for found in self._uris(uri)] if equals else []


def _run_of(path: Path) -> dict[str, str]:
    with suppress(OSError, ValueError):
        run = json.loads(path.read_text("utf-8"))
        return {name: str(run.get(name, "")) for name in ("id", "name", "status")}
    return {"id": path.parent.name, "name": "", "status": ""}


def _time_of(path: Path) -> float:
    with suppress(OSError):
        return path.stat().st_mtime
    return 0.0


class _InNotebook(_InShell):
    """The completers of arguments, with the engine that the notebook uses. `words` are those of the line."""

    def __init__(self, caller: NotebookContext, words: list[str]) -> None:
        super().__init__(caller)
        self.words = words
        if words:
            self._completers["hp"] = self._hyperparameters

    def _profiles(self) -> dict[str, str]:
        profiles = connect().call("profiles")["profiles"]
        return {profile["name"]: profile["settings"]["backend"] for profile in profiles}

    def _gathered_steps(self) -> dict[str, str]:
        from .gathered_steps import names as gathered  # With the client's modules, which a shell does not load.

        return dict.fromkeys(gathered(), "")

    def _uris(self, prefix: str) -> Iterable[str]:
        """Return the continuations of a URI, or of a path. Gives up on a slow storage."""
        if "://" not in prefix:
            return self._paths(prefix)
        uris: list[str] = []

        def fetch() -> None:
            with suppress(PaiError):
                uris.extend(continuations(connect(), prefix))

        fetching = threading.Thread(target=fetch, daemon=True)
        fetching.start()
        fetching.join(_TIMEOUT)
        return uris

    def _hyperparameters(self, prefix: str) -> list[str]:
        """Return `NAME=` for each hyperparameter of the code that the line names."""
        words = self.words[: -2 if prefix else -1]  # Without `--hp` and its value.
        with suppress(SystemExit):
            options = grammar.parse(grammar.parser("%pai", words), words)
            definitions = connect().inspect(spec_of(options, self.caller, target=options.target))["hyperparameters"]
            return [f"{item['name']}=" for item in definitions if item["form"] in ("option", "none")]
        return []
