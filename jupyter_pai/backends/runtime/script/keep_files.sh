# Functions that copy the files written in the working folder, and in new folders beside it, to "$pai_kept": `keep` at
# the end, and `follow`, which copies TensorBoard event files while the command runs. Set before: pai_most (bytes),
# pai_never and pai_allowed (patterns of names), pai_too_large and pai_taken (messages). Need a shell and `tar`; use `ls`,
# `mkdir` and `readlink` if they exist.
pai_known='' pai_line_end='
'

# Packed files are older than the shell, as `tar` restores their times. The names of all others are in "$pai_before". A
# link is as old as its target.
written() {
  for pai_file in "$1"/* "$1"/.[!.]* "$1"/..?*; do
    eval "case \${pai_file##*/} in $pai_allowed) ;; $pai_never) continue ;; esac"
    case $pai_line_end$pai_known in *"$pai_line_end$pai_file$pai_line_end"*) continue ;; esac
    if [ -h "$pai_file" ]; then
      leads_inside "$pai_file" || continue
    elif [ -d "$pai_file" ]; then
      [ -e "$pai_file/pyvenv.cfg" ] || [ -d "$pai_file/conda-meta" ] || is_mount "$PWD/${pai_file#./}" || written "$pai_file"
      continue
    elif [ ! -f "$pai_file" ]; then
      continue
    fi
    [ "$pai_file" -nt /bin/sh ] || continue
    case $pai_file in *"$pai_line_end"* | *\\*) ;; *) printf '%s\n' "$pai_file" ;; esac
  done
}

# Whether a path is a link to a path in the same folder of the job.
leads_inside() { # path that begins with ./
  [ -h "$1" ] && pai_text=$(readlink "$1") || return
  case $pai_text in "$PWD"/* | /ml/usercode/* | /ml/code/*) return 0 ;; /*) return 1 ;; esac
  pai_above=${1#./}
  while case $pai_text in ../*) ;; *) false ;; esac do
    case $pai_above in */*) pai_text=${pai_text#../} pai_above=${pai_above#*/} ;; *) return 1 ;; esac
  done
  case /$pai_text/ in */../*) return 1 ;; esac
}

# The entries of the folder around the working folder, if that folder is only the job's.
beside() {
  [ "${PWD%/*}" = "${pai_parent:-${pai_ml:-/ml}}" ] || return
  (cd .. && printf '%s\n' ./* ./.[!.]*)
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
  chosen='' from=-1 to=4096
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
  left='' taken='' total=0
  keep_written
  if [ -n "$pai_beside" ] && cd ..; then
    pai_known=$pai_beside$pai_line_end pai_before=''
    keep_written
  fi
  [ -z "$left" ] || echo "$pai_too_large$left" >&3
  [ -z "$taken" ] || echo "$pai_taken$taken" >&3
}

keep_written() {
  sizes='' largest=0
  while IFS= read -r pai_file; do
    is_older "$pai_file" && continue
    if [ -n "$pai_known" ] && [ -e "$pai_kept/$pai_file" ]; then
      taken="$taken ../${pai_file#./}"
      continue
    fi
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
}
