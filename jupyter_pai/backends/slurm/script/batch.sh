# The batch script: runs the instances of a job and reports their ends in the shared folder. Set before: pai_folder, the
# folder of the job; pai_id, our id; pai_keep, empty if the job starts once; pai_srun, the arguments of `srun`, which
# starts instances on several nodes and in containers of Slurm.
umask 077
cd "$pai_folder" 2>/dev/null || exit 118
# A submit whose reply was lost may be repeated. Only the first job of Slurm with our id runs.
echo "$SLURM_JOB_ID" >"claim.$SLURM_JOB_ID"
ln "claim.$SLURM_JOB_ID" claim 2>/dev/null
read -r pai_first <claim
[ "$pai_first" = "$SLURM_JOB_ID" ] || exit 119
mkdir -p log ranks ../../ids
# Whole files only: they are read at any moment.
put() { # file, text
  echo "$2" >"$1.$SLURM_JOB_ID" && mv "$1.$SLURM_JOB_ID" "$1"
}
put slurm_id "$SLURM_JOB_ID"
put "../../ids/$SLURM_JOB_ID" "$pai_id"
echo "$(date +%s) ${SLURMD_NODENAME:-}" >>attempts
pai_attempt=$(wc -l <attempts)
pai_attempt=$((pai_attempt))
if [ -f secrets ]; then
  . ./secrets
  [ "$pai_keep" ] || rm -f secrets
fi
# Names of nodes may not be those of hosts.
address_of() { # node
  pai_address=$(scontrol show node "$1" 2>/dev/null | sed -n 's/.*NodeAddr=\([^ ]*\).*/\1/p' | head -n 1)
  echo "${pai_address:-$1}"
}
# The nodes in the order of the ranks; this one has rank 0.
pai_node=${SLURMD_NODENAME:-$(hostname)} pai_hosts=''
if [ "$pai_srun" ]; then
  pai_list=${SLURM_JOB_NODELIST:-} pai_group=1
  while [ "$pai_group" -lt "${SLURM_HET_SIZE:-1}" ]; do
    [ "$pai_group" != 1 ] || pai_list=$SLURM_JOB_NODELIST_HET_GROUP_0
    eval "pai_list=\$pai_list,\$SLURM_JOB_NODELIST_HET_GROUP_$pai_group"
    pai_group=$((pai_group + 1))
  done
  pai_hosts=$(scontrol show hostnames "$pai_list" 2>/dev/null)
fi
if ! getent hosts "$pai_node" >/dev/null 2>&1; then
  pai_node=$(address_of "$pai_node")
  pai_hosts=$(for pai_host in $pai_hosts; do address_of "$pai_host"; done)
fi
MASTER_ADDR=$pai_node MASTER_PORT=$((20000 + SLURM_JOB_ID % 20000))
export MASTER_ADDR MASTER_PORT pai_attempt pai_folder pai_hosts

pai_stop=''
pass_on() {
  pai_stop=1
  [ -z "$pai_job" ] || kill -TERM "$pai_job" 2>/dev/null
  # `srun` would kill the instances.
  [ -z "$pai_srun" ] || scancel --signal=TERM "$SLURM_JOB_ID" 2>/dev/null
}
pai_job=''
trap pass_on TERM
if [ "$pai_srun" ]; then
  (
    trap '' TERM
    eval "exec srun $pai_srun"
  ) >>messages 2>&1 </dev/null &
else
  sh ./rank </dev/null >/dev/null 2>&1 &
fi
pai_job=$!
[ -z "$pai_stop" ] || pass_on
wait_for "$pai_job"
pai_result=$?
# `srun` returns the largest exit code, which may be that of an instance that was ended for another one.
if [ -f "ranks/$pai_attempt.failed" ]; then
  read -r pai_result _ <"ranks/$pai_attempt.failed"
fi
# A job that is stopped to be started again needs them.
{ [ "$pai_keep" ] && [ "$pai_stop" ]; } || rm -f secrets
put result "$pai_result $(date +%s) $pai_attempt"
exit "$pai_result"
