# Sets the variables of the command: folders of packages ("$pai_import_paths"), `report` and "$pai_client", and the
# backend of matplotlib.
export PYTHONUNBUFFERED=1 JUPYTER_PAI_JOB_ID="$pai_id"
export JUPYTER_PAI_ROLE="${JUPYTER_PAI_ROLE:-worker}" JUPYTER_PAI_ROLE_RANK="${JUPYTER_PAI_ROLE_RANK:-${RANK:-0}}"
if [ "$pai_args" ]; then export PAI_USER_ARGS="$pai_args"; fi
while [ "$pai_import_paths" ]; do
  PYTHONPATH="$PWD/${pai_import_paths##*:}${PYTHONPATH:+:$PYTHONPATH}"
  export PYTHONPATH
  case $pai_import_paths in *:*) pai_import_paths=${pai_import_paths%:*} ;; *) pai_import_paths= ;; esac
done
if mkdir -p "$pai_lib/jupyter_pai" 2>/dev/null; then
  pai_place=jupyter_pai/${pai_client_module%/*}
  mkdir -p "$pai_lib/$pai_place"
  while [ "$pai_place" ]; do
    # An installed package has further modules.
    echo 'from pkgutil import extend_path; __path__ = extend_path(__path__, __name__)' >"$pai_lib/$pai_place/__init__.py"
    case $pai_place in */*) pai_place=${pai_place%/*} ;; *) pai_place= ;; esac
  done
  printf '%s' "$pai_report" >"$pai_lib/jupyter_pai/report.py"
  printf '%s' "$pai_client" >"$pai_lib/jupyter_pai/$pai_client_module"
  export PYTHONPATH="${PYTHONPATH:+$PYTHONPATH:}$pai_lib"
  if [ "$pai_figures" ]; then
    printf '%s' "$pai_figures" >"$pai_lib/jupyter_pai_figures.py"
    export MPLBACKEND="${MPLBACKEND:-$pai_mplbackend}" PAI_OUTPUT_FIGURES="${PAI_OUTPUT_FIGURES:-/ml/output/figures}"
  fi
  # Images often have only `python3`.
  if ! pai_python=$(command -v python) && pai_python=$(command -v python3); then
    mkdir -p "$pai_lib/bin" && ln -sf "$pai_python" "$pai_lib/bin/python" && export PATH="$pai_lib/bin:$PATH"
  fi 2>/dev/null
fi
