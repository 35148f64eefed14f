"""Packs a folder of code.

`scan` lists the files; `pack` returns the archive, stored under the digest of its content. Unchanged files are not read
again, and known content is not packed again.
"""

from __future__ import annotations

import os
import stat
import tempfile
import time
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ..core.errors import SourceError
from ..core.i18n import _, ngettext
from ..core.text import show_size
from ..jobs.spec import Source
from ..jobs.state_dir import ExcludedPath, state_errors
from . import archive, import_paths, notebook, secret_scan
from .archive import Content, Entry
from .file_cache import FileMemory, FileNotes
from .ignore import ENVIRONMENT_MARKS, Rules, is_environment
from .paths.fixes import link_options
from .script import with_shell
from .secret_scan import Match

_MOST_FILES = 50_000
# Links that an error names.
_MOST_LINKS = 5


@dataclass(frozen=True)
class Manifest:
    """The files of a folder that are packed. `allowed` has the paths of files that may contain secrets."""

    folder: str
    entries: tuple[Entry, ...]
    excluded: tuple[ExcludedPath, ...]
    allowed: frozenset[str] = frozenset()

    @property
    def files(self) -> int:
        return sum(not entry.is_folder for entry in self.entries)

    @property
    def bytes(self) -> int:
        return sum(entry.size for entry in self.entries)

    def import_paths(self) -> tuple[str, ...]:
        """Return the folders of the project's packages, relative to the code (see `import_paths`). May block."""
        pyproject = next((entry for entry in self.entries if entry.path == "pyproject.toml"), None)
        text = b""
        if pyproject and pyproject.size <= import_paths.LARGEST:
            with suppress(OSError):
                text = Path(pyproject.file).read_bytes() if pyproject.data is None else pyproject.data
        return import_paths.import_paths((entry.path for entry in self.entries), text.decode("utf-8", "replace"))

    def ready(self) -> Manifest:
        """Return the manifest with notebooks without outputs, as they are packed, and thus with their final sizes."""
        return replace(self, entries=tuple(map(_ready, self.entries)))

    def biggest(self, n: int) -> list[Entry]:
        """Return the `n` largest files, largest first."""
        return sorted(self.entries, key=lambda entry: -entry.size)[:n]


@dataclass(frozen=True)
class Packed:
    """An archive: its path, the digest of its content, SHA-256 by file path, and notes on likely secrets."""

    path: Path
    digest: str
    hashes: dict[str, str]
    notes: tuple[str, ...] = ()


def scan(source: Source, limit: int, apart: Mapping[str, str] | None = None, *, may_be_empty: bool = False) -> Manifest:
    """List the files to pack. `limit` is in bytes; `apart` has folders and links that are not packed, path to reason; a
    file among them is packed, unless a rule excludes it.
    `may_be_empty`: a job without code is intended.

    Raises:
        SourceError: if the folder is missing, unreadable, empty or too large, or has links that leave it.
    """
    files = with_shell(source.files)
    entries = [
        Entry(path, 0o644, len(data), data=data)
        for path, data in ((path, text.encode("utf-8", "surrogateescape")) for path, text in files.items())
    ]
    excluded: list[ExcludedPath] = []
    allowed = frozenset(
        os.path.relpath(os.path.join("/", source.folder, path), source.folder or "/") for path in source.allow_secret
    )
    if source.folder:
        _check_folder(source.folder)
        rules = Rules(source.folder, source.include, source.exclude, source.gitignore, allowed)
        entries += (e for e in _walk(source.folder, rules, apart or {}, excluded) if e.path not in files)
    manifest = Manifest(source.folder, tuple(entries), tuple(excluded), allowed)
    _check_links(manifest)
    if not (may_be_empty and not entries):
        _check_size(manifest, limit)
    return replace(manifest, entries=tuple(map(_straight, entries)))


def _check_folder(folder: str) -> None:
    fix = _("Relative paths start at the notebook's folder, outside of notebooks at the current folder.")
    if not os.path.isdir(folder):
        raise SourceError(_("Folder not found: {folder}.").format(folder=folder), fix=fix).at("source.folder")
    if not os.access(folder, os.R_OK | os.X_OK):
        raise SourceError(_("No permission to read the folder {folder}.").format(folder=folder), fix=fix).at(
            "source.folder"
        )


