"""``jupyter pai`` and ``python -m jupyter_pai``: the command line, and the completions of its shell."""
# PYTHON_ARGCOMPLETE_OK

import gc
import os
import sys


def main() -> int:
    """Run the command line and return its exit code, or print the completions that a shell asks for."""
    # Nearly all objects live until the end of this short process, where collecting them takes a fifth of its time.
    gc.set_threshold(100_000)
    try:
        if sys.platform == "win32":
            from .client.printing import print_line
            from .core.host import windows_error

            print_line(str(windows_error()), sys.stderr)
            return 2
        if "_ARGCOMPLETE" in os.environ:
            from .commands.completion import complete_in_shell

            complete_in_shell()
        from .commands import terminal

        return terminal.main()
    except KeyboardInterrupt:  # Perhaps while modules load.
        from .client.printing import print_line
        from .core.i18n import _

        print_line("\n" + _("Interrupted."), sys.stderr)
        return 130
    finally:
        gc.freeze()


if __name__ == "__main__":
    raise SystemExit(main())
