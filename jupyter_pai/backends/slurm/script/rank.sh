# Runs the job script of one instance, with its output in a log of its own. Set before: pai_python, the folder of the
# interpreter; pai_no_python, a message; pai_prologue, lines of bash; pai_container, a command that runs the image.
umask 077
cd "$pai_folder" || exit 118
pai_rank=${SLURM_PROCID:-0}
LOCAL_RANK=${SLURM_LOCALID:-0}
export LOCAL_RANK
pai_suffix=''
[ "$pai_attempt" = 1 ] || pai_suffix=.$pai_attempt
exec >>"log/worker-$pai_rank$pai_suffix" 2>&1
echo "${SLURMD_NODENAME:-$(hostname)} $(date +%s)" >"ranks/$pai_rank.$pai_attempt.start"
pai_ml_folder=''
pai_end() { # exit code
  [ -z "$pai_ml_folder" ] || rm -rf "$pai_ml_folder"
  echo "$1 $(date +%s)" >"ranks/$pai_rank.$pai_attempt.new"
  mv "ranks/$pai_rank.$pai_attempt.new" "ranks/$pai_rank.$pai_attempt.end"
  # The first failure ends the other instances.
  [ "$1" = 0 ] || ln "ranks/$pai_rank.$pai_attempt.end" "ranks/$pai_attempt.failed" 2>/dev/null
  exit "$1"
}

set -- sh "$pai_folder/script"
if [ "$pai_container" ]; then
  pai_ml_folder=$(mktemp -d "${TMPDIR:-/tmp}/jupyter-pai.XXXXXX") && mkdir "$pai_ml_folder/ml" "$pai_ml_folder/opt" ||
    pai_end 125
  eval "set -- $pai_container \"\$@\""
fi
if [ "$pai_python" ]; then
  if ! [ -x "$pai_python/python" ] && ! [ -x "$pai_python/python3" ]; then
    echo "[jupyter-pai] $pai_no_python"
    pai_end 125
  fi
  PATH=$pai_python:$PATH
fi
if [ "$pai_prologue" ]; then
  # A login shell of bash has the command `module`. It sets PATH anew.
  set -- bash -lc "${pai_python:+PATH='$pai_python':\$PATH
}set -e
$pai_prologue
set +e
exec \"\$@\"" bash "$@"
fi
pai_job=''
trap '[ -z "$pai_job" ] || kill -TERM "$pai_job" 2>/dev/null' TERM
"$@" </dev/null &
pai_job=$!
wait_for "$pai_job"
pai_result=$?
pai_end "$pai_result"
