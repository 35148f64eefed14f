# Gives the folders their names below /opt/ml, pai_places: each with `=` and its target. A name that is there stays. Only
# where the root belongs to the job: private_root.sh does this elsewhere.
if [ "${pai_ml:-/ml}" = /ml ] && [ -d /ml ] && mkdir -p /opt/ml; then
  for pai_place in code="$PWD" $pai_places; do
    [ -e "/opt/ml/${pai_place%%=*}" ] || ln -s "${pai_place#*=}" "/opt/ml/${pai_place%%=*}"
  done
fi 2>/dev/null
