# Puts inputs that come from the folder of the code at their own paths in it, unless the code has something there.
input_link() { # path in the code; channel, with the name of a single file
  [ ! -e "$1" ] && [ ! -h "$1" ] || return 0
  case $1 in */*) mkdir -p "${1%/*}" ;; esac && ln -s "${pai_root:-/ml}/input/data/$2" "$1"
} 2>/dev/null
