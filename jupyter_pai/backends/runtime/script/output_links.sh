# Makes the links in outputs relative that point to paths of the job, as these exist only in the job. A link that leads
# out of its channel stays, and is named after the message "$pai_lost_links". Uses `readlink` and `ln`.
make_relative() { # folder of a channel, its name, folder in it: empty, or with a slash at its end
  for pai_file in "$1/$3"* "$1/$3".[!.]* "$1/$3"..?*; do
    if [ -h "$pai_file" ]; then
      pai_text=$(readlink "$pai_file") || continue
      relink "$1" "$2" "$3" || [ "${#pai_lost}" -gt 2000 ] || pai_lost="$pai_lost${pai_lost:+, }$2/$3${pai_file##*/} → $pai_text"
    elif [ -d "$pai_file" ]; then
      make_relative "$1" "$2" "$3${pai_file##*/}/"
    fi
  done
}

relink() { # as above; fails if the link cannot be kept
  pai_target=$pai_text/
  while :; do
    case $pai_target in *//*) pai_target=${pai_target%%//*}/${pai_target#*//} ;; *) break ;; esac
  done
  case $pai_target in
    "$1"/*) pai_target=$2/${pai_target#"$1"/} ;;
    /ml/output/*) pai_target=${pai_target#/ml/output/} ;;
    "${pai_ml:-/ml}"/output/*) pai_target=${pai_target#"$pai_ml/output/"} ;;
    "${pai_output:-/ml/output}"/*) pai_target=${pai_target#"$pai_output/"} ;;
    /opt/ml/output/*) pai_target=${pai_target#/opt/ml/output/} ;;
    /opt/ml/model/*) pai_target=${pai_target#/opt/ml/} ;;
    "$PWD"/*) pai_target=files${pai_kept##*/files}/${pai_target#"$PWD"/} ;;
    /ml/usercode/* | /ml/code/*) pai_target=${pai_target#/ml/} && pai_target=files${pai_kept##*/files}/${pai_target#*/} ;;
    /ml/* | "${pai_ml:-/ml}"/* | /opt/ml/*) return 1 ;;
    *) return 0 ;;
  esac
  case $pai_target in logs/*) pai_target=tensorboard/${pai_target#logs/} ;; esac
  case $pai_target in "$2"/../*) return 1 ;; "$2"/*) pai_target=${pai_target#"$2"/} pai_above=$3 ;; *) return 1 ;; esac
  while [ "$pai_above" ] && [ "${pai_target%%/*}" = "${pai_above%%/*}" ]; do
    pai_target=${pai_target#*/} pai_above=${pai_above#*/}
  done
  while [ "$pai_above" ]; do
    pai_target=../$pai_target pai_above=${pai_above#*/}
  done
  pai_target=${pai_target%/}
  ln -sfn -- "${pai_target:-.}" "$pai_file"
}

make_all_relative() { # channels, each with its folder: empty for that in the folder of all outputs
  pai_lost=''
  while [ $# -gt 1 ]; do
    pai_place=${2:-"${pai_output:-${pai_ml:-/ml}/output}/$1"}
    # The command may have replaced it by a link.
    [ -h "$pai_place" ] || make_relative "$pai_place" "$1" ''
    shift 2
  done 2>/dev/null
  [ -z "$pai_lost" ] || say "$pai_lost_links $pai_lost"
}

