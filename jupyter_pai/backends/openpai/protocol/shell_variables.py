"""Variables that a bash script expands and never sets: with `nounset`, the first of them ends it.

A script in which this cannot be decided, such as one with `eval` or `source`, has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["assigned", "expansions", "unset_variables"]

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
# Commands after which any variable may be set, and options after which unset ones do not matter.
_UNDECIDABLE = re.compile(
    r"(?:^|[\s;&|(`])(?:eval|source|\.)\s|set\s+\+(?:[a-z]*u|o\s+nounset)"
    r"|(?:export|declare|typeset)\s+(?:-\w+\s+)*[\"']?[$`]|\bmodule\s+load|\b(?:conda|mamba)\s+activate",
    re.MULTILINE,
)
_ASSIGNMENT = re.compile(rf"\b({_NAME})(?:\[[^]\n]*\])?\s*(?:[-+*/%&|^:]|<<|>>)?=")
_WORDS_AFTER = re.compile(
    r"\b(?:for|select|read|export|declare|typeset|local|readonly|mapfile|readarray|getopts|printf\s+-v|unset|let)\b"
    r"([^;&|)\n]*)|(?<=\s)-v\s+([^;&|)\n]*)"
)
_HEREDOC = re.compile(r"<<(-?)[ \t]*(?:'([^'\n]+)'|\"([^\"\n]+)\"|(\\?)([\w.-]+))")
_USE = re.compile(rf"\$(?:({_NAME})|\{{#?({_NAME})(:?[-=?+])?)")
# Variables that bash or common images set.
_IF_SET = re.compile(rf"\$\{{{_NAME}:?\+([^}}]*)\}}")
_GUARDED = re.compile(rf"\$\{{({_NAME}):?[-=?+]")
_TEMPLATE = re.compile(r"<%.*?%>", re.DOTALL)
_USUAL = re.compile(
    r"_|BASH\w*|COLUMNS|DEBIAN_FRONTEND|DIRSTACK|EPOCH\w+|EUID|FUNCNAME|GROUPS|HIVED_\w+|HOME|HOSTNAME|HOSTTYPE|IFS"
    r"|LANG|LANGUAGE|LC_\w+|LD_\w+|LINENO|LINES|MACHTYPE|OLDPWD|OPT(?:ARG|ERR|IND)|OSTYPE|PATH|PIPESTATUS|PPID|PS[0-4]"
    r"|PWD|RANDOM|REPLY|SECONDS|SHELL|SHELLOPTS|SHLVL|SRANDOM|TERM|TMPDIR|UID|USER|NVIDIA_VISIBLE_DEVICES"
    r"|(?:CONDA|CUDA|CUDNN|JAVA|HADOOP|NCCL|NV|NVIDIA|PYTHON|TF|TORCH|OMPI|MPI)_?\w*"
)


def assigned(text: str) -> set[str]:
    """Return the names that a script sets, or expands with a default, anywhere; more rather than fewer."""
    names = {match[1] for match in _GUARDED.finditer(text)}
    names |= {name for match in _IF_SET.finditer(text) for name in re.findall(_NAME, match[1])}
    names |= {match[1] for match in _ASSIGNMENT.finditer(text)}
    for match in _WORDS_AFTER.finditer(text):
        names |= {*re.findall(rf"(?:^|[\s'\"])({_NAME})", match[1] or match[2] or "")}
    return names


def unset_variables(script: str) -> list[str]:
    """Return the variables that a script expands without a default, and neither sets nor finds set, in order."""
    script = _TEMPLATE.sub("x", script)
    if _UNDECIDABLE.search(script):
        return []
    known = assigned(script)
    used = dict.fromkeys(expansions(script))
    return [name for name in used if name not in known and not _USUAL.fullmatch(name)]


def expansions(script: str) -> list[str]:
    """Return the variables that a script expands without a default, in order; none if quotes do not match."""
    try:
        return [*_Scanner(script).uses()]
    except ValueError:
        return []


class _Scanner:
    """Finds expansions: not in single quotes, comments, after a backslash, or in here-documents that are quoted.

    `_inside` has the open constructs: `"`, `)` of `$(`, a backtick, and `}` of `${`.
    """

    def __init__(self, script: str, at: int = 0) -> None:
        self._script = script
        self._at = at
        self._inside: list[str] = []
        self._documents: list[tuple[str, bool, bool]] = []  # Delimiter, whether quoted, whether tabs are removed.

    def uses(self) -> Iterator[str]:
        """Yield the expanded names. Raises `ValueError` if quotes and brackets do not match."""
        while self._at < len(self._script):
            yield from self._step(self._script[self._at])
        if self._inside or self._documents:
            raise ValueError(self._inside)

    def _step(self, char: str) -> Iterator[str]:
        quoted = self._inside[-1:] == ['"']
        braced = self._inside[-2:] == ['"', "}"]
        start = self._at
        self._at += 1
        if char == "\\":
            self._at += 1
        elif self._inside and char == self._inside[-1]:
            self._inside.pop()
        elif char in '"`':
            self._inside.append(char)
        elif char == "'" and not quoted and not braced:
            self._skip_quotes(start)
        elif char == "(" and not quoted:
            self._inside.append(")")
        elif char == "#" and not quoted and (start == 0 or self._script[start - 1] in " \t\n;&|("):
            self._at = self._line_end(start)
        elif char == "<" and not quoted and (match := _HEREDOC.match(self._script, start)):
            self._open_document(match)
        elif char == "\n" and self._documents and not quoted:
            yield from self._read_documents()
        elif char == "$":
            yield from self._expansion(start)

    def _skip_quotes(self, start: int) -> None:
        pattern = r"\$'(?:\\.|[^'\\])*'" if self._script[start - 1 : start] == "$" else r"'[^']*'"
        match = re.compile(pattern, re.DOTALL).match(self._script, start - (pattern[1] == "$"))
        if not match:
            raise ValueError(start)
        self._at = match.end()

    def _line_end(self, start: int) -> int:
        end = self._script.find("\n", start)
        return end if end >= 0 else len(self._script)

    def _open_document(self, match: re.Match[str]) -> None:
        if self._script.startswith("<<<", match.start()):
            self._at = match.start() + 3
            return
        delimiter = match[2] or match[3] or match[5]
        self._documents.append((delimiter, not match[5] or bool(match[4]), bool(match[1])))
        self._at = match.end()

    def _read_documents(self) -> Iterator[str]:
        for delimiter, is_quoted, tabs in self._documents:
            body: list[str] = []
            while True:
                if self._at >= len(self._script):
                    raise ValueError(delimiter)
                end = self._line_end(self._at)
                line = self._script[self._at : end]
                self._at = end + 1
                if (line.lstrip("\t") if tabs else line) == delimiter:
                    break
                body.append(line)
            if not is_quoted:
                yield from _expanded_in("\n".join(body))
        self._documents = []

    def _expansion(self, start: int) -> Iterator[str]:
        if self._script.startswith("(", self._at):
            self._inside.append(")")
            self._at += 1
            return
        match = _USE.match(self._script, start)
        if match:
            self._at = match.end()
            if not match[3]:
                yield match[1] or match[2]
        elif self._script.startswith("{", self._at):
            self._at += 1
        if self._script.startswith("${", start):
            self._inside.append("}")


def _expanded_in(text: str) -> Iterator[str]:
    """Yield the names that a here-document expands."""
    for match in _USE.finditer(re.sub(r"\\.", "", text, flags=re.DOTALL)):
        if not match[3]:
            yield match[1] or match[2]
