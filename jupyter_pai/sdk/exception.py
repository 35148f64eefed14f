"""The errors of the PAI SDK, by the names that `except` clauses use.

The classes here have more attributes: `message`, `fix`, and `details`, in which a failed job's `status` is.
"""

from ..core.errors import JobFailed as UnexpectedStatusException, PaiError as PAIException

__all__ = ["PAIException", "UnexpectedStatusException"]