def _walk(folder: str, rules: Rules, apart: Mapping[str, str], excluded: list[ExcludedPath]) -> Iterator[Entry]:
    waiting = [("", rules)]
    count = 0
    while waiting:
        path, rules = waiting.pop()
        try:
            items = list(os.scandir(os.path.join(folder, path)))
        except OSError as error:
            raise SourceError(
                _("No permission to read the folder {folder}.").format(folder=os.path.join(folder, path)),
                fix=_("Exclude it with --exclude, or ask its owner for read permission."),
            ) from error
        names = [item.name for item in items]
        if path and is_environment(names):
            excluded.append(ExcludedPath(path, _("virtual environment"), expected=True))
            continue
        rules = rules.below(path, names) if path else rules
        for item in items:
            inner = path + item.name
            is_folder = item.is_dir(follow_symlinks=False)
            why = apart.get(item.path)
            if why and (is_folder or item.is_symlink()):
                excluded.append(ExcludedPath(inner + "/" * is_folder, why, expected=True))
            elif reason := rules.why_out(inner, item.name, is_folder):
                expected = reason.expected or bool(why) or (is_folder and _is_environment_at(item.path))
                excluded.append(ExcludedPath(inner + "/" * is_folder, reason.text, reason.rule, expected))
            elif is_folder:
                waiting.append((inner + "/", rules))
            elif entry := _entry(item, inner, excluded):
                yield entry
        count += len(items)
        if count > _MOST_FILES:
            raise SourceError(
                _("{folder} contains more than {n} files.").format(folder=folder, n=_MOST_FILES),
                fix=_("Check the folder. Choose another with --source, or exclude files with .paiignore."),
            )
        if path and not items:
            yield Entry(path, 0o755)


def _is_environment_at(path: str) -> bool:
    return is_environment([name for name in ENVIRONMENT_MARKS if os.path.exists(os.path.join(path, name))])


