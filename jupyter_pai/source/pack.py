"""A folder of code: what of it a job takes along, and the archive of that.

`scan` looks and packs nothing; `pack` gives the archive, which is kept under the digest of its content: a folder that
has not changed is not read again, and content that was packed before is not packed again.
"""

from __future__ import annotations

import os
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ..core.errors import SourceError
from ..core.i18n import _, ngettext
from ..core.sizes import show_size
from ..jobs.spec import Source
from ..jobs.state_dir import state_errors
from . import archive, notebook
from . import secret_scan as leaks
from .archive import Content, Entry
from .file_cache import FileMemory, FileNotes
from .ignore import Rules
from .secret_scan import Finding

__all__ = ["LeftOut", "Manifest", "Packed", "inspect", "pack", "scan"]

_MOST_FILES = 50_000


@dataclass(frozen=True)
class LeftOut:
    """A path that is not taken along, and why."""

    path: str
    why: str


@dataclass(frozen=True)
class Manifest:
    """What a job takes along of a folder. `allowed` has the paths of files that may hold keys."""

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
        """With notebooks as they are packed, without outputs: only then is known how large they are."""
        return replace(self, entries=tuple(map(_ready, self.entries)))

    def biggest(self, n: int) -> list[Entry]:
        """The `n` largest files, largest first."""
        return sorted(self.entries, key=lambda entry: -entry.size)[:n]


@dataclass(frozen=True)
class Packed:
    """An archive: its place, the digest of its content, each file's SHA-256 by path, and what looks like a key."""

    path: Path
    digest: str
    hashes: dict[str, str]
    notes: tuple[str, ...] = ()


