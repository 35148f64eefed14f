"""``python -m jupyter_pai``: the command line."""

from .commands.terminal import main

raise SystemExit(main())