def _entry(item: os.DirEntry[str], path: str, excluded: list[ExcludedPath]) -> Entry | None:
    try:
        status = item.stat(follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            return Entry(path, 0o777, link=os.readlink(item.path), file=item.path)
    except OSError as error:
        excluded.append(ExcludedPath(path, error.strerror or str(error)))
        return None
    if not stat.S_ISREG(status.st_mode):
        excluded.append(ExcludedPath(path, _("not a file")))
        return None
    times = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    size = 0 if path.endswith(".ipynb") else status.st_size  # Known after a notebook's outputs are removed.
    return Entry(path, status.st_mode, size, item.path, times)


def _check_links(manifest: Manifest) -> None:
    folder = os.path.realpath(manifest.folder)
    links = [
        entry
        for entry in manifest.entries
        if entry.link
        if os.path.isabs(entry.link) or not Path(os.path.realpath(entry.file)).is_relative_to(folder)
    ]
    out = [f"{entry.path} -> {entry.link}" for entry in links]
    if links:
        raise SourceError(
            ngettext(
                "A link points outside the folder: {links}.", "{n} links point outside the folder: {links}.", len(out)
            ).format(n=len(out), links=", ".join(out[:_MOST_LINKS])),
            fix=_("Pass its target as an input, or exclude a broken link: {options}").format(
                options=link_options([entry.path for entry in links[:_MOST_LINKS]], manifest.folder)
            ),
            links=out,
        )


def _straight(entry: Entry) -> Entry:
    """Return the entry with a direct link, which `unpack` accepts, in place of `sub/../a` or `../folder/a`."""
    if not entry.link or archive.stays_inside(entry.path.rpartition("/")[0], entry.link):
        return entry
    return replace(entry, link=os.path.relpath(os.path.realpath(entry.file), os.path.realpath(Path(entry.file).parent)))


def _check_size(manifest: Manifest, limit: int) -> None:
    if not manifest.entries:
        raise SourceError(
            _("No files to pack in {folder}.").format(folder=manifest.folder),
            fix=_("All files are excluded by .gitignore, .paiignore, --include or --exclude.")
            if manifest.excluded
            else _("Choose another folder with --source."),
        )
    if manifest.bytes > limit:
        raise SourceError(
            _(
                "The size of {folder} is {size}, above the limit of {limit} (`source_limit`). Largest files: {biggest}."
            ).format(
                folder=manifest.folder,
                size=show_size(manifest.bytes),
                limit=show_size(limit),
                biggest=", ".join(f"{entry.path} ({show_size(entry.size)})" for entry in manifest.biggest(5)),
            ),
            fix=_(
                "Pass data as an input (--input NAME=PATH), exclude it (--exclude, .paiignore), or raise the limit: "
                "%pai profile set NAME source_limit={limit}"
            ).format(limit=show_size(2 * manifest.bytes).replace(" ", "")),
        )


def inspect(manifest: Manifest, sources: Path, memory: FileMemory | None = None) -> tuple[Match, ...]:
    """Return likely secrets in the files to pack. Writes nothing; files known to `memory` are not read again.

    Raises:
        SourceError: naming files and lines, if one is certainly a secret.
    """
    began, memory = time.time_ns(), memory or FileMemory()
    contents = FileNotes(sources, manifest.folder).known(manifest.entries) | memory.known(manifest.entries)
    inspected = _inspect(manifest.entries, contents)
    memory.keep(manifest.entries, inspected, began)
    return _check_secrets(manifest, contents | inspected)


def pack(manifest: Manifest, sources: Path) -> Packed:
    """Return the archive of a manifest in the folder `sources`. Known content is not written again.

    Raises:
        SourceError: if a file cannot be read, changes while it is read, or certainly contains a secret.
        StateError: if the archive cannot be written.
    """
    with state_errors(sources):
        return _pack(manifest, sources)


def _pack(manifest: Manifest, sources: Path) -> Packed:
    notes = FileNotes(sources, manifest.folder)
    contents = notes.known(manifest.entries)
    if notes.files:
        # A known folder: its content may be known, as after a file was touched or restored. A new folder is packed and
        # scanned in one pass instead.
        contents |= _inspect(manifest.entries, contents)
        packed = _packed(manifest, contents, sources)
        if packed.path.exists():
            notes.keep(manifest.entries, contents)
            return packed
    return _write(manifest, sources, notes)


def _packed(manifest: Manifest, contents: dict[str, Content], sources: Path) -> Packed:
    hashes = {path: content.sha256 for path, content in contents.items()}
    digest = archive.digest(manifest.entries, hashes)
    return Packed(
        path=sources / f"{digest}.tar.gz",
        digest=digest,
        hashes=hashes,
        notes=secret_scan.messages(_check_secrets(manifest, contents)),
    )


def _write(manifest: Manifest, sources: Path, notes: FileNotes) -> Packed:
    entries = [_ready(entry) for entry in manifest.entries]
    file, temporary = tempfile.mkstemp(dir=sources, suffix=".new")
    try:
        with os.fdopen(file, "wb") as target:
            contents = archive.write(entries, target)
        packed = _packed(manifest, contents, sources)
        os.replace(temporary, packed.path)
    finally:
        Path(temporary).unlink(missing_ok=True)
    notes.keep(manifest.entries, contents)
    return packed


def _check_secrets(manifest: Manifest, contents: dict[str, Content]) -> tuple[Match, ...]:
    return secret_scan.check({path: one.leaks for path, one in contents.items() if path not in manifest.allowed})


def _is_file(entry: Entry) -> bool:
    return not entry.link and not entry.is_folder


def _inspect(entries: Iterable[Entry], known: Container[str]) -> dict[str, Content]:
    """Return the content of all files but the known ones. Unreadable files are skipped: packing reports them."""
    contents = {}
    for entry in entries:
        if _is_file(entry) and entry.path not in known:
            with suppress(OSError):
                contents[entry.path] = archive.inspect(_ready(entry))
    return contents


def _ready(entry: Entry) -> Entry:
    """Return the entry of a notebook without outputs, which are large, may be private, and change with every run."""
    if entry.data is not None or not entry.path.endswith(".ipynb") or not _is_file(entry):
        return entry
    try:
        data = notebook.without_outputs(Path(entry.file).read_bytes())
    except OSError:
        return entry
    return Entry(entry.path, entry.mode, len(data), data=data)
