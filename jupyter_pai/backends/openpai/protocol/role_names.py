"""Names of roles that the cluster accepts at the start of a job, and the variables that contain them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

__all__ = ["clean_role_name", "is_clean", "rename_roles"]

_CLEAN = re.compile(r"[a-z][a-z0-9]{0,62}")
# Variables with the name of a role: after a prefix, or with an index and the label of a port.
_PREFIXES = "|".join(
    """TASK_ROLE_TASK_COUNT_ RESOURCE_ MIN_FAILED_TASK_COUNT_ MIN_SUCCEEDED_TASK_COUNT_ HOST_IP_ PORT_LIST_
    TASK_ROLE_""".split()
)


def is_clean(name: str) -> bool:
    """Return whether the container finds the role by this name."""
    return bool(_CLEAN.fullmatch(name))


def clean_role_name(name: str, taken: Collection[str]) -> str:
    """Return a name that the container finds and that is not in `taken`: lower-case letters and digits."""
    clean = re.sub(r"[^a-z0-9]", "", name.lower())
    clean = (clean if clean[:1].isalpha() else f"role{clean}")[:63]
    number, result = 1, clean
    while result in taken:
        number += 1
        result = f"{clean[: 63 - len(str(number))]}{number}"
    return result


def rename_roles(text: str, names: Mapping[str, str]) -> str:
    """Replace names of roles in the names of variables, as in `PAI_HOST_IP_demo_001_0`. `names`: old to new."""
    if not names:
        return text
    old = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    pattern = rf"\bPAI_(?:({_PREFIXES})({old})(?![A-Za-z0-9])|({old})(?=_\d+_\w+_PORT\b))"
    return re.sub(pattern, lambda match: f"PAI_{match[1] or ''}{names[match[2] or match[3]]}", text)
