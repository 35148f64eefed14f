"""Data frames as inputs. They are detected by their methods, without importing pandas or polars."""

from __future__ import annotations

import contextlib
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..core.errors import BadInput
from ..core.i18n import _


def is_frame(value: object) -> bool:
    """Return whether a value is a data frame of pandas, polars or a compatible library."""
    kind = type(value)
    return hasattr(kind, "columns") and (hasattr(kind, "to_parquet") or hasattr(kind, "write_parquet"))


def save_frame(frame: Any, name: str, folder: Path) -> Path:
    """Save a data frame below a folder, under the digest of its file, and return the file.

    The format is Parquet if a library for it is installed, else CSV.

    Raises:
        BadInput: if it cannot be written.
    """
    import hashlib  # Here: clients, which import this module, start faster without these.
    import tempfile

    form = "parquet" if hasattr(frame, "write_parquet") or find_spec("pyarrow") else "csv"
    with tempfile.TemporaryDirectory(dir=folder, prefix=".frame-") as temporary:
        path = Path(temporary) / "frame"
        try:
            _write(frame, path, form)
        except Exception as error:  # Libraries raise various errors for unsupported columns.
            raise BadInput(
                _("Cannot save the data frame `{name}` as {form}: {error}").format(name=name, form=form, error=error),
                fix=_("Save it to a file and pass that: --input {name}=PATH").format(name=name),
            ) from None
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()[:32]
        data = folder / digest / "data"
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        target = path.replace(data / f"{name}.{form}")
        (folder / digest / "ready").touch()
    return target


def _write(frame: Any, path: Path, form: str) -> None:
    if hasattr(frame, "write_parquet"):
        frame.write_parquet(path)
    elif form == "parquet":
        frame.to_parquet(path)
    else:
        # A RangeIndex is not data; any other index is.
        frame.to_csv(path, index=type(frame.index).__name__ != "RangeIndex")
    with contextlib.suppress(OSError):
        os.chmod(path, 0o600)
