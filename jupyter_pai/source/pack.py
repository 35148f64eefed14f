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
from ..jobs.state_dir import state_errors
from . import archive, notebook, secret_scan
from .archive import Content, Entry
from .file_cache import FileMemory, FileNotes
from .ignore import Rules, is_environment
from .secret_scan import Match

_MOST_FILES = 50_000


@dataclass(frozen=True)
class LeftOut:
    """An excluded path and the reason."""

    path: str
    why: str


@dataclass(frozen=True)
class Manifest:
    """The files of a folder that are packed. `allowed` has the paths of files that may contain secrets."""

    folder: str
    entries: tuple[Entry, ...]
    left_out: tuple[LeftOut, ...]
    allowed: frozenset[str] = frozenset()

    @property
    def files(self) -> int:
        return sum(not entry.is_folder for entry in self.entries)

    @property
    def bytes(self) -> int:
        return sum(entry.size for entry in self.entries)

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


def scan(source: Source, limit: int, apart: Mapping[str, str] | None = None) -> Manifest:
    """List the files to pack. `limit` is in bytes; `apart` has folders that are not packed, path to reason.

    Raises:
        SourceError: if the folder is missing, unreadable, empty or too large, or has links that leave it.
    """
    entries = [
        Entry(path, 0o644, len(data), data=data)
        for path, data in ((path, text.encode("utf-8", "surrogateescape")) for path, text in source.files.items())
    ]
    left_out: list[LeftOut] = []
    allowed = frozenset(
        os.path.relpath(os.path.join("/", source.folder, path), source.folder or "/") for path in source.allow_secret
    )
    if source.folder:
        _check_folder(source.folder)
        rules = Rules(source.folder, source.include, source.exclude, source.gitignore, allowed)
        entries += (e for e in _walk(source.folder, rules, apart or {}, left_out) if e.path not in source.files)
    manifest = Manifest(source.folder, tuple(entries), tuple(left_out), allowed)
    _check_links(manifest)
    _check_size(manifest, limit)
    return replace(manifest, entries=tuple(map(_straight, entries)))


def _check_folder(folder: str) -> None:
    fix = _("Relative paths start at the notebook's folder, on the command line at the current one.")
    if not os.path.isdir(folder):
        raise SourceError(_("Folder not found: {folder}.").format(folder=folder), fix=fix).at("source.folder")
    if not os.access(folder, os.R_OK | os.X_OK):
        raise SourceError(_("No permission to read the folder {folder}.").format(folder=folder), fix=fix).at(
            "source.folder"
        )


def _walk(folder: str, rules: Rules, apart: Mapping[str, str], left_out: list[LeftOut]) -> Iterator[Entry]:
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
            left_out.append(LeftOut(path, _("virtual environment")))
            continue
        rules = rules.below(path, names) if path else rules
        for item in items:
            inner = path + item.name
            is_folder = item.is_dir(follow_symlinks=False)
            if why := apart.get(item.path) or rules.why_out(inner, item.name, is_folder):
                left_out.append(LeftOut(inner + "/" * is_folder, why))
            elif is_folder:
                waiting.append((inner + "/", rules))
            elif entry := _entry(item, inner, left_out):
                yield entry
        count += len(items)
        if count > _MOST_FILES:
            raise SourceError(
                _("{folder} contains more than {n} files.").format(folder=folder, n=_MOST_FILES),
                fix=_("Check the folder. Choose another with --source, or exclude files with .paiignore."),
            )
        if path and not items:
            yield Entry(path, 0o755)


def _entry(item: os.DirEntry[str], path: str, left_out: list[LeftOut]) -> Entry | None:
    try:
        status = item.stat(follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            return Entry(path, 0o777, link=os.readlink(item.path), file=item.path)
    except OSError as error:
        left_out.append(LeftOut(path, error.strerror or str(error)))
        return None
    if not stat.S_ISREG(status.st_mode):
        left_out.append(LeftOut(path, _("not a file")))
        return None
    times = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    size = 0 if path.endswith(".ipynb") else status.st_size  # Known after a notebook's outputs are removed.
    return Entry(path, status.st_mode, size, item.path, times)


def _check_links(manifest: Manifest) -> None:
    folder = os.path.realpath(manifest.folder)
    out = [
        f"{entry.path} -> {entry.link}"
        for entry in manifest.entries
        if entry.link
        if os.path.isabs(entry.link) or not Path(os.path.realpath(entry.file)).is_relative_to(folder)
    ]
    if out:
        raise SourceError(
            ngettext(
                "A link points outside the folder: {links}.", "{n} links point outside the folder: {links}.", len(out)
            ).format(n=len(out), links=", ".join(out[:5])),
            fix=_("Exclude it with --exclude, and pass its target as an input: --input NAME=PATH."),
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
            if manifest.left_out
            else _("Choose another folder with --source."),
        )
    if manifest.bytes > limit:
        raise SourceError(
            _("The size of {folder} is {size}, above the limit of {limit}. Largest files: {biggest}.").format(
                folder=manifest.folder,
                size=show_size(manifest.bytes),
                limit=show_size(limit),
                biggest=", ".join(f"{entry.path} ({show_size(entry.size)})" for entry in manifest.biggest(5)),
            ),
            fix=_(
                "Pass data as an input (--input NAME=PATH), exclude it (--exclude, .paiignore), "
                "or raise `source_limit` in the profile."
            ),
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
