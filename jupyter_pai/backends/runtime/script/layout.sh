# Lays out /ml for one instance: a folder of the container ("$pai_in_container"), or a private mount (see
# private_root.sh), or a folder that only the variables name. Sets pai_ml, where the files are; pai_root, where the command finds them; pai_lib, a folder
# for our own files. Needs `mkdir` and `ln`.
folders() {
  mkdir -p "$@" || fail "$pai_no_folder $*"
}

place() { # target, link
  [ "$1" != "$2" ] || return 0
  { [ ! -d "$2" ] || [ -h "$2" ] || rmdir "$2"; } && ln -sfn "$1" "$2" || fail "$pai_no_folder $2"
}

take_input() { # channel, variable, path or address, name of a fetched file
  pai_place=input/data/$1 pai_file=''
  case $3 in
    http://* | https://*)
      folders "$pai_ml/$pai_place"
      pai_file=$4
      fetch "$3" "$pai_ml/$pai_place/$4" || fail "$pai_no_input $1"
      ;;
    *)
      if [ -d "$3" ]; then
        place "$3" "$pai_ml/$pai_place"
      elif [ -e "$3" ]; then
        pai_file=${3##*/}
        place "${3%/*}/" "$pai_ml/$pai_place"
      elif [ "${pai_copied:-}" ] && [ -d "${3%/*}" ]; then
        # It is a folder that was named without a slash at its end.
        place "${3%/*}" "$pai_ml/$pai_place"
      else
        fail "$pai_no_input $1: $3"
      fi
      ;;
  esac
  [ -z "$2" ] || export "$2=$pai_root/$pai_place/$pai_file"
}

fetch() { # address, file
  if command -v curl >/dev/null; then
    curl -fsSL --retry 3 -o "$2" "$1"
  elif command -v wget >/dev/null; then
    wget -q -O "$2" "$1"
  elif command -v python3 >/dev/null; then
    python3 -c 'import sys, urllib.request as u; u.urlretrieve(*sys.argv[1:])' "$1" "$2"
  else
    fail "$pai_no_curl"
  fi
}

give_output() { # channel, folder
  folders "$2"
  place "$2" "$pai_ml/output/$1"
}

if [ "$pai_in_container" ] && mkdir -p /ml/input/data 2>/dev/null && [ -w /ml ]; then
  pai_root=/ml pai_ml=/ml pai_lib=/tmp/jupyter-pai
  say "$pai_is_folder"
else
  if [ -z "${pai_folder:-}" ]; then
    pai_folder=$(mktemp -d "${TMPDIR:-/tmp}/jupyter-pai.XXXXXX") || fail "$pai_no_folder ${TMPDIR:-/tmp}"
    pai_made=$pai_folder
  fi
  pai_folder=$pai_folder/worker-${RANK:-0}
  pai_ml=$pai_folder/ml pai_lib=$pai_folder/lib
  folders "$pai_folder/root" "$pai_ml/input/data"
  pai_root=/ml
  if [ "$pai_in_container" ] || [ "$pai_is_shared" ] || ! command -v python3 >/dev/null; then
    pai_root=$pai_ml
    say "$pai_is_variable"
  fi
fi
folders "$pai_ml/input/config" "$pai_ml/$pai_layout" "$pai_lib"
if [ "$pai_output" ]; then
  folders "$pai_output"
  place "$pai_output" "$pai_ml/output"
else
  folders "$pai_ml/output"
fi
printf '%s' "$pai_hyperparameters" >"$pai_ml/input/config/hyperparameters.json" || fail "$pai_no_folder $pai_ml"
