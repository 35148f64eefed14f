# Names a program that the command needs and the image lacks, and exits.
if [ "$pai_result" = 126 ] || [ "$pai_result" = 127 ]; then
  for pai_name in python python3 pip bash curl wget git tar; do
    case " $pai_command " in
      *[!A-Za-z0-9_./-]"$pai_name"[!A-Za-z0-9_.-]*) command -v "$pai_name" >/dev/null || say "$pai_no_program $pai_name" ;;
    esac
  done
fi
leave "$pai_result"
