# Functions for the end of the script: a message, and the removal of its own folder.
say() {
  echo "[jupyter-pai] $1"
}

leave() { # exit code
  [ -z "${pai_made:-}" ] || rm -rf "$pai_made"
  exit "$1"
}

fail() { # message
  say "$1" >&2
  leave 125
}
