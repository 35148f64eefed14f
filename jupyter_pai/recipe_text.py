"""A cell, a command line, a call in Python or JSON as the spec that it asks for: the way back from `recipe`.

Nothing is run: lines go through the grammar of the magics, Python through its syntax tree, of which only values are
taken. What a kernel or a shell would put in for a variable nobody knows here, so that is refused.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from . import call_text, grammar, job_name, notebook, script
from .errors import BadInput, PaiError, UsageError
from .expansion import words_of
from .i18n import _
from .job import parse_spec
from .place import Place
from .submission import spec_of

__all__ = ["Asked", "read"]

Form = Literal["cell", "cli", "python", "json"]
_LARGEST_FILE = 1_000_000
_CELL = re.compile(r"%%pai_train\b[ \t]*")
_MAGIC = re.compile(r"(?:[A-Za-z_]\w*[ \t]*=[ \t]*)?%pai[ \t]+(?=submit\b)")
_LINE = re.compile(r"[!$]?[ \t]*(?:jupyter[ -]pai|python[\d.]*[ \t]+-m[ \t]+jupyter_pai)[ \t]+(?=submit\b)")
# A document that the shell gives a command to read: its end comes on a line of its own.
_HERE = re.compile(r"<<-?[ \t]*(['\"]?)(\w+)\1[ \t]*$")
_STDIN = ("/dev/stdin", "-")
# Quoted as it is; quoted, with what the shell puts in; escaped; an end of line that is none.
_PARTS = re.compile(r"""(?P<single>'[^']*')|(?P<double>"(?:[^"\\]|\\.)*")|(?P<escaped>\\[^\n])|(?P<open>\\\n)""")


class Asked(NamedTuple):
    """What a text asks for: a spec as JSON without what is as if nobody had said it, and a backend by name."""

    spec: dict[str, Any]
    backend: str
    form: Form


class _Unknown(Mapping[str, object]):
    """The variables of a kernel that is not here: each of them may be one, and none can be told."""

    def __contains__(self, name: object) -> bool:
        return True

    def __getitem__(self, name: str) -> object:
        raise UsageError(
            _("`{name}` is a variable, whose value is not known here.").format(name=name),
            fix=_("Write the value itself in its place."),
        )

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def read(text: str, place: Place) -> Asked:
    """What a text asks for, written in a notebook or anywhere else (`place`). May block.

    Raises:
        BadInput: saying in which line and column something is wrong; ``details`` has `line` and `column`, from 1 on.
    """
    begin = len(text) - len(text.lstrip())
    try:
        return _read(text, begin, place)
    except PaiError as error:
        if error.status >= 500:
            raise
        raise _located(error, text, begin) from None


def _read(text: str, begin: int, place: Place) -> Asked:
    if found := _CELL.match(text, begin):
        return _cell(text[found.end() :], place)
    if found := _MAGIC.match(text, begin):
        line, _newline, rest = text[found.end() :].partition("\n")
        if rest.strip():
            raise UsageError(_("A line with %pai stands alone here."), fix=_("Take away what comes after it."))
        return _line(words_of(line, _Unknown()), place, "cell")
    if found := _LINE.match(text, begin):
        return _command(text[found.end() :], place)
    if text.startswith("{", begin):
        return _checked(_document(text), "", "json")
    values = call_text.read(text)
    backend = values.pop("backend", "")
    if not isinstance(backend, str):
        raise UsageError(_("`backend` is the name of one."))
    return _checked(
        {name: value for name, value in values.items() if name not in ("wait", "confirmed")}, backend, "python"
    )


def _cell(text: str, place: Place) -> Asked:
    line, _newline, code = text.partition("\n")
    options = _options(grammar.cell_parser(), words_of(line, _Unknown()))
    before: list[notebook.CodeCell] = []
    if place.notebook:
        cells = notebook.read(place.notebook)
        before = notebook.above(cells, "", f"%%pai_train {text}", all_above=options.with_above)
    elif options.with_above:
        raise UsageError(_("--with-above: it is not known which notebook this is."), fix=_("Leave it out."))
    made = script.from_cell(code, [one for one in before if not one.code.lstrip().startswith("%%pai_train")])
    return _asked(options, place, "cell", cell=made.text)


