"""``python -m jupyter_pai``: the command line."""

from .cli import main

raise SystemExit(main())
