# Unpacks the code of a platform that mounts the folder with "$pai_archive" as the working folder. In a mount of a
# storage, unpacked files would be uploaded one by one; and instances of a job ("$pai_several") may share the folder. The
# code is unpacked elsewhere in both cases. The archive stays, since it may be the object in the storage. Without
# `mktemp`, `tar` creates the folder. Needs `tar` with `gzip`.
is_storage() {
  pai_place=$(pwd -P)
  while read -r _ pai_mount pai_type _; do
    case $pai_mount in "$pai_place") return 0 ;; /) continue ;; esac
    case $pai_place/ in "$pai_mount"/*) case $pai_type in fuse* | nfs* | *cpfs* | lustre) return 0 ;; esac ;; esac
  done </proc/mounts
  return 1
} 2>/dev/null

unpack() {
  if [ -z "$pai_several" ] && [ -w . ] && ! is_storage; then
    tar -xzf "$pai_archive"
    return
  fi
  # In a folder of its own, so that the folders beside the code are the job's.
  if pai_parent=$(mktemp -d 2>/dev/null) && [ -n "$pai_parent" ]; then
    PAI_WORKING_DIR=$(mktemp -d "$pai_parent/usercode.XXXXXX") || return
  else
    PAI_WORKING_DIR=/tmp$PWD pai_parent=/tmp${PWD%/*}
    tar -chf - -C / "${PWD#/}/$pai_archive" | tar -xf - -C /tmp || return
  fi
  tar -xzf "$pai_archive" -C "$PAI_WORKING_DIR" && cd "$PAI_WORKING_DIR" || return
  export PAI_WORKING_DIR="$PAI_WORKING_DIR/"
}

if [ -f "$pai_archive" ]; then
  unpack || fail "$pai_no_tar"
fi
: "${PAI_OUTPUT_TENSORBOARD:=/ml/output/tensorboard/}"
export PAI_OUTPUT_TENSORBOARD PAI_OUTPUT_LOGS="$PAI_OUTPUT_TENSORBOARD"
[ -e /ml/output/logs ] || ln -sfn tensorboard /ml/output/logs 2>/dev/null
pai_lib=/tmp/jupyter-pai
