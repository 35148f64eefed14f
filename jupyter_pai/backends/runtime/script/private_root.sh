# Prefixes the command with a program that gives it a private /ml, or replaces /ml in its variables.
if [ "$pai_root" != "$pai_ml" ]; then
  printf '%s' "$pai_namespaces" >"$pai_lib/namespaces.py" || fail "$pai_no_folder $pai_lib"
  set -- python3 -I -S "$pai_lib/namespaces.py" "$pai_folder" "$pai_is_mount" "$pai_is_variable" "$@"
fi
