# Sets the further variables of the nodes; those that are set stay. Set before: pai_gpu, the GPUs of this node, and
# pai_gpus, those of each node by rank: `-` for those that programs for CUDA see here. The last word is that of all
# further nodes. pai_hosts: the addresses of the nodes by rank, empty if they are not known.
visible_gpus() {
  if [ "${CUDA_VISIBLE_DEVICES+set}" ]; then
    IFS=,
    set -- $CUDA_VISIBLE_DEVICES
    case ${1:-} in [0-9]* | GPU-* | MIG-*) ;; *) set -- ;; esac
  else
    set -- /dev/nvidia[0-9]*
    [ -e "$1" ] || set --
  fi
  echo "$#"
}

: "${NODE_NUM:=${WORLD_SIZE:-1}}" "${INDEX:=${RANK:-0}}" "${CHIEF_IP:=${MASTER_ADDR:-127.0.0.1}}"
export NODE_NUM INDEX CHIEF_IP
pai_visible=$(visible_gpus)
[ "$pai_gpu" != - ] || pai_gpu=$pai_visible
case ${GPU_NUM_PER_NODE:-} in
  '' | *[!0-9]*) ;;
  *) pai_gpus=$GPU_NUM_PER_NODE ;;
esac
[ "$NODE_NUM" != 1 ] || pai_hosts=$CHIEF_IP
# With one space between each two.
pai_hosts=$(echo $pai_hosts)
# Where the first node is `ID-master-0`, the others are `ID-worker-0`, `ID-worker-1` and so on.
pai_workers='' pai_number=0 pai_total=0 pai_list=''
case $CHIEF_IP in *-master-0) pai_workers=${CHIEF_IP%-master-0}-worker- ;; esac
while [ "$pai_number" -lt "$NODE_NUM" ]; do
  pai_host=${pai_hosts%% *} pai_count=${pai_gpus%% *}
  pai_hosts=${pai_hosts#* } pai_gpus=${pai_gpus#* }
  [ "$pai_count" != - ] || pai_count=$pai_visible
  if [ -z "$pai_host" ] && [ "$pai_workers" ]; then
    pai_host=$pai_workers$((pai_number - 1))
    [ "$pai_number" -gt 0 ] || pai_host=$CHIEF_IP
  fi
  pai_list=${pai_list:+$pai_list,}${pai_host:+$pai_host:$pai_count}
  pai_total=$((pai_total + pai_count)) pai_number=$((pai_number + 1))
done
export GPU_NUM_PER_NODE="${GPU_NUM_PER_NODE:-$pai_gpu}" GPU_NUM="${GPU_NUM:-$pai_total}"
if [ "$pai_list" ]; then export NODE_LIST="${NODE_LIST:-$pai_list}"; fi
