"""Tables of MaxCompute as inputs of a job on this machine. The client PyODPS is a stand-in with the same names."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.config.toml_file import user_file
from jupyter_pai.core.errors import BackendError, NotFound, SpecError, Unsupported

from ...conftest import submit

URI = "odps://shop/tables/orders"
PACKAGES = {
    "odps/__init__.py": """
        import datetime
        from .accounts import StsAccount
        from .errors import NoSuchObject

        class Batch(list):
            schema, num_rows = "id", property(len)

        class Reader:
            count = 3
            def __enter__(self):
                return self
            def __exit__(self, *error):
                pass
            def __iter__(self):
                return iter([Batch(["1", "2"]), Batch(["3"])])

        class Table:
            size, last_data_modified_time = 12, datetime.datetime(2024, 1, 2)
            def open_reader(self, arrow):
                assert arrow
                return Reader()

        class ODPS:
            def __init__(self, access_id=None, secret_access_key=None, project=None, endpoint=None, account=None):
                assert endpoint == "https://service.cn-hangzhou.maxcompute.aliyun.com/api"
                self.secret = secret_access_key
            def exist_table(self, name, project=None, schema=None):
                if name == "forbidden":
                    raise NoSuchObject(f"no permission for the key {self.secret}")
                return (project, name) == ("shop", "orders")
            def get_table(self, name, project=None, schema=None):
                return Table()
    """,
    "odps/accounts.py": """
        class StsAccount:
            pass
    """,
    "odps/errors.py": """
        class BaseODPSError(Exception):
            pass
        class NoSuchObject(BaseODPSError):
            pass
    """,
    "pyarrow/__init__.py": "",
    "pyarrow/parquet.py": """
        class ParquetWriter:
            def __init__(self, target, schema):
                self.target = target
                target.write(schema.encode())
            def write_batch(self, batch):
                self.target.write(" ".join(["", *batch]).encode())
            def close(self):
                self.target.write(b" end")
    """,
}
SHOW = 'cat "$PAI_INPUT_T/meta.json"; echo; cat "$PAI_INPUT_T/rows.parquet"'


@pytest.fixture
def account(engine: EmbeddedClient, monkeypatch: pytest.MonkeyPatch) -> str:
    """A profile that can read tables. Returns the secret of its key."""
    monkeypatch.setenv("ALIBABA_CLOUD_ACCESS_KEY_ID", "LTAI5tEXAMPLE")
    monkeypatch.setenv("ALIBABA_CLOUD_ACCESS_KEY_SECRET", "a-very-secret-key-0123456789")
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text('[profiles.pai]\nbackend = "pai"\nregion_id = "cn-hangzhou"\n', "utf-8")
    user_file().chmod(0o600)
    return "a-very-secret-key-0123456789"


@pytest.fixture
def client(account: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed client."""
    for name, text in PACKAGES.items():
        (tmp_path / "packages" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "packages" / name).write_text(dedent(text))
    before = set(sys.modules)
    monkeypatch.syspath_prepend(tmp_path / "packages")
    yield
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("odps", "pyarrow"):
            del sys.modules[name]


@pytest.mark.usefixtures("client")
def test_local_job_gets_the_rows_and_what_the_service_gives(engine: EmbeddedClient) -> None:
    job = submit(engine, SHOW, profile="local", inputs={"t": URI}).wait()
    meta, rows = "".join(job.logs()).splitlines()[-2:]
    assert json.loads(meta) == {"endpoint": "https://service.cn-hangzhou.maxcompute.aliyun.com/api", "path": URI}
    assert rows == "id 1 2 3 end"
    again = submit(engine, SHOW, profile="local", inputs={"t": URI}).wait()
    assert again.info["inputs"] == job.info["inputs"]


@pytest.mark.usefixtures("client")
def test_errors_of_tables_are_explained(engine: EmbeddedClient, account: str) -> None:
    with pytest.raises(NotFound, match=r"The input `t`: odps://shop/tables/none does not exist"):
        submit(engine, SHOW, profile="local", inputs={"t": "odps://shop/tables/none"})
    with pytest.raises(SpecError, match="Invalid URI of a table"):
        submit(engine, SHOW, profile="local", inputs={"t": "odps://shop/orders"})
    with pytest.raises(BackendError, match="no permission") as caught:
        submit(engine, SHOW, profile="local", inputs={"t": "odps://shop/tables/forbidden"})
    assert account not in str(caught.value)


def test_missing_client_is_named_with_its_command(engine: EmbeddedClient, account: str) -> None:
    with pytest.raises(Unsupported, match=r"The input `t`: PyODPS is required to read odps://shop/tables/orders") as no:
        submit(engine, SHOW, profile="local", inputs={"t": URI})
    assert "pip install 'jupyter-pai[odps]'" in no.value.fix


def test_tables_are_not_written(engine: EmbeddedClient, account: str, folder: Path) -> None:
    (folder / "a.csv").write_text("1")
    with pytest.raises(Unsupported, match="can only be inputs"):
        engine.call("make_data_folder", body={"uri": f"{URI}/x"})