def _command(text: str, place: Place) -> Asked:
    """A command line, with the document that follows it if it reads one."""
    line, _newline, rest = text.partition("\n")
    if here := _HERE.search(line):
        body, end, after = f"{rest}\n".partition(f"\n{here[2]}\n")
        if not end or after.strip():
            raise UsageError(_("The document does not end with a line `{word}`.").format(word=here[2]))
        options = _options(grammar.parser(), shlex.split(line[: here.start()]))
        if options.spec not in _STDIN:
            raise UsageError(_("Nothing reads the document: write --spec /dev/stdin."))
        return _asked(options, place, "cli", document=_document(body))
    return _line(_shell_words(text), place, "cli")


def _shell_words(text: str) -> list[str]:
    """The words of a command as a shell has them, where it has no values to put in."""
    plain = _PARTS.sub(lambda part: "_" * len(part[0]) if not part["double"] else part[0].replace("\\$", "__"), text)
    if found := re.search(r"[$`]\w*", plain):
        raise UsageError(
            _("`{text}` is for a shell to fill in, and there is none here.").format(text=found[0]),
            fix=_("Write the value itself in its place, or put it in single quotes if it is meant as it is."),
        )
    whole = _PARTS.sub(lambda part: " " if part["open"] else part[0], text).rstrip()
    if "\n" in _PARTS.sub("", whole):
        raise UsageError(
            _("One command is read, and there are several lines."), fix=_("End a line that goes on with \\")
        )
    return words_of(whole, {})


def _line(words: list[str], place: Place, form: Form) -> Asked:
    return _asked(_options(grammar.parser(), words), place, form)


def _options(command: Any, words: list[str]) -> grammar.Options:
    if {"-h", "--help"} & set(words):
        raise UsageError(_("--help asks for no job."))
    return grammar.parse(command, words)


def _asked(
    options: grammar.Options, place: Place, form: Form, *, cell: str = "", document: dict[str, Any] | None = None
) -> Asked:
    if options.spec and document is None:
        _check_file(place.path(options.spec))
    spec = spec_of(options, place, target=getattr(options, "target", ""), cell=cell, document=document)
    if not options.name and not (document or {}).get("name"):
        del spec["name"]
    return _checked(spec, options.backend or "", form)


def _check_file(path: Path) -> None:
    """A file of `--spec` is one, and of a size that a spec has."""
    if path.exists() and not (path.is_file() and path.stat().st_size <= _LARGEST_FILE):
        raise UsageError(_("{path} is no file that could hold a spec.").format(path=path))


def _document(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(
            _("This is no JSON: {error}.").format(error=error.msg),
            fix=_("Mend it there, or paste it whole."),
            line=error.lineno,
            column=error.colno,
        ) from None
    except RecursionError:
        raise UsageError(_("This is no JSON: {error}.").format(error=_("it is too deep"))) from None
    if not isinstance(found, dict):
        raise UsageError(_("This JSON holds no table of fields."))
    return found


def _checked(spec: dict[str, Any], backend: str, form: Form) -> Asked:
    """What is asked for, if it can be."""
    named = spec.get("name") not in (None, "")
    whole = parse_spec(spec if named else spec | {"name": job_name.of_request(spec, "")})
    found = whole.model_dump(mode="json", exclude_defaults=True)
    if not named:
        del found["name"]
    return Asked(found, backend, form)


def _located(error: PaiError, text: str, begin: int) -> PaiError:
    """The error with line and column: those that it knows, else of the first word in the text that it speaks of."""
    details = dict(error.details)
    line, column = details.pop("line", 0), details.pop("column", 1)
    if not isinstance(line, int) or line < 1:
        fields = details.get("faults")
        words = [*re.findall(r"[`']([^`'\n]+)[`']", error.message), *_names(fields if isinstance(fields, dict) else {})]
        # A variable is meant where it is one.
        forms = (form for word in words for form in (f"{{{word}}}", f"${word}", word))
        index = next((place for form in forms if (place := text.find(form, begin)) >= 0), begin)
        line, column = text.count("\n", 0, index) + 1, index - (text.rfind("\n", 0, index) + 1) + 1
    where = _("Line {line}, column {column}: {what}").format(line=line, column=column, what=error.message)
    kind = type(error) if isinstance(error, BadInput) else UsageError
    return kind(where, fix=error.fix, **details | {"line": line, "column": column})


def _names(fields: Mapping[str, object]) -> Iterator[str]:
    """How fields may be called in a text, the most telling name first."""
    for field in fields:
        for part in reversed(field.split(".")):
            yield from (part, part.replace("_", "-"))
