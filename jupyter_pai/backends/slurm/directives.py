"""The directives `#SBATCH` of a batch script, as `sbatch` reads them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from ...config.toml_file import suggestion
from ...core.errors import SpecError
from ...core.i18n import _

MAGIC = "#SBATCH"
# Options that are passed on to `sbatch` unchanged. `nodes` and its like describe the allocation, not our instances.
COUNTS = frozenset("nodes ntasks ntasks-per-node ntasks-per-gpu ntasks-per-socket ntasks-per-core".split())
MEMORY = frozenset("mem mem-per-cpu mem-per-gpu".split())
PASSED_ON = (
    COUNTS
    | MEMORY
    | frozenset(
        """acctg-freq begin cluster-constraint contiguous core-spec cores-per-socket cpu-freq cpus-per-gpu deadline
        delay-boot dependency distribution exclude exclusive export export-file extra-node-info get-user-env gpu-bind
        gpu-freq gpus gpus-per-node gpus-per-socket gpus-per-task gres-flags hint hold licenses mail-type mail-user
        mcs-label mem-bind mincpus network nice no-kill nodelist overcommit oversubscribe power prefer priority profile
        propagate reboot signal sockets-per-node spread-job switches thread-spec threads-per-core time-min tmp
        use-min-nodes wckey""".split()
    )
)
# Options that a spec has a field for.
FIELDS = frozenset(
    """account constraint cpus-per-task gres job-name no-requeue partition qos requeue reservation time""".split()
)
# Options that change nothing here: the log is in the job's view, and the comment has our id.
IGNORED = frozenset("comment error open-mode output parsable quiet verbose wait".split())
# Options that would run something else.
REFUSED = frozenset("array batch bb bbf chdir clusters container gid input test-only uid wrap".split())
_KNOWN = PASSED_ON | FIELDS | IGNORED | REFUSED
_SHORT = {
    "A": "account", "a": "array", "B": "extra-node-info", "b": "begin", "C": "constraint", "c": "cpus-per-task",
    "D": "chdir", "d": "dependency", "e": "error", "F": "nodefile", "G": "gpus", "H": "hold", "i": "input",
    "J": "job-name", "k": "no-kill", "L": "licenses", "M": "clusters", "m": "distribution", "N": "nodes",
    "n": "ntasks", "O": "overcommit", "o": "output", "p": "partition", "Q": "quiet", "q": "qos", "S": "core-spec",
    "s": "oversubscribe", "t": "time", "v": "verbose", "W": "wait", "w": "nodelist", "x": "exclude",
}  # fmt: skip
_WITHOUT_VALUE = frozenset(
    """contiguous hold no-requeue overcommit parsable quiet reboot requeue spread-job test-only use-min-nodes verbose
    wait""".split()
)
# A value of these is written with `=`, or directly behind the letter.
_OPTIONAL_VALUE = frozenset("exclusive get-user-env nice no-kill oversubscribe propagate".split())


@dataclass(frozen=True)
class Directive:
    """An option of a batch script: the number of its line, the long name, and the value."""

    line: int
    name: str
    value: str = ""

    @property
    def argument(self) -> str:
        """The argument of `sbatch`."""
        return f"--{self.name}={self.value}" if self.value else f"--{self.name}"

    def error(self, message: str, fix: str) -> SpecError:
        """Return an error that names the line."""
        return SpecError(_("Line {n}: {message}").format(n=self.line, message=message), fix=fix, line=self.line)


def read(text: str) -> list[Directive]:
    """Return the directives of a batch script: those before its first command. Of several with a name, the last counts.

    Raises:
        SpecError: naming the line that `sbatch` would not accept.
    """
    found = [directive for n, words in _lines(text) for directive in _parse(n, words)]
    return list({directive.name: directive for directive in found}.values())


def head(text: str) -> Iterator[str]:
    """Yield the lines of a script before its first command."""
    for line in text.split("\n"):
        if line.strip() and not line.lstrip().startswith("#"):
            return
        yield line


def name_of(word: str) -> str:
    """Return the long name of an argument of `sbatch`; empty if it is none."""
    return word[2:].partition("=")[0] if word.startswith("--") else ""


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the words of each line with directives."""
    for number, line in enumerate(head(text), 1):
        if line.startswith(MAGIC):
            words = shlex.shlex(line.removeprefix(MAGIC), posix=True)
            words.whitespace_split = True
            try:
                split = list(words)
            except ValueError:
                raise Directive(number, "").error(_("a quote is not closed."), _("Close it.")) from None
            if split in (["hetjob"], ["packjob"]):
                text_ = _("a job of several components is not supported.")
                raise Directive(number, "").error(text_, _("Submit each component as a job, or with `roles`."))
            yield number, split


def _parse(line: int, words: list[str]) -> Iterator[Directive]:
    waiting = iter(words)
    for word in waiting:
        if word.startswith("--"):
            written, equals, value = word[2:].partition("=")
            name = _long_name(line, written)
        elif word.startswith("-") and word[1:2] in _SHORT:
            name, value = _SHORT[word[1]], word[2:]
            equals = "=" if value or name in _OPTIONAL_VALUE else ""
        else:
            text = _("`{word}` is not an option of sbatch.").format(word=word)
            raise Directive(line, "").error(text, _("Remove it."))
        if not equals and name not in _WITHOUT_VALUE | _OPTIONAL_VALUE:
            value = next(waiting, "")
            if not value:
                text = _("{option} has no value.").format(option=f"--{name}")
                raise Directive(line, name).error(text, _("Add the value, or remove the option."))
        if any(character < " " for character in value):
            text = _("{option} contains a control character.").format(option=f"--{name}")
            raise Directive(line, name).error(text, _("Remove it."))
        yield Directive(line, name, value)


def _long_name(line: int, written: str) -> str:
    """Return the name of an option that may be abbreviated."""
    if written in _KNOWN:
        return written
    matches = sorted(name for name in _KNOWN if written and name.startswith(written))
    if len(matches) == 1:
        return matches[0]
    text = _("`--{name}` is not known here.").format(name=written)
    fix = suggestion(written, matches or _KNOWN) if matches or len(written) > 1 else ""
    raise Directive(line, "").error(text, fix or _("Remove the line."))
