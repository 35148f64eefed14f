"""Further arguments of `sbatch` (the option `sbatch`), such as the number of tasks of a batch script."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.errors import SpecError
from ...core.i18n import _
from ...jobs.spec import JobSpec
from .directives import COUNTS, FIELDS, MEMORY, PASSED_ON, name_of

__all__ = ["check_argument", "check_once", "describes", "merged"]


def check_argument(word: str) -> None:
    """Check one argument.

    Raises:
        ValueError: if it is none that is passed on.
    """
    name = name_of(word)
    if name in FIELDS:
        raise ValueError(_("`{word}`: the spec or its options have a field for this.").format(word=word))
    if name not in PASSED_ON or any(character < " " for character in word):
        raise ValueError(_("`{word}` is not an argument that is passed on to sbatch.").format(word=word))


def describes(arguments: Sequence[str]) -> bool:
    """Return whether arguments set the number of nodes or tasks: the job then runs once, on the first node."""
    return any(name_of(word) in COUNTS for word in arguments)


def check_once(spec: JobSpec, arguments: Sequence[str]) -> None:
    """Check that a job that runs once has one instance.

    Raises:
        SpecError: otherwise.
    """
    if describes(arguments) and (spec.instance_count > 1 or spec.roles):
        raise SpecError(
            _("options.sbatch: a number of nodes or tasks is for a command that runs once and starts `srun` itself."),
            fix=_("Set one instance, or omit the number of nodes and tasks."),
        ).at("options.sbatch", "instance_count")


def merged(words: Sequence[str], arguments: Sequence[str]) -> list[str]:
    """Return the arguments `words` of `sbatch` with those of the user, which replace others of the same meaning."""
    names = {name_of(word) for word in arguments}
    for group in (COUNTS, MEMORY):
        names |= group if names & group else set()
    return [*(word for word in words if name_of(word) not in names), *arguments]
