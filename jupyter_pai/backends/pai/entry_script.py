"""The shell script of a job: completes the training contract, then runs the user's command.

Plain `sh`, without tools that minimal images lack, except `tar` for packed code. PAI itself provides hyperparameters,
inputs, outputs and requirements; see its reference of training jobs.
"""

from __future__ import annotations

import shlex

from ...jobs.spec import JobSpec

# PAI's older service unpacks a file of this name; the newer one does not. The script supports both.
ARCHIVE = "source.tar.gz"

# In a mount of the bucket, unpacked files would be uploaded one by one; and instances of a job may share the folder.
# The code is unpacked elsewhere in both cases. Example projects also use `logs` for the tensorboard channel.
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
    """Return the script that ``sh -c`` runs for a spec, in /ml/usercode/.

    ``$PAI_USER_ARGS`` in the command is substituted already (`JobSpec.command_line`), since no shell would unquote the
    platform's variable. The command runs in a shell of its own, so that options of `set` or a trailing comment do not
    affect this script; stdin is empty, as on every backend.
    """
    several = "1" if spec.instance_count > 1 else ""
    return f"several={several}\n{_PROLOGUE}exec sh -c {shlex.quote(spec.command_line)} </dev/null\n"
