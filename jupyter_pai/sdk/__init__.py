"""The API of the PAI SDK, implemented by this engine: import ``jupyter_pai.sdk.…`` in place of ``pai.…``.

`estimator`, `image`, `job`, `oss_utils`, `session`, `tensorboard`, `exception` and `common`. Importing another module
of the SDK raises an error that names the alternative here.
"""

from .. import __version__
from . import absent

__all__ = ["__version__"]

absent.watch_imports()
