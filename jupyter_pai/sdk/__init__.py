"""The PAI SDK's own names over this engine: what its documents import as ``pai.…`` is ``jupyter_pai.sdk.…`` here.

`estimator`, `image`, `job`, `oss_utils`, `session`, `tensorboard`.
"""

from .. import __version__

__all__ = ["__version__"]
