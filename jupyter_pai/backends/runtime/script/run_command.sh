# Runs the command "$@", passes TERM on to its processes, and sets pai_result to its exit code. Ends it after "$pai_limit"
# seconds, if set, with the exit code 124 and the line "$pai_limit_line"; creates "$pai_here/limit" then, if "$pai_here"
# is set. Then keeps its files, if "$pai_kept" is set (see keep_files.sh). Set before: pai_seconds, the limit for this;
# pai_too_slow, a message; pai_parent, the folder around the working folder if that is not "$pai_ml". Uses `setsid` and
# `sleep` if they exist.
pass_on() {
  pai_stop=1
  [ -z "$pai_job" ] || kill -TERM "-$pai_job" 2>/dev/null || kill -TERM "$pai_job" 2>/dev/null
}

is_running() { # process group; ended processes may wait for their parent
  for pai_file in /proc/[0-9]*/stat; do
    read -r pai_line <"$pai_file" || continue
    pai_line=${pai_line##*") "}
    case $pai_line in Z* | X*) continue ;; esac
    pai_line=${pai_line#* * }
    [ "${pai_line%% *}" != "$1" ] || return 0
  done
  return 1
}

# Ends the command at its limit. Ends with 3 if it did so.
time_limit() {
  code=0
  trap 'kill "$sleeper" 2>/dev/null; exit "$code"' TERM
  for seconds in "$pai_limit" 30; do
    sleep "$seconds" &
    sleeper=$!
    wait "$sleeper" || exit 0
    [ "$code" = 0 ] && signal=TERM || signal=KILL
    code=3
    kill "-$signal" "-$pai_job" || kill "-$signal" "$pai_job"
  done
  exit 3
}

end_process() { # process id; returns its exit code
  kill "$1" 2>/dev/null
  # Shells lose a signal that arrives while they start a process in the background.
  while sleep 1 && kill "$1"; do :; done >/dev/null 2>&1 </dev/null &
  again=$!
  wait_for "$1"
  set -- "$?"
  kill "$again" 2>/dev/null
  return "$1"
}

pai_job='' pai_stop=''
trap pass_on TERM
if [ "$pai_kept" ]; then
  [ "${RANK:-0}" = 0 ] || pai_kept=$pai_kept/worker-$RANK
  pai_before=$(written .) pai_beside=$(beside)
fi
# A process group of its own, so that TERM reaches the processes of a shell that is the command.
! command -v setsid >/dev/null || set -- setsid "$@"
"$@" </dev/null &
pai_job=$!
[ -z "$pai_stop" ] || pass_on # It came before the command had started.
if [ "$pai_kept" ] && command -v sleep >/dev/null; then
  follow 3>&- >/dev/null 2>&1 </dev/null &
  follower=$!
fi
if [ "${pai_limit:-}" ] && command -v sleep >/dev/null; then
  time_limit >/dev/null 2>&1 </dev/null &
  timekeeper=$!
fi
wait_for "$pai_job"
pai_result=$?
if [ "${timekeeper:-}" ]; then
  end_process "$timekeeper"
  if [ "$?" = 3 ]; then
    pai_result=124 pai_stop=1
    echo "$pai_limit_line"
    [ -z "${pai_here:-}" ] || : >"$pai_here/limit"
  fi
fi
# A stopped shell ends before its processes do. Platforms kill all about 30 seconds later.
pai_left=20
while [ "$pai_stop" ] && [ "$pai_left" -gt 0 ] && is_running "$pai_job" && sleep 1; do
  pai_left=$((pai_left - 1))
done 2>/dev/null
if [ "${follower:-}" ]; then
  end_process "$follower"
fi
if [ "$pai_kept" ]; then
  { keep 3>&1 >/dev/null 2>&1; } &
  keeper=$!
  if command -v sleep >/dev/null; then
    (
      trap 'kill "$sleeper"' TERM
      sleep "$pai_seconds" &
      sleeper=$!
      wait "$sleeper" && kill "$keeper"
    ) >/dev/null 2>&1 </dev/null &
    timer=$!
  fi
  wait_for "$keeper"
  [ "$?" -lt 128 ] || echo "$pai_too_slow"
  [ -z "${timer:-}" ] || kill "$timer" 2>/dev/null
fi
