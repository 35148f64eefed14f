"""Rules that exclude files of a folder from the archive.

The first matching rule decides, in this order: `--allow-secret` for single files; names of secret files; `--exclude`;
`.paiignore`, deepest first, which may include files again with ``!``; `.gitignore`, likewise, from the top of the
repository; files that jobs never need (version control, caches, virtual environments), unless `.paiignore` names them;
`--include`, if set. Within a file, git's rules hold: a line ends with a line feed only, bytes that are not UTF-8 match
those of names, and an invalid pattern matches nothing.

Packing a folder selects it. A rule of a repository above that excludes the folder itself, or one of its parents, is
therefore not applied to its content.
"""

from __future__ import annotations

import codecs
import os
import posixpath
import re
from collections.abc import Collection, Iterator, Sequence
from copy import copy
from fnmatch import translate
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..core.errors import SourceError
from ..core.i18n import _

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_SECRET = """
    .env .env.* id_rsa id_dsa id_ecdsa id_ed25519 *.pem *.key *.p8 *.p12 *.pfx *.ppk *.jks *.jceks *.keystore *.kdbx
    .netrc _netrc .pypirc .npmrc .git-credentials .pgpass .my.cnf .mylogin.cnf .s3cfg .boto .dockercfg .htpasswd
    .vault-token kaggle.json *.tfstate *.tfstate.backup
    .ssh .gnupg .aws .azure .kube .aliyun .aliyuncli .alibabacloud .ossutilconfig .tikit .pai .cos.conf .tccli
    .tencentcloud
    jupyter_pai_secrets.json
""".split()
_NOT_SECRET = ".env.example .env.sample .env.template .env.dist".split()
_USELESS = """
    .git .hg .svn .ipynb_checkpoints __pycache__ *.pyc .mypy_cache .pytest_cache .ruff_cache .tox .nox .eggs
    node_modules .DS_Store Thumbs.db .idea .vscode .virtual_documents .nfs* .~*
""".split()


# Globs of the names that are excluded by default, and of those that are not although they match one of them.
EXCLUDED, INCLUDED = (*_SECRET, *_USELESS), (*_NOT_SECRET,)

# Entries that only virtual and conda environments have.
ENVIRONMENT_MARKS = ("pyvenv.cfg", "conda-meta")

_IS_SECRET, _IS_NOT_SECRET, _IS_USELESS = (
    re.compile("|".join(map(translate, globs)), re.IGNORECASE) for globs in (_SECRET, _NOT_SECRET, _USELESS)
)


class Reason(NamedTuple):
    """The reason why a path is excluded: a text for users, and the file or option with the rule, empty if it is a rule
    of this module. `expected`: jobs never need the path."""

    text: str
    rule: str = ""
    expected: bool = False


class Rules:
    """The rules of one folder; `below` returns those of a subfolder."""

    def __init__(
        self,
        folder: str,
        include: Sequence[str],
        exclude: Sequence[str],
        gitignore: bool,
        allowed: Collection[str] = (),
    ) -> None:
        self.folder = folder
        self.allowed = frozenset(allowed)
        # Excluded folders that contain allowed files, with the reason.
        self.passages: dict[str, Reason] = {}
        self.gitignore = gitignore
        for field, given in (("include", include), ("exclude", exclude)):
            _check(field, given)
        self.include = _spec(include) if include else None
        self.exclude = _Patterns("--exclude", "", exclude) if exclude else None
        self.pai: list[_Patterns] = []
        self.git: list[_Patterns] = []
        for above in _repository_above(folder) if gitignore else ():
            prefix = os.path.relpath(folder, above) + "/"
            self.git += [patterns.without_folder() for patterns in _read(above, ".gitignore", prefix)]
        self._read_own("")

    def below(self, path: str, has: Sequence[str]) -> Rules:
        """Return the rules of the folder `path` ("a/b/", relative to the top), which has the entries `has`."""
        if ".gitignore" not in has and ".paiignore" not in has:
            return self
        rules = copy(self)
        rules._read_own(path)
        return rules

    def _read_own(self, path: str) -> None:
        where = os.path.join(self.folder, path)
        self.pai = self.pai + _read(where, ".paiignore", "", path)
        if self.gitignore:
            self.git = self.git + _read(where, ".gitignore", "", path)

    def why_out(self, path: str, name: str, is_folder: bool) -> Reason | None:
        """Return why `path` (relative to the top) is excluded; None if it is included."""
        if path in self.allowed:
            return None
        why = self.passages.get(path.rpartition("/")[0]) or self._rule(path, name, is_folder)
        if why and is_folder and any(file.startswith(path + "/") for file in self.allowed):
            self.passages[path] = why
            return None
        return why

    def _rule(self, path: str, name: str, is_folder: bool) -> Reason | None:
        if _IS_SECRET.match(name) and not _IS_NOT_SECRET.match(name):
            return Reason(_("may contain secrets"))
        full = path + "/" if is_folder else path
        useless = bool(_IS_USELESS.match(name))
        for patterns in (*filter(None, [self.exclude]), *reversed(self.pai), *reversed(self.git)):
            pattern = patterns.match(full)
            if pattern and not pattern.startswith("!"):
                shown = pattern.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
                return Reason(f"{patterns.title}: {shown}", patterns.title, useless)
            if pattern and patterns is not self.exclude:
                # `!*/` of a list of files to include does not mean `.git`.
                if not useless or (patterns in self.pai and pattern.strip("!*/")):
                    return None
                break
        if useless:
            return Reason(_("not needed by jobs"), expected=True)
        if self.include and not is_folder and not self.include.match_file(path):
            return Reason(_("not matched by --include"), "--include")
        return None


