"""``python -m jupyter_pai``: the command line."""

import gc

from .commands.terminal import main

# Nearly all objects live until the end of this short process, where collecting them takes a fifth of its time.
gc.set_threshold(100_000)
try:
    raise SystemExit(main())
finally:
    gc.freeze()
