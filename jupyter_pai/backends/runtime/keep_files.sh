# Runs "$pai_command", then copies the files that it wrote in the working folder to "$pai_kept". Exits with its exit
# code. Set before, with the prefix pai_ that no variable of a job has: command, kept, most (bytes), seconds, never and
# allowed (patterns of names), too_large and too_slow (messages). Needs a shell and `tar`. Uses `ls`, `mkdir` and
# `sleep` if they exist: with `sleep`, TensorBoard event files are also copied while the command runs.
pai_line_end='
'

# Packed files are older than the shell, as `tar` restores their times. The names of all others are in "$pai_before".
written() {
  for pai_file in "$1"/* "$1"/.[!.]* "$1"/..?*; do
    eval "case \${pai_file##*/} in $pai_allowed) ;; $pai_never) continue ;; esac"
    if [ -h "$pai_file" ]; then
      continue
    elif [ -d "$pai_file" ]; then
      [ -e "$pai_file/pyvenv.cfg" ] || [ -d "$pai_file/conda-meta" ] || is_mount "$PWD/${pai_file#./}" || written "$pai_file"
    elif [ -f "$pai_file" ] && [ "$pai_file" -nt /bin/sh ]; then
      case $pai_file in *"$pai_line_end"* | *\\*) ;; *) printf '%s\n' "$pai_file" ;; esac
    fi
  done
}

is_mount() {
  while read -r _ pai_path _; do
    [ "$pai_path" = "$1" ] && return 0
  done </proc/mounts
  return 1
}

size_of() {
  if command -v ls >/dev/null; then
    ls -lnd "$1"
  else
    tar -cf - "$1" | tar -tvf - | { read -r mode owner size rest && echo "$mode 1 $owner - $size"; }
  fi | { read -r _mode _links _owner _group size _rest && echo "$size"; }
}

# Sets `chosen` and `left`, the smaller files first: each pass over the lines "size name" doubles the size.
choose() {
  chosen='' left='' total=0 from=-1 to=4096
  while [ "$from" -lt "$largest" ]; do
    while IFS=' ' read -r size pai_file; do
      [ -n "$pai_file" ] && [ "$size" -gt "$from" ] && [ "$size" -le "$to" ] || continue
      if [ $((total + size)) -le "$pai_most" ]; then
        total=$((total + size)) chosen=$chosen$pai_file$pai_line_end
      else
        left="$left ${pai_file#./}"
      fi
    done <<END
$sizes
END
    from=$to to=$((to * 2))
  done
}

is_older() {
  case $pai_line_end$pai_before$pai_line_end in *"$pai_line_end$1$pai_line_end"*) return 0 ;; esac
  return 1
}

copy() {
  [ -d "$pai_kept" ] || mkdir -p "$pai_kept"
  tar -cf - "$@" 3>&- | tar -xmf - -C "$pai_kept" 3>&- # The log is not theirs: they may outlive this script.
}

# Copies event files that have grown: soon at first, then at most twice a minute, and less often in a large folder.
follow() {
  pause=1 copied='' sleeper=''
  trap '[ -z "$sleeper" ] || kill "$sleeper" 2>/dev/null; exit' TERM # Not within a copy.
  while :; do
    sleep "$pause" &
    sleeper=$!
    wait "$sleeper" || return
    sleeper=''
    read -r begun _ </proc/uptime
    set -- && sizes=''
    while IFS= read -r pai_file; do
      case ${pai_file##*/} in *tfevents*) is_older "$pai_file" && continue ;; *) continue ;; esac
      size=$(size_of "$pai_file") && [ -n "$size" ] && [ "$size" -le "$pai_most" ] || continue
      sizes=$sizes$size:$pai_file$pai_line_end
      case $pai_line_end$copied in *"$pai_line_end$size:$pai_file$pai_line_end"*) ;; *) set -- "$@" "$pai_file" ;; esac
    done <<END
$(written .)
END
    [ $# = 0 ] || copy "$@"
    copied=$sizes pause=$((pause * 2))
    [ "$pause" -le 30 ] || pause=30
    read -r ended _ </proc/uptime
    pause=$((pause + 20 * (${ended%.*} - ${begun%.*})))
  done
}

keep() {
  sizes='' largest=0
  while IFS= read -r pai_file; do
    is_older "$pai_file" && continue
    size=$(size_of "$pai_file") && [ -n "$size" ] || continue
    sizes=$sizes"$size $pai_file"$pai_line_end
    [ "$size" -le "$largest" ] || largest=$size
  done <<END
$(written .)
END
  [ -n "$sizes" ] || return
  choose
  set --
  while IFS= read -r pai_file; do
    [ -z "$pai_file" ] || set -- "$@" "$pai_file"
    if [ $# = 200 ] || { [ -z "$pai_file" ] && [ $# != 0 ]; }; then
      copy "$@"
      set --
    fi
  done <<END
$chosen
END
  [ -z "$left" ] || echo "$pai_too_large$left" >&3
}

wait_for() {
  while :; do
    wait "$1" 2>/dev/null
    pai_code=$?
    kill -0 "$1" 2>/dev/null || return "$pai_code"
  done
}

[ "${RANK:-0}" = 0 ] || pai_kept=$pai_kept/worker-$RANK
pai_before=$(written .)
pai_job='' pai_stop=''
trap 'pai_stop=1; [ -z "$pai_job" ] || kill -TERM "$pai_job" 2>/dev/null' TERM
sh -c "$pai_command" </dev/null &
pai_job=$!
[ -z "$pai_stop" ] || kill -TERM "$pai_job" # It came before the command had started.
if command -v sleep >/dev/null; then
  follow 3>&- >/dev/null 2>&1 </dev/null &
  follower=$!
fi
wait_for "$pai_job"
pai_result=$?
if [ "${follower:-}" ]; then
  kill "$follower" 2>/dev/null
  # Shells lose a signal that arrives while they start a process in the background.
  while sleep 1 && kill "$follower"; do :; done >/dev/null 2>&1 </dev/null &
  again=$!
  wait_for "$follower"
  kill "$again" 2>/dev/null
fi
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
exit "$pai_result"
