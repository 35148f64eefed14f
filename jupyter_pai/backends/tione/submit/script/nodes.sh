# Before the job script: sets pai_rank and pai_master, and removes our links from the folder for outputs at the end, since
# the platform could upload what they lead to once more. Arguments: the rank of the first instance of the role. Set
# before: pai_links, names; pai_is_ps, if there may be parameter servers; pai_first_role, the role with the rank 0.
pai_unlink() {
  for pai_link in $pai_links; do
    [ ! -h "/opt/ml/output/$pai_link" ] || rm -f "/opt/ml/output/$pai_link"
  done
}

trap pai_unlink EXIT
pai_rank=${RANK:-${INDEX:-0}}
pai_master=${MASTER_ADDR:-}
if [ "$pai_is_ps" ]; then
  # {"cluster": {"ps": ["host:port"], "worker": ["host:port"]}, "task": {"type": "ps", "index": 0}}
  pai_config=${TF_CONFIG:-}
  pai_index=${pai_config##*'"index":'}
  pai_index=${pai_index%%[!0-9 ]*}
  case $pai_index in *[0-9]*) ;; *) pai_index=${HOSTNAME##*-} ;; esac
  case $pai_index in '' | *[!0-9\ ]*) pai_index=0 ;; esac
  pai_rank=$(($1 + pai_index))
  case $pai_config in
    *"\"$pai_first_role\":"*)
      pai_master=${pai_config#*"\"$pai_first_role\":"}
      pai_master=${pai_master#*'"'}
      pai_master=${pai_master%%[:\"]*}
      ;;
  esac
fi
: "${pai_master:=${CHIEF_IP:-127.0.0.1}}"