def is_excluded(name: str) -> bool:
    """Return whether files and folders of this name are excluded by default."""
    return bool((_IS_SECRET.match(name) and not _IS_NOT_SECRET.match(name)) or _IS_USELESS.match(name))


def parents(path: str) -> Iterator[str]:
    """Yield the folders of a relative path, innermost first."""
    while path := posixpath.dirname(path):
        yield path


def is_environment(names: Collection[str]) -> bool:
    """Return whether a folder with these entries is a virtual or conda environment."""
    return any(mark in names for mark in ENVIRONMENT_MARKS)


class _Patterns:
    """One ignore file. `prefix` is the packed folder relative to the file, `base` the file's folder relative to it."""

    def __init__(self, title: str, prefix: str, lines: Sequence[str], base: str = "") -> None:
        self.title = title
        self.prefix = prefix
        self.base = base
        # With its line, the last one first; without comments.
        self.patterns = [(pattern, line.rstrip()) for line in lines if (pattern := _compiled(line))][::-1]

    def match(self, path: str) -> str:
        """Return the pattern that decides on `path`, with ``!`` if it includes it; "" if none matches.

        As in git, the last matching pattern decides, and a pattern that matches a folder does not match its content:
        an excluded folder is not walked.
        """
        path = self.prefix + path.removeprefix(self.base)
        return next((line for pattern, line in self.patterns if _matches(pattern, path)), "")

    def without_folder(self) -> _Patterns:
        """Remove the patterns that exclude the packed folder or one of its parents."""
        dropped = set()
        names = self.prefix.rstrip("/").split("/")
        for depth in range(1, len(names) + 1):
            folder = "/".join(names[:depth]) + "/"
            matches = [line for pattern, line in self.patterns if _matches(pattern, folder)]
            if matches and not matches[0].startswith("!"):  # The last match decides.
                dropped |= {line for line in matches if not line.startswith("!")}
        lines = [line for _pattern, line in reversed(self.patterns) if line not in dropped]
        return _Patterns(self.title, self.prefix, lines, self.base)


def _matches(pattern: re.Pattern[str], path: str) -> bool:
    """Return whether a pattern of pathspec matches `path` itself, not only a folder above it.

    It has one group, the end of a matched folder, unless it matches all content (`**`).
    """
    if not pattern.groups:
        return bool(pattern.search(path.rstrip("/")))
    return any(match.end() == len(path) for match in pattern.finditer(path))


def _read(folder: str, name: str, prefix: str, base: str = "") -> list[_Patterns]:
    try:
        data = Path(folder, name).read_bytes()
    except OSError:
        return []
    if name != ".gitignore" and data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        data = data.decode("utf-16", "replace").encode()  # git reads none of it.
    lines = data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape").split("\n")
    lines = [line.removesuffix("\r").partition("\0")[0] for line in lines]
    return [_Patterns(os.path.join(base, name), prefix, lines, base)]


def _repository_above(folder: str) -> list[str]:
    """Return the folders from the top of the surrounding git repository down to the parent of `folder`."""
    folders = [Path(folder), *Path(folder).parents]
    top = next((n for n, path in enumerate(folders) if (path / ".git").exists()), 0)
    return [str(path) for path in reversed(folders[1 : top + 1])]


def _check(field: str, patterns: Sequence[str]) -> None:
    for pattern in patterns:
        if pattern and not pattern.startswith("#") and not _compiled(pattern):
            text = _("Invalid pattern `{pattern}`: expected one as in .gitignore.")
            raise SourceError(text.format(pattern=pattern)).at(f"source.{field}")


def _compiled(line: str) -> re.Pattern[str] | None:
    """Return the pattern of a line; None for a comment, an empty line and an invalid pattern."""
    try:
        patterns = [*_spec([line]).patterns]
    except (ValueError, re.error):
        return None
    return patterns[0].regex if patterns else None


def _spec(lines: Collection[str]) -> GitIgnoreSpec:
    # Imported on first use: it takes 2 MB of memory.
    from pathspec import GitIgnoreSpec

    # Other backends need valid Unicode.
    return GitIgnoreSpec.from_lines(lines, backend="simple")
