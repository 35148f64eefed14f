# Runs "$command", then copies the files that it wrote in the working folder to "$kept". Exits with its exit code.
# Set before: command, kept, most (bytes), seconds, never and allowed (patterns of names), too_large and too_slow
# (messages). Needs a shell and `tar`; `ls`, `mkdir` and `sleep` are used if they exist.
line_end='
'

# Packed files are older than the shell, as `tar` restores their times. The names of all others are in "$before".
written() {
  for file in "$1"/* "$1"/.[!.]* "$1"/..?*; do
    eval "case \${file##*/} in $allowed) ;; $never) continue ;; esac"
    if [ -h "$file" ]; then
      continue
    elif [ -d "$file" ]; then
      [ -e "$file/pyvenv.cfg" ] || [ -d "$file/conda-meta" ] || is_mount "$PWD/${file#./}" || written "$file"
    elif [ -f "$file" ] && [ "$file" -nt /bin/sh ]; then
      case $file in *"$line_end"* | *\\*) ;; *) printf '%s\n' "$file" ;; esac
    fi
  done
}

is_mount() {
  while read -r _device path _rest; do
    [ "$path" = "$1" ] && return 0
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
    while IFS=' ' read -r size file; do
      [ -n "$file" ] && [ "$size" -gt "$from" ] && [ "$size" -le "$to" ] || continue
      if [ $((total + size)) -le "$most" ]; then
        total=$((total + size)) chosen=$chosen$file$line_end
      else
        left="$left ${file#./}"
      fi
    done <<END
$sizes
END
    from=$to to=$((to * 2))
  done
}

keep() {
  sizes='' largest=0
  while IFS= read -r file; do
    case $line_end$before$line_end in *"$line_end$file$line_end"*) continue ;; esac
    size=$(size_of "$file") && [ -n "$size" ] || continue
    sizes=$sizes"$size $file"$line_end
    [ "$size" -le "$largest" ] || largest=$size
  done <<END
$(written .)
END
  [ -n "$sizes" ] || return
  choose
  [ "${RANK:-0}" = 0 ] || kept=$kept/worker-$RANK
  [ -d "$kept" ] || mkdir -p "$kept"
  set --
  while IFS= read -r file; do
    [ -z "$file" ] || set -- "$@" "$file"
    if [ $# = 200 ] || { [ -z "$file" ] && [ $# != 0 ]; }; then
      tar -cf - "$@" 3>&- | tar -xmf - -C "$kept" 3>&- # The log is not theirs: they may outlive this script.
      set --
    fi
  done <<END
$chosen
END
  [ -z "$left" ] || echo "$too_large$left" >&3
}

wait_for() {
  while :; do
    wait "$1" 2>/dev/null
    code=$?
    kill -0 "$1" 2>/dev/null || return "$code"
  done
}

before=$(written .)
sh -c "$command" </dev/null &
job=$!
trap 'kill -TERM "$job" 2>/dev/null' TERM
wait_for "$job"
result=$?
{ keep 3>&1 >/dev/null 2>&1; } &
keeper=$!
if command -v sleep >/dev/null; then
  (
    trap 'kill "$sleeper"' TERM
    sleep "$seconds" &
    sleeper=$!
    wait "$sleeper" && kill "$keeper"
  ) >/dev/null 2>&1 </dev/null &
  timer=$!
fi
wait_for "$keeper"
[ "$?" -lt 128 ] || echo "$too_slow"
[ -z "${timer:-}" ] || kill "$timer" 2>/dev/null
exit "$result"
