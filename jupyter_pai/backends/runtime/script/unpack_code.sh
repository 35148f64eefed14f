# Puts the code, "$pai_code", into the working folder: a folder, an archive, or the here-document of `inline_code`.
decode() {
  if command -v base64 >/dev/null; then
    base64 -d
  else
    python3 -c 'import base64, sys; sys.stdout.buffer.write(base64.b64decode(sys.stdin.read()))'
  fi
}

put_code() {
  if [ "$pai_code" = - ]; then
    command -v base64 >/dev/null || command -v python3 >/dev/null || fail "$pai_no_base64"
    inline_code | tar -xzf -
  elif [ -d "$pai_code" ]; then
    tar -cf - -C "$pai_code" . | tar -xf -
  elif [ -f "$pai_code" ]; then
    tar -xzf "$pai_code"
  else
    fail "$pai_no_code $pai_code"
  fi
}

cd "$pai_ml/$pai_layout" || fail "$pai_no_folder $pai_ml/$pai_layout"
if [ "$pai_code" ]; then
  command -v tar >/dev/null || fail "$pai_no_tar"
  put_code || fail "$pai_no_tar"
fi
