# Prefixes the command with the launcher, which installs "$pai_requirements" and the requirements.txt of the code.
if [ "$pai_requirements" ] || [ -f requirements.txt ]; then
  [ "$pai_python" ] || fail "$pai_no_python"
  printf '%s' "$pai_launcher" >"$pai_lib/launcher.py" || fail "$pai_no_folder $pai_lib"
  printf '%s' "$pai_requirements" >"$pai_lib/requirements.txt"
  [ "$pai_environments" ] || pai_environments=$pai_lib/environments
  export PYTHONPATH="$pai_lib/packages/site${PYTHONPATH:+:$PYTHONPATH}"
  set -- "$pai_python" -I "$pai_lib/launcher.py" code="$PWD" requirements="$pai_lib/requirements.txt" \
    environments="$pai_environments" shims="$pai_lib/shims" packages="$pai_lib/packages" uv= image="$pai_image" -- "$@"
fi
