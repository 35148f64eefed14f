# Writes the output parameters and, with "$pai_tells_code", the exit code into the log, as `report` does. For platforms
# that do not report them.
pai_tab='	'
pai_return=$(printf '\r.') && pai_return=${pai_return%.}

escape() { # a line of text; sets pai_text
  pai_text='' pai_rest=$1
  while :; do
    pai_plain=${pai_rest%%[\\\"$pai_tab$pai_return]*}
    pai_text=$pai_text$pai_plain
    [ "$pai_plain" != "$pai_rest" ] || return 0
    pai_rest=${pai_rest#"$pai_plain"}
    case $pai_rest in
      \\*) pai_text=$pai_text'\\' ;;
      \"*) pai_text=$pai_text'\"' ;;
      "$pai_tab"*) pai_text=$pai_text'\t' ;;
      *) pai_text=$pai_text'\r' ;;
    esac
    pai_rest=${pai_rest#?}
  done
}

report_parameter() { # file
  pai_value='' pai_newline='\n'
  while [ "$pai_newline" ]; do
    IFS= read -r pai_line || pai_newline=''
    escape "$pai_line"
    pai_value=$pai_value$pai_text$pai_newline
    [ "${#pai_value}" -le "$pai_most_text" ] || return 0
  done <"$1"
  escape "${1##*/}"
  printf '%s\n' "[pai] {\"output_parameter\": \"$pai_text\", \"value\": \"$pai_value\"}"
}

if [ "${RANK:-0}" = 0 ]; then
  for pai_file in "${pai_ml:-/ml}/output/output_parameters"/*; do
    [ ! -f "$pai_file" ] || [ -h "$pai_file" ] || report_parameter "$pai_file"
  done 2>/dev/null
  [ -z "$pai_tells_code" ] || echo "[pai] {\"exit_code\": $pai_result}"
fi
