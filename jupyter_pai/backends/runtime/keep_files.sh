# Runs "$pai_command", then copies the files that it wrote in the working folder to "$pai_kept". Exits with its exit
# code. Set before, with the prefix pai_ that no variable of a job has: command, kept, most (bytes), seconds, never and
# allowed (patterns of names), too_large and too_slow (messages). Needs a shell and `tar`. Uses `ls`, `mkdir` and
# `sleep` if they exist.
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

keep() {
  sizes='' largest=0
  while IFS= read -r pai_file; do
    case $pai_line_end$pai_before$pai_line_end in *"$pai_line_end$pai_file$pai_line_end"*) continue ;; esac
    size=$(size_of "$pai_file") && [ -n "$size" ] || continue
    sizes=$sizes"$size $pai_file"$pai_line_end
    [ "$size" -le "$largest" ] || largest=$size
  done <<END
$(written .)
END
  [ -n "$sizes" ] || return
  choose
  [ "${RANK:-0}" = 0 ] || pai_kept=$pai_kept/worker-$RANK
  [ -d "$pai_kept" ] || mkdir -p "$pai_kept"
  set --
  while IFS= read -r pai_file; do
    [ -z "$pai_file" ] || set -- "$@" "$pai_file"
    if [ $# = 200 ] || { [ -z "$pai_file" ] && [ $# != 0 ]; }; then
      tar -cf - "$@" 3>&- | tar -xmf - -C "$pai_kept" 3>&- # The log is not theirs: they may outlive this script.
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

pai_before=$(written .)
pai_job='' pai_stop=''
trap 'pai_stop=1; [ -z "$pai_job" ] || kill -TERM "$pai_job" 2>/dev/null' TERM
sh -c "$pai_command" </dev/null &
pai_job=$!
[ -z "$pai_stop" ] || kill -TERM "$pai_job" # It came before the command had started.
wait_for "$pai_job"
pai_result=$?
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
