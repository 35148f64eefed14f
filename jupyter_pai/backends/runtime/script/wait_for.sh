# Waits for a process of this shell, also if signals interrupt the wait. Returns its exit code.
wait_for() {
  while :; do
    wait "$1" 2>/dev/null
    pai_code=$?
    kill -0 "$1" 2>/dev/null || break
  done
  [ "$pai_code" -gt 128 ] || return "$pai_code"
  # A signal may have interrupted the wait during which the process ended. The shell has its exit code then, or says 127
  # if it has returned it. Bash may lose it if two signals come: it counts the process as running, and would wait.
  pai_line_end='
'
  case $pai_line_end$([ -z "${BASH_VERSION:-}" ] || jobs -rp)$pai_line_end in
    *"$pai_line_end$1$pai_line_end"*) ;;
    *)
      wait "$1" 2>/dev/null
      set -- "$?"
      [ "$1" = 127 ] || pai_code=$1
      ;;
  esac
  return "$pai_code"
}