def scan(source: Source, limit: int, apart: Mapping[str, str] | None = None) -> Manifest:
    """What would be packed. `limit` is in bytes; `apart` has folders that go another way, path to why.

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
        laid_over = set(source.files)
        entries += (e for e in _walk(source.folder, rules, apart or {}, left_out) if e.path not in laid_over)
    manifest = Manifest(source.folder, tuple(entries), tuple(left_out), allowed)
    _check_links(manifest)
    _check_size(manifest, limit)
    return replace(manifest, entries=tuple(map(_straight, entries)))


def _check_folder(folder: str) -> None:
    fix = _("Relative paths start at the notebook's folder, on the command line at the current one.")
    if not os.path.isdir(folder):
        raise SourceError(_("There is no folder {folder}.").format(folder=folder), fix=fix).at("source.folder")
    if not os.access(folder, os.R_OK | os.X_OK):
        raise SourceError(_("The folder {folder} may not be read.").format(folder=folder), fix=fix).at("source.folder")


def _walk(folder: str, rules: Rules, apart: Mapping[str, str], left_out: list[LeftOut]) -> Iterator[Entry]:
    waiting = [("", rules)]
    count = 0
    while waiting:
        path, rules = waiting.pop()
        try:
            found = list(os.scandir(os.path.join(folder, path)))
        except OSError as error:
            raise SourceError(
                _("The folder {folder} may not be read.").format(folder=os.path.join(folder, path)),
                fix=_("Leave it out with --exclude, or ask its owner for permission to read it."),
            ) from error
        names = [item.name for item in found]
        if path and ("pyvenv.cfg" in names or "conda-meta" in names):
            left_out.append(LeftOut(path, _("virtual environment")))
            continue
        rules = rules.below(path, names) if path else rules
        taken = 0
        for item in found:
            inner = path + item.name
            is_folder = item.is_dir(follow_symlinks=False)
            if why := apart.get(item.path) or rules.why_out(inner, item.name, is_folder):
                left_out.append(LeftOut(inner + "/" * is_folder, why))
            elif is_folder:
                waiting.append((inner + "/", rules))
                taken += 1
            elif entry := _entry(item, inner, left_out):
                yield entry
                taken += 1
        count += len(found)
        if count > _MOST_FILES:
            raise SourceError(
                _("{folder} holds more than {n} files.").format(folder=folder, n=_MOST_FILES),
                fix=_("Is it the right folder? Name another with --source, or leave parts out with .paiignore."),
            )
        if path and not taken and not found:
            yield Entry(path, 0o755)


def _entry(item: os.DirEntry[str], path: str, left_out: list[LeftOut]) -> Entry | None:
    try:
        seen = item.stat(follow_symlinks=False)
        if stat.S_ISLNK(seen.st_mode):
            return Entry(path, 0o777, link=os.readlink(item.path), file=item.path)
    except OSError as error:
        left_out.append(LeftOut(path, error.strerror or str(error)))
        return None
    if not stat.S_ISREG(seen.st_mode):
        left_out.append(LeftOut(path, _("not a file")))
        return None
    times = (seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino)
    # What a notebook takes is not known before its outputs are removed.
    size = 0 if path.endswith(".ipynb") else seen.st_size
    return Entry(path, seen.st_mode, size, item.path, times)


def _check_links(manifest: Manifest) -> None:
    out = []
    for entry in manifest.entries:
        if entry.link and (os.path.isabs(entry.link) or not archive.is_inside(entry.file, manifest.folder)):
            out.append(f"{entry.path} -> {entry.link}")
    if out:
        raise SourceError(
            ngettext(
                "A link leads out of the folder: {links}.", "{n} links lead out of the folder: {links}.", len(out)
            ).format(n=len(out), links=", ".join(out[:5])),
            fix=_("Leave it out with --exclude, and give what it leads to as an input: --input NAME=PATH."),
            links=out,
        )


def _straight(entry: Entry) -> Entry:
    """A link that reaches its place in a roundabout way (`sub/../a`, `../folder/a`), as `unpack` takes it: straight."""
    if not entry.link or archive.stays_inside(entry.path.rpartition("/")[0], entry.link):
        return entry
    return replace(entry, link=os.path.relpath(os.path.realpath(entry.file), os.path.realpath(Path(entry.file).parent)))


def _check_size(manifest: Manifest, limit: int) -> None:
    if not manifest.entries:
        raise SourceError(
            _("There is nothing to pack in {folder}.").format(folder=manifest.folder),
            fix=_("All of it is left out by rules: .gitignore, .paiignore, --include, --exclude.")
            if manifest.left_out
            else _("Name another folder with --source."),
        )
    if manifest.bytes > limit:
        biggest = ", ".join(f"{e.path} ({show_size(e.size)})" for e in manifest.biggest(5))
        raise SourceError(
            _("{folder} takes {size}, more than {limit}. The biggest: {biggest}.").format(
                folder=manifest.folder, size=show_size(manifest.bytes), limit=show_size(limit), biggest=biggest
            ),
            fix=_(
                "Give data as an input (--input NAME=PATH), leave it out (--exclude, .paiignore), "
                "or raise `source_limit` in the profile."
            ),
        )


def inspect(manifest: Manifest, sources: Path, memory: FileMemory | None = None) -> tuple[Finding, ...]:
    """What looks like a key in what would be packed. Writes nothing; what `memory` knows is not read again.

    Raises:
        SourceError: naming files and lines, if it is one for certain.
    """
    began, memory = time.time_ns(), memory or FileMemory()
    contents = FileNotes(sources, manifest.folder).known(manifest.entries) | memory.known(manifest.entries)
    unknown = [entry for entry in manifest.entries if _is_file(entry) and entry.path not in contents]
    looked = _look(unknown)
    memory.keep(unknown, looked, began)
    return _check_leaks(manifest, contents | looked)


def pack(manifest: Manifest, sources: Path) -> Packed:
    """The archive of a manifest, in the folder `sources`. Writes nothing if the content is there already.

    Raises:
        SourceError: if a file cannot be read, changes meanwhile, or holds a key for certain.
        StateError: if the archive cannot be written.
    """
    with state_errors(sources):
        return _pack(manifest, sources)


def _pack(manifest: Manifest, sources: Path) -> Packed:
    notes = FileNotes(sources, manifest.folder)
    contents = notes.known(manifest.entries)
    if notes.files:
        # Seen before: look whether it is content that we have, as after a file was touched or restored. A folder that
        # is new is packed and looked through in one pass instead.
        unknown = [entry for entry in manifest.entries if _is_file(entry) and entry.path not in contents]
        contents |= _look(unknown)
        packed = _packed(manifest, contents, sources)
        if packed.path.exists():
            notes.keep(manifest.entries, contents)
            return packed
    return _write(manifest, sources, notes)


def _packed(manifest: Manifest, contents: dict[str, Content], sources: Path) -> Packed:
    hashes = {path: content.sha256 for path, content in contents.items()}
    digest = archive.digest(manifest.entries, hashes)
    found = leaks.words(_check_leaks(manifest, contents))
    return Packed(sources / f"{digest}.tar.gz", digest, hashes, found)


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


def _check_leaks(manifest: Manifest, contents: dict[str, Content]) -> tuple[Finding, ...]:
    found = {path: seen.leaks for path, seen in contents.items() if seen.leaks and path not in manifest.allowed}
    return leaks.check(found)


def _is_file(entry: Entry) -> bool:
    return not entry.link and not entry.is_folder


def _look(entries: Iterable[Entry]) -> dict[str, Content]:
    """What is in files; nothing for those that cannot be read: packing will find the same, and say so."""
    found = {}
    for entry in entries:
        try:
            found[entry.path] = archive.look(_ready(entry))
        except OSError:
            pass
    return found


def _ready(entry: Entry) -> Entry:
    """A notebook goes without its outputs: they are large, may be private, and change with every run."""
    if entry.data is not None or not entry.path.endswith(".ipynb") or not _is_file(entry):
        return entry
    try:
        data = notebook.without_outputs(Path(entry.file).read_bytes())
    except OSError:
        return entry
    return Entry(entry.path, entry.mode, len(data), data=data)
