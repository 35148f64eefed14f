"""Tables of MaxCompute as folders that are read only: ``odps://PROJECT/tables/TABLE``.

A table is a folder with two files: ``meta.json``, which training jobs on PAI get for such an input, and
``rows.parquet`` with its rows. PAI itself gives a job no rows: its code reads the table by PyODPS, as this module does.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, NoReturn, Self

from ...cloud.alibaba.account import AlibabaAccount, AliyunSettings
from ...config.settings import ProfileSettings
from ...core.errors import BackendError, NotFound, SpecError, Unsupported
from ...core.i18n import _
from ..base import File, OpenFile, Progress, Storage
from ..objects.client import SigningKeys
from ..staging import Staging, check_targets

_META, _ROWS = "meta.json", "rows.parquet"
_FORM = re.compile(r"odps://(?P<project>\w+)(/schemas/(?P<schema>\w+))?/tables/(?P<table>\w+)/?")
_PIECE = 1 << 20


class TableUri(NamedTuple):
    """A table of a project, in a schema if the project has schemas."""

    project: str
    table: str
    schema: str | None = None

    @classmethod
    def parse(cls, uri: str) -> TableUri:
        """Parse the URI of a table.

        Raises:
            SpecError: if it is invalid.
        """
        match = _FORM.fullmatch(uri)
        if match is None:
            raise SpecError(
                _("Invalid URI of a table `{uri}`.").format(uri=uri), fix=_("Use odps://PROJECT/tables/TABLE.")
            )
        return cls(match["project"], match["table"], match["schema"])


class OdpsStorage(Storage):
    """The tables that an account can read."""

    scheme: ClassVar[str] = "odps"
    settings_model: ClassVar[type[ProfileSettings] | None] = AliyunSettings
    account_keys: ClassVar[str] = "region_id=REGION"

    def __init__(self, account: AlibabaAccount) -> None:
        self.account = account
        self._keys = SigningKeys(account.keys)

    @classmethod
    def of(cls, settings: ProfileSettings | None, state: Path) -> Self:
        assert isinstance(settings, AliyunSettings)
        return cls(AlibabaAccount.of(settings))

    @property
    def endpoint(self) -> str:
        """The address of the service."""
        return f"https://service.{self.account.region}.maxcompute.aliyun.com/api"

    def stat(self, uri: str) -> File | None:
        name = TableUri.parse(uri).table
        with self._table(uri) as table:
            return File(f"{name}/", 0) if table else None

    def entries(self, uri: str, after: str = "", most: int = 1000) -> list[File]:
        return [file for file in self.list(uri) if file.path > after][:most]

    def list(self, uri: str) -> list[File]:
        with self._table(uri) as table:
            if table is None:
                return []
            changed = table.last_data_modified_time
            version = str(changed or "")
            modified = changed.timestamp() if changed else 0.0
            size = int(table.size or 0)
            return [File(_META, len(self._meta(uri)), modified, version=version),
                    File(_ROWS, size, modified, version=version)]  # fmt: skip

    def exists(self, uri: str) -> bool:
        return self.stat(uri) is not None

    def get_tree(
        self,
        uri: str,
        folder: Path,
        files: Sequence[str] | None = None,
        *,
        overwrite: bool = False,
        progress: Progress | None = None,
    ) -> int:
        selected = [file for file in self.list(uri) if files is None or file.path in files]
        if not selected:
            raise NotFound(_("{uri} does not exist.").format(uri=uri))
        check_targets(folder, [file.path for file in selected], overwrite=overwrite)
        with Staging(folder) as staging, tempfile.TemporaryFile() as rows:
            for file in selected:
                if file.path == _ROWS:
                    self._write_rows(uri, rows, progress)
                    rows.seek(0)
                pieces = [self._meta(uri)] if file.path == _META else iter(lambda: rows.read(_PIECE), b"")
                for _size in staging.write(file.path, pieces, file.modified, None):
                    pass
            staging.publish(overwrite=overwrite)
        return len(selected)

    def _write_rows(self, uri: str, target: Any, progress: Progress | None) -> None:
        """Write the rows of a table as Parquet."""
        import pyarrow.parquet

        with self._table(uri) as table:
            if table is None:
                raise NotFound(_("{uri} does not exist.").format(uri=uri))
            with table.open_reader(arrow=True) as reader:
                writer, done = None, 0
                for batch in reader:
                    writer = writer or pyarrow.parquet.ParquetWriter(target, batch.schema)
                    writer.write_batch(batch)
                    done += batch.num_rows
                    if progress:
                        progress(done, reader.count)
            if writer is None:  # An empty table.
                schema = pyarrow.schema([(column.name, pyarrow.string()) for column in table.table_schema.columns])
                writer = pyarrow.parquet.ParquetWriter(target, schema)
            writer.close()

    def _meta(self, uri: str) -> bytes:
        return json.dumps({"endpoint": self.endpoint, "path": uri.rstrip("/")}).encode()

    @contextmanager
    def _table(self, uri: str) -> Iterator[Any]:
        """Yield a table as PyODPS has it; None if it does not exist.

        Raises:
            Unsupported: without PyODPS.
            BackendError: as the service rejects a request.
        """
        wanted = TableUri.parse(uri)
        try:
            import pyarrow  # noqa: F401
            from odps import ODPS
            from odps.accounts import StsAccount
            from odps.errors import BaseODPSError
        except ImportError:
            raise Unsupported(
                _("PyODPS is required to read {uri} on this machine.").format(uri=uri),
                fix=_("pip install {name}, or run the job on PAI").format(name="'jupyter-pai[odps]'"),
            ) from None
        key = self._keys.now()
        try:
            if key.token:
                account = StsAccount(key.id, key.secret.open(), key.token.open())
                client = ODPS(account=account, project=wanted.project, endpoint=self.endpoint)
            else:
                client = ODPS(key.id, key.secret.open(), wanted.project, endpoint=self.endpoint)
            exists = client.exist_table(wanted.table, project=wanted.project, schema=wanted.schema)
            yield client.get_table(wanted.table, project=wanted.project, schema=wanted.schema) if exists else None
        except BaseODPSError as error:
            raise BackendError(_("{uri}: {error}").format(uri=uri, error=self._keys.mask(str(error)))) from None

    def open(self, uri: str, path: str) -> OpenFile:
        self._refuse(uri)

    def put(self, source: Path | bytes, uri: str, *, overwrite: bool = False, progress: Progress | None = None) -> File:
        self._refuse(uri)

    def delete(self, uri: str) -> int:
        self._refuse(uri)

    def make_folder(self, uri: str) -> None:
        self._refuse(uri)

    def _refuse(self, uri: str) -> NoReturn:
        raise Unsupported(
            _("Tables can only be inputs of jobs: {uri}").format(uri=uri),
            fix=_("Read and write the rows with PyODPS in the code of the job."),
        )
