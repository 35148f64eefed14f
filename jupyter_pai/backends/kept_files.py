"""Limits for the files that a job writes beside its code, which remote backends keep, and the note on links that no
backend can keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from ..config.settings import ProfileSettings
from ..core.i18n import N_, _
from ..core.text import parse_size
from ..jobs.spec import SIZE

__all__ = ["KeptFiles", "KeptFilesSettings", "note_on_links"]

# Links that a note names.
_MOST_LINKS = 10


@dataclass(frozen=True)
class KeptFiles:
    """Limits for the files that a job writes beside its code: bytes together (0 for none), and seconds."""

    size: int = 200_000_000
    seconds: int = 60


class KeptFilesSettings(ProfileSettings):
    """The keys of a profile for these limits."""

    files_limit: str = Field(
        "200MB",
        pattern=SIZE,
        title=N_("Limit for files"),
        description=N_("Total size of the files beside the code that are kept; 0 for none."),
    )
    files_time_limit: int = Field(
        60, gt=0, title=N_("Time for files"), description=N_("Maximum time to copy these files, in seconds.")
    )

    @property
    def kept_files(self) -> KeptFiles:
        return KeptFiles(parse_size(self.files_limit or "0"), self.files_time_limit)


def note_on_links(links: Sequence[str] = ()) -> str:
    """Return the note on links in outputs of a job that lead out of their channel, with the first of them."""
    text = _("Links that lead out of their output channel are not valid in a download or a resumed job:")
    named = [*links[:_MOST_LINKS], *(["…"] if len(links) > _MOST_LINKS else [])]
    return " ".join([text, ", ".join(named)]).rstrip()
