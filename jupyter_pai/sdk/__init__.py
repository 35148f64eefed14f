"""The API of the PAI SDK, implemented by this engine: import ``jupyter_pai.sdk.…`` in place of ``pai.…``.

`estimator`, `image`, `job`, `oss_utils`, `session`, `tensorboard`.
"""

from .. import __version__

__all__ = ["__version__"]
