"""Helper functions of the PAI SDK that its documents and examples use."""

from __future__ import annotations

import importlib.util
import random
import re
import string
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime
from functools import wraps
from typing import Any, TypeVar

from ...client.context import current_shell
from ...client.printing import print_line
from ...core.errors import UsageError
from ...core.i18n import N_, _
from ..absent import absent_names
from .consts import INSTANCE_TYPE_LOCAL, INSTANCE_TYPE_LOCAL_GPU

__all__ = [
    "camel_to_snake",
    "is_dataset_id",
    "is_filesystem_uri",
    "is_iterable",
    "is_local_run_instance_type",
    "is_nas_uri",
    "is_notebook",
    "is_odps_table_uri",
    "is_package_available",
    "name_from_base",
    "print_table",
    "random_str",
    "retry",
    "snake_to_camel",
    "timestamp",
    "to_plain_text",
]

T = TypeVar("T")

_LETTERS = string.ascii_lowercase + string.digits
_PLAIN = string.ascii_letters + string.digits + "_"
_FILE_SYSTEMS = ("nas://", "cpfs://", "bmcpfs://")
_ABSENT = {
    "experimental": N_("It marks the SDK's own functions."),
    "generate_repr": N_("Write the text of an object in its `__repr__`."),
    "http_user_agent": N_("The engine names itself in its requests."),
    "is_domain_connectable": N_("To check the services and the network: %pai doctor --backend pai"),
    "make_list_resource_iterator": N_("Lists here are complete: jupyter_pai.list_jobs(), list_images()"),
    "parse_region_id_from_endpoint": N_("The region of a session: session.region_id"),
    "to_semantic_version": N_("Compare versions with `packaging.version.Version`."),
    **dict.fromkeys(
        (
            *("parse_bmcpfs_uri", "parse_cpfs_uri", "parse_local_file_uri", "parse_nas_uri", "parse_odps_uri"),
            *("parse_oss_uri", "parse_pai_dataset_uri"),
        ),
        N_("Parse an OSS URI: OssUriObj('oss://…'). Pass other URIs as inputs unchanged."),
    ),
}


def random_str(n: int) -> str:
    """Return `n` random letters (a to z) and digits."""
    return "".join(random.choices(_LETTERS, k=n))


def to_plain_text(input_str: str, allowed_characters: Collection[str] = _PLAIN, repl_ch: str = "_") -> str:
    """Return a text with each character that is not allowed replaced by `repl_ch`."""
    return "".join(letter if letter in allowed_characters else repl_ch for letter in input_str)


def timestamp(sep: str = "-", utc: bool = False) -> str:
    """Return the current time to the millisecond: ``20260102-030405-678``."""
    now = datetime.now(UTC) if utc else datetime.now()
    return sep.join((f"{now:%Y%m%d}", f"{now:%H%M%S}", f"{now.microsecond // 1000:03}"))


def name_from_base(base_name: str, sep: str = "-") -> str:
    """Return a name that ends with the current time."""
    return f"{base_name}{sep}{timestamp(sep)}"


def camel_to_snake(name: str) -> str:
    """Return ``EcsSpec`` as ``ecs_spec``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=.)(?=[A-Z][a-z])", "_", name).replace("__", "_").lower()


def snake_to_camel(name: str) -> str:
    """Return ``ecs_spec`` as ``EcsSpec``."""
    return "".join(word.title() for word in name.split("_"))


def is_iterable(arg: object) -> bool:
    """Return whether a value can be iterated."""
    try:
        iter(arg)  # type: ignore[call-overload]  # That is the question.
    except TypeError:
        return False
    return True


def is_notebook() -> bool:
    """Return whether this code runs in a notebook's kernel."""
    return any(kind.__name__ == "ZMQInteractiveShell" for kind in type(current_shell()).__mro__)


def is_package_available(package_name: str) -> bool:
    """Return whether a package can be imported."""
    return importlib.util.find_spec(package_name) is not None


def is_local_run_instance_type(instance_type: str | None) -> bool:
    """Return whether an instance type stands for this machine."""
    return (instance_type or "").strip() in (INSTANCE_TYPE_LOCAL, INSTANCE_TYPE_LOCAL_GPU)


def is_odps_table_uri(uri: str) -> bool:
    """Return whether a URI is that of a MaxCompute table: ``odps://project/tables/table``."""
    return bool(re.match(r"odps://[^/]*/tables/", uri))


def is_filesystem_uri(uri: str) -> bool:
    """Return whether a URI is that of a file system: NAS, CPFS or BMCPFS."""
    return uri.startswith(_FILE_SYSTEMS)


def is_nas_uri(uri: str) -> bool:
    """Return whether a URI is that of a NAS file system."""
    return isinstance(uri, str) and uri.startswith("nas://")


def is_dataset_id(item: str) -> bool:
    """Return whether a text is the ID of a data set."""
    return item.startswith("d-")


def print_table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table.

    Raises:
        UsageError: if a row has another length than the headers.
    """
    table = [[str(cell) for cell in row] for row in rows]
    if any(len(row) != len(headers) for row in table):
        raise UsageError(_("A row of a table has another length than its headers."))
    widths = [max(map(len, column)) for column in zip(headers, *table, strict=True)]
    first, *others = (
        " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (headers, *table)
    )
    for line in (first, "-" * len(first), *others):
        print_line(line)


def retry(
    max_attempts: int = 3,
    wait_secs: float = 1,
    exceptions: tuple[type[Exception], ...] = (Exception,),
    report_retries: bool = True,
) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Return a decorator that calls a function again after an error, up to `max_attempts` times in total, with a
    warning and a pause in seconds."""

    def decorate(function: Callable[..., T]) -> Callable[..., T]:
        @wraps(function)
        def call(*arguments: Any, **keywords: Any) -> T:
            for attempt in range(1, max_attempts):
                try:
                    return function(*arguments, **keywords)
                except exceptions as error:
                    if report_retries:
                        text = _("Attempt {n} of {most} failed: {error}")
                        warnings.warn(text.format(n=attempt, most=max_attempts, error=error), stacklevel=2)
                    time.sleep(wait_secs)
            return function(*arguments, **keywords)

        return call

    return decorate


__getattr__ = absent_names(__name__, _ABSENT)
