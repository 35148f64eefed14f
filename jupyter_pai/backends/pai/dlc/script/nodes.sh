# Before the job script: sets pai_rank and pai_master from the variables of the type of the job. Removes our link from the
# folder of outputs at the end, since that is a mount of a storage. Set before: pai_roles, the roles in the order of
# their ranks, each with `=` and the rank of its first instance; the first role has the rank 0.
pai_unlink() {
  [ ! -h /ml/output/logs ] || rm -f /ml/output/logs
}

first_of() { # role; sets pai_first
  pai_first=0
  for pai_one in $pai_roles; do
    [ "${pai_one%%=*}" != "$1" ] || pai_first=${pai_one#*=}
  done
}

trap pai_unlink EXIT
pai_rank=${RANK:-}
pai_master=${MASTER_ADDR:-}
if [ "${TF_CONFIG:-}" ]; then
  # {"cluster": {"ps": ["host:port"], "worker": ["host:port"]}, "task": {"type": "ps", "index": 0}}
  pai_type=${TF_CONFIG##*'"type"'}
  pai_type=${pai_type#*'"'}
  first_of "${pai_type%%'"'*}"
  pai_index=${TF_CONFIG##*'"index"'}
  pai_index=${pai_index#*:}
  pai_index=${pai_index%%[!0-9 ]*}
  pai_rank=$((pai_first + pai_index))
  case $TF_CONFIG in
    *"\"${pai_roles%%=*}\":"*)
      pai_master=${TF_CONFIG#*"\"${pai_roles%%=*}\":"}
      pai_master=${pai_master#*'"'}
      pai_master=${pai_master%%[:\"]*}
      ;;
  esac
elif [ -z "$pai_rank" ]; then
  # Other types have only the name of the pod: ID-ROLE-NUMBER.
  pai_index=${HOSTNAME##*-} pai_type=${HOSTNAME%-*}
  first_of "${pai_type##*-}"
  case $pai_index in '' | *[!0-9]*) pai_rank=0 ;; *) pai_rank=$((pai_first + pai_index)) ;; esac
fi
: "${pai_master:=127.0.0.1}"
