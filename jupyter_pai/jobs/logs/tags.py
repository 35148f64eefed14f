"""Tags that launchers and loggers write before each line: time stamps, and the rank or name of a process.

Examples: ``[1,1]<stderr>:`` of mpirun, ``[default0]:`` of torchrun, ``1: `` of ``srun --label``, ``(pid=7) `` of Ray,
``worker-1  | `` of Docker Compose.
"""

from __future__ import annotations

import re
from typing import NamedTuple

# Characters of a row that are searched for tags.
LONGEST_TAGS = 400
_MOST_TAGS = 4
_DATE = r"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z| ?[+-]\d\d:?\d\d)?"
_CTIME = r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}"
_STREAM = r"<std(?:out|err|diag)>: ?"
_TIME = re.compile(
    rf"(?:\[?(?:{_DATE}|{_CTIME})\]?(?:{_STREAM}|(?=\[)|,|\s(?:std(?:out|err) [FP] )?)|\[\d\d:\d\d:\d\d\] )(?:- |\| )?"
)
# Words before a number that count something else than processes.
_COUNTED = r"(?!(?i:epoch|step|iter|batch|fold|round|episode|update|trial|stage|task|layer|exp|run|v)[a-z]*[-_ ]?\d)"
_TAGS = re.compile(
    rf"\[[^\[\]<>\s]{{1,100}},(?P<mpi>\d{{1,6}})\](?:\[[^\[\]]{{1,100}}\])?{_STREAM}"
    rf"|\[(?P<horovod>\d{{1,6}})\]{_STREAM}"
    rf"|\[{_COUNTED}[A-Za-z][A-Za-z_-]{{0,40}}(?P<torch>\d{{1,6}})\]: ?"
    r"|\[?(?i:global |local )?(?i:rank|gpu)[ _:=-]{0,2}(?P<rank>\d{1,6})(?:\]:? ?|[:,] |\s+[|-] )"
    r"|\((?:[^()]{0,100} )?pid=(?P<pid>\d{1,10})(?:, ip=[\w.:]{1,50})?\) ?"
    r"|\[pod/(?P<pod>[^/\[\]\s]{1,253})/[^/\[\]\s]{1,100}\] ?"
    rf"|{_COUNTED}(?P<name>[A-Za-z][\w.]{{0,40}}(?:-[\w.]{{1,40}}){{0,5}}[-_]\d{{1,6}})\s{{1,40}}\| ?"
)  # fmt: skip
# What a tag begins with: most lines are recognised as untagged by one search.
_BEGIN = re.compile(
    r"[\[(\d]|\s{1,5}\d{1,5}: |(?i:global |local |rank|gpu)|[A-Z][a-z]{2} |[A-Za-z][\w.-]{1,300}\s{1,40}\|"
)
_NUMBERED = re.compile(r"\s{0,5}(\d{1,5}): ")
# A line that counts its own steps: a number before it is that of a process.
_STEPS = re.compile(
    r"(?i:\b(?:epoch|step|iter|iteration|batch|episode|update|timesteps?))[^\w\n\r]{0,12}\d|\d%\||^\[?\d{1,9}[\]:]\t"
)
_REPEATED = re.compile(r" \[repeated \d+x across cluster\](?: \(Ray deduplicates logs.*)?$")


class Untagged(NamedTuple):
    """A line without its tags. `name` and `rank` are those of its process; empty if unknown. `is_numbered`: the rank is
    a number and a colon."""

    text: str
    name: str = ""
    rank: str = ""
    is_numbered: bool = False


def untagged(text: str, *, numbered: bool = False) -> Untagged:
    """Return a line, without colours, without its tags. `numbered`: a number and a colon is the rank in each line, not
    only in one that counts steps."""
    if not _BEGIN.match(text):
        return Untagged(text)
    name = rank = ""
    is_numbered = False
    for _ in range(_MOST_TAGS):
        if match := _TIME.match(text):
            text = text[match.end() :]
        elif match := _TAGS.match(text):
            found = {kind: value for kind, value in match.groupdict().items() if value}
            if pid := found.pop("pid", ""):
                name, text = f"pid-{pid}", _REPEATED.sub("", text)
            elif named := found.pop("pod", "") or found.pop("name", ""):
                name = named
            else:
                rank = str(int(next(iter(found.values()))))
            text = text[match.end() :]
        elif not rank and (match := _NUMBERED.match(text)) and (numbered or _STEPS.search(text, match.end())):
            rank, text, is_numbered = str(int(match[1])), text[match.end() :], True
        else:
            break
    return Untagged(text, name, rank, is_numbered)
