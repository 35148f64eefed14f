# Copies /ml to the other nodes by SSH, by which MPI starts its processes there in the same folder. What a node has stays.
# Set before: pai_no_spread, a message. Needs `ssh`, whose server on a node may still be starting.
spread() { # address of a node
  pai_left=5
  command -v ssh >/dev/null || pai_left=0
  while [ "$pai_left" -gt 0 ]; do
    tar -cf - -C / ml tmp/jupyter-pai | ssh -o StrictHostKeyChecking=no -o BatchMode=yes -o ConnectTimeout=10 "$1" \
      'test -e /ml && exec cat >/dev/null; exec tar -xf - -C /' && return
    pai_left=$((pai_left - 1))
    sleep 2
  done
  say "$pai_no_spread $1" >&2
}

if [ "$pai_root" = /ml ]; then
  pai_nodes=${NODE_IP_SLOT_LIST:-},
  while [ "$pai_nodes" ]; do
    pai_node=${pai_nodes%%,*} pai_nodes=${pai_nodes#*,}
    case ${pai_node%%:*} in '' | "${CHIEF_IP:-}") ;; *) spread "${pai_node%%:*}" ;; esac
  done
fi
