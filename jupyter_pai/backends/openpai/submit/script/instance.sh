# Around the job script, which is this file with the word `job`: fetches code and inputs from HDFS, starts TensorBoard,
# uploads the outputs, also after a failure or a stop, and ends with "$pai_again", if set, in place of the code of a
# failed command, which the platform never starts again. At the limit of the run time, the job script creates
# "$pai_here/limit" and ends with 124: the platform takes 128 + n for a failure of its own. Arguments: the rank of the
# first instance of the role, `start`. Set before: pai_here, a folder for this instance. Functions: `fetch_all`,
# `upload_all` and `follow_all`, made for the job.
pai_say() {
  echo "[jupyter-pai] $1"
}

pai_pass_on() {
  pai_stop=1
  [ -z "$pai_child" ] || kill -TERM "$pai_child" 2>/dev/null
}

# Starts a command that gets TERM, too.
pai_start() {
  "$@" &
  pai_child=$!
  [ -z "$pai_stop" ] || pai_pass_on
}

# Waits for this command. Sets pai_code.
pai_wait() {
  wait_for "$pai_child"
  pai_code=$?
  pai_child=''
}

pai_hdfs() {
  "$pai_python" "$pai_here/webhdfs.py" "$@"
}

pai_get_hdfs() {
  pai_python=$(command -v python3 || command -v python) || { pai_say "$pai_no_python3" >&2 && return 1; }
  printf '%s' "$pai_webhdfs" >"$pai_here/webhdfs.py"
}

pai_board() {
  mkdir -p "$pai_logdir"
  command -v tensorboard || python3 -m pip install --quiet tensorboard
  if command -v tensorboard; then
    tensorboard --logdir "$pai_logdir" --port "${pai_board_port%%,*}" --bind_all
  else
    python3 -m tensorboard.main --logdir "$pai_logdir" --port "${pai_board_port%%,*}" --bind_all
  fi
}

# Runs TensorBoard. One line of the log says that it has ended before the job.
pai_watch_board() {
  pai_board >"$pai_here/tensorboard.log" 2>&1 </dev/null
  pai_say "$pai_no_board $(tail -n 1 "$pai_here/tensorboard.log")" >&2
}

pai_main() {
  pai_child='' pai_stop='' pai_follower='' pai_board=''
  trap pai_pass_on TERM
  if [ "$pai_uses_hdfs" ]; then
    pai_get_hdfs || exit 125
    pai_start fetch_all
    pai_wait
    [ -z "$pai_stop" ] || exit 143
    [ "$pai_code" = 0 ] || { pai_say "$pai_no_hdfs" >&2 && exit 125; }
    follow_all >/dev/null 2>&1 </dev/null &
    pai_follower=$!
  fi
  if [ "$pai_logdir" ] && [ "$1" = 0 ] && [ "${PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX:-0}" = 0 ]; then
    pai_watch_board &
    pai_board=$!
  fi
  pai_start sh "$pai_here/script" "$1" job
  pai_wait
  # A stop must not interrupt the upload.
  trap '' TERM
  for pai_pid in $pai_follower $pai_board; do
    kill "$pai_pid" 2>/dev/null
  done
  if [ "$pai_uses_hdfs" ] && ! upload_outputs; then
    pai_say "$pai_no_upload" >&2
    [ "$pai_code" != 0 ] || pai_code=125
  fi
  if [ "$pai_again" ] && [ -z "$pai_stop" ] && [ ! -e "$pai_here/limit" ]; then
    [ "$pai_code" = 0 ] || pai_code=$pai_again
  fi
  exit "$pai_code"
}
