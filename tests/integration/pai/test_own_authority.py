"""A network or private cloud with a certificate authority of its own: the profile names its file."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.cloud.alibaba.account import AlibabaAccount, AliyunSettings
from jupyter_pai.core.errors import NotFound, Unreachable
from jupyter_pai.storage.oss.storage import OssStorage

from ...conftest import script, submit
from ...fakes.alibaba import StandIn
from ...fakes.alibaba.proxy import certificate
from ...fakes.scripted_server import Answers, answering, reply
from .conftest import write_profile


@pytest.fixture
def network(pai: StandIn, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """The public hosts, behind a proxy whose certificates are not trusted."""
    for name, value in pai.proxy_environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("SSL_CERT_FILE")
    return pai


def test_job_runs_with_the_authority_of_the_profile(network: StandIn, engine: EmbeddedClient, folder: Path) -> None:
    script(folder, "print('trained')")
    public = {"endpoint": "", "network": "public"}
    write_profile(network, **public)
    with pytest.raises(Unreachable, match="is not trusted") as caught:
        submit(engine, folder=folder, entry_point="train.py", profile="pai")
    assert "ca_file" in caught.value.fix
    write_profile(network, **public, ca_file=str(network.folder / "ca.pem"))
    job = submit(engine, folder=folder, entry_point="train.py", profile="pai").wait()
    assert job.status == "succeeded"
    assert "trained" in job.logs()


@pytest.fixture
def private(tmp_path: Path) -> Iterator[Answers]:
    """An object storage by HTTPS, whose authority is in `ca.pem`. It has no objects."""
    with answering(certificate(tmp_path, [x509.IPAddress(ip_address("127.0.0.1"))])) as answers:
        answers.say(reply(404, ""))
        yield answers


def test_object_storage_trusts_the_authority_of_the_profile(pai: StandIn, private: Answers, tmp_path: Path) -> None:
    def storage(**more: str) -> OssStorage:
        keys: dict[str, Any] = {"backend": "pai", **pai.settings(), "oss_endpoint": private.url, **more}
        return OssStorage(AlibabaAccount(AliyunSettings.model_validate(keys)), tmp_path)

    with pytest.raises(Unreachable, match="is not trusted") as caught:
        storage().stat(f"oss://{pai.bucket}/a")
    assert "ca_file" in caught.value.fix
    assert private.seen == []
    with pytest.raises(NotFound):
        storage(ca_file=str(tmp_path / "ca.pem")).stat(f"oss://{pai.bucket}/a")
    assert private.seen
