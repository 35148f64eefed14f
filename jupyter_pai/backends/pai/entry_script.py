"""The script that the platform's shell is given: makes the training contract whole, then runs the user's command.

Plain `sh`, and nothing that the smallest image may lack, but for `tar` where the code is still packed. What PAI does
itself (hyperparameters, inputs, outputs, requirements) is left to it; see the reference of its training jobs.
"""

from __future__ import annotations

import shlex

from ...jobs.spec import JobSpec

__all__ = ["ARCHIVE", "script_of"]

# The name that PAI's older service unpacked by itself; the newer one lays it down as it is. We are right either way.
ARCHIVE = "source.tar.gz"

# Where the code is a mount of the bucket, files unpacked there would be uploaded one by one, and stay; the instances of
# one job may have one folder, and would be in each other's way: it is unpacked beside it then. Seeds call the
# tensorboard channel `logs` as well.
_PROLOGUE = f"""\
if [ -f {ARCHIVE} ]; then
  if [ "$several" ] || [ ! -w . ] || grep -q ' /ml/usercode/\\{{0,1\\}} ' /proc/mounts 2>/dev/null; then
    PAI_WORKING_DIR=$(mktemp -d)/ && tar -xzf {ARCHIVE} -C "$PAI_WORKING_DIR" && cd "$PAI_WORKING_DIR" || exit 125
    export PAI_WORKING_DIR
  else
    tar -xzf {ARCHIVE} && rm -f {ARCHIVE} || exit 125
  fi
fi
: "${{PAI_OUTPUT_TENSORBOARD:=/ml/output/tensorboard/}}"
export PAI_OUTPUT_TENSORBOARD PAI_OUTPUT_LOGS="$PAI_OUTPUT_TENSORBOARD" PYTHONUNBUFFERED=1
[ -e /ml/output/logs ] || ln -s tensorboard /ml/output/logs 2>/dev/null
"""


def script_of(spec: JobSpec) -> str:
    """What ``sh -c`` runs for a spec, in /ml/usercode/.

    The words ``$PAI_USER_ARGS`` of the command are put in already (`JobSpec.command_line`): the platform's variable
    would not be unquoted by any shell. A shell of its own runs the command, so that one that begins with an option of
    `set`, or ends in a comment, is what the user wrote; stdin is closed, as on every backend.
    """
    several = "1" if spec.instance_count > 1 else ""
    return f"several={several}\n{_PROLOGUE}exec sh -c {shlex.quote(spec.command_line)} </dev/null\n"
