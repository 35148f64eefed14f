"""Secrets in the data of a remote job: masked wherever they are, also if processes that fetch it are killed."""

from __future__ import annotations

import asyncio
import base64
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import pytest

from jupyter_pai.backends.reports import LogPiece, Report
from jupyter_pai.config.secret_store import SecretStore
from jupyter_pai.core.errors import BackendError, Unreachable
from jupyter_pai.core.i18n import Message, _
from jupyter_pai.core.secret import Secret
from jupyter_pai.core.secret_filter import SecretFilter
from jupyter_pai.engine.watcher.masking import JobSecrets, MaskedLog, note_secrets
from jupyter_pai.engine.watcher.remote_metrics import RemoteMetrics
from jupyter_pai.engine.watcher.remote_sync import RemoteLog, RemoteSync
from jupyter_pai.jobs.events import MetricPoint
from jupyter_pai.jobs.job import JobStatus
from jupyter_pai.jobs.limits import LONGEST_TEXT
from jupyter_pai.jobs.logs.file import LogFile
from jupyter_pai.jobs.state_dir import JobFolder
from jupyter_pai.jobs.store.store import Store

from .test_remote_sync import NOW, Platform, fetch, place as place, platform as platform, store as store, sync

VALUE = "tok-3n/Zt wörd&9"
RAW = VALUE.encode()
NAMES = {"TOKEN": "hub"}
SECRETS = {"TOKEN": Secret(VALUE)}
MASK = b"[secret TOKEN]"
LOG = b"\n".join(
    [b"start to", b"a " + RAW + b" z", base64.b64encode(RAW), RAW.hex().encode(), quote(VALUE).encode(), RAW[:5], RAW]
)


@pytest.fixture
def keyring(tmp_path: Path) -> SecretStore:
    """The user's secrets, in a file."""
    return SecretStore(tmp_path / "secrets.json")


@pytest.fixture(autouse=True)
def no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")


def known(place: JobFolder) -> JobSecrets:
    """The secrets in the process that has submitted the job."""
    return JobSecrets(place, NAMES, values=SECRETS)


def whole(data: bytes) -> bytes:
    """The bytes, masked at once."""
    secret_filter = SecretFilter({"TOKEN": RAW})
    return secret_filter.feed(data) + secret_filter.finish()


def stored(place: JobFolder) -> bytes:
    """Everything in the folder of the job."""
    return b"".join(path.read_bytes() for path in place.path.rglob("*") if path.is_file())


# Logs.


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("piece", [1, 2, 3, 7, 16, 40, 1000])
def test_log_is_masked_wherever_it_is_split(place: JobFolder, platform: Platform, piece: int, killed: bool) -> None:
    """With `killed`, each fetch is by another process, and each second one was killed before it stored its position."""
    platform.piece = piece
    log, cursors, before = RemoteLog(place, known(place)), place.path / "log.cursors", ""
    for end in range(1, len(LOG) + 1):
        platform.logs = {"worker-0": LOG[:end]}
        fetch(log, platform)
        assert RAW[:5] not in stored(place).replace(b"\n" + RAW[:5] + b"\n", b"")
        if killed:
            if before and end % 2:
                cursors.write_text(before)
            before = cursors.read_text() if cursors.exists() else ""
            log = RemoteLog(place, known(place))
    fetch(log, platform)
    log.finish()
    assert (place.log / "worker-0").read_bytes() == whole(LOG)
    assert whole(LOG).count(MASK) == 5
    # What comes after the end that was seen is appended.
    platform.logs = {"worker-0": LOG + b"\nmore\n"}
    fetch(RemoteLog(place, known(place)), platform)
    assert (place.log / "worker-0").read_bytes() == whole(LOG) + b"\nmore\n"


def test_held_back_end_is_fetched_again_and_not_stored(place: JobFolder, platform: Platform) -> None:
    platform.piece, platform.logs = 8, {"worker-0": b"0123456789" + RAW[:-1]}
    fetch(RemoteLog(place, known(place)), platform)
    assert (place.log / "worker-0").read_bytes() == b"0123456789"
    assert (place.path / "log.cursors").read_text() == '{"worker-0": [10, "8", 2, 1]}'
    platform.logs["worker-0"] += RAW[-1:] + b"\n"
    log = RemoteLog(place, known(place))
    fetch(log, platform)
    assert (place.log / "worker-0").read_bytes() == b"0123456789" + MASK + b"\n"
    assert (
        place.path / "log.cursors"
    ).read_text() == f'{{"worker-0": [{10 + len(MASK) + 1}, "{11 + len(RAW)}", 0, 1]}}'


def test_failed_write_of_a_masked_log_is_repeated(place: JobFolder, platform: Platform) -> None:
    platform.piece, platform.logs = 4, {"worker-0": b"one " + RAW[:6]}
    log = RemoteLog(place, known(place))
    fetch(log, platform)
    platform.logs["worker-0"] += RAW[6:] + b"\n"
    (place.path / "log.cursors").unlink()
    (place.path / "log.cursors").mkdir()  # It cannot be replaced.
    with pytest.raises(OSError, match="directory"):
        fetch(log, platform)
    (place.path / "log.cursors").rmdir()
    fetch(log, platform)
    assert (place.log / "worker-0").read_bytes() == b"one " + MASK + b"\n"


def test_masked_log_keeps_the_times_of_the_platform(place: JobFolder, platform: Platform) -> None:
    lines = [b"one " + RAW + b"\n", RAW + b"\n", b"three\n"]
    platform.logs, platform.piece = {"worker-0": b"".join(lines)}, 9
    platform.times = [(0, 10.0), (len(lines[0]), 20.0), (len(lines[0] + lines[1]), 30.0)]
    fetch(RemoteLog(place, known(place)), platform)
    log = LogFile(place.log, "worker-0")
    assert log.read(0, 1000) == b"one " + MASK + b"\n" + MASK + b"\nthree\n"
    first = len(MASK) + 5
    assert [log.time_at(n) for n in (0, first, first + len(MASK) + 1)] == [10, 20, 30]


def test_position_skips_over_several_pieces() -> None:
    log = MaskedLog(SecretFilter({"TOKEN": RAW}), "a", 5)
    assert log.feed(LogPiece(b"123", "b"))[0] == b""
    assert log.position == ("b", 2)
    assert log.feed(LogPiece(b"45x" + RAW[:4], "c"))[0] == b"x"
    assert log.position == ("b", 3)
    assert log.feed(LogPiece(RAW[4:-1], "d"))[0] == b""
    assert log.position == ("b", 3)
    assert log.feed(LogPiece(RAW[-1:] + b"to", "e"))[0] == MASK
    assert log.position == ("d", 1)
    assert log.finish()[0] == b"to"
    assert log.position == ("e", 0)


# Other data.


def test_all_texts_of_a_report_are_masked(place: JobFolder) -> None:
    text, masked = f"has {VALUE}.", "has [secret TOKEN]."
    report = Report(
        JobStatus.FAILED, text, text, text, notes=(text,), output_parameters={text: text, "score": "0.9"},
        metrics={text: MetricPoint(text, 0, 1.0, 2.0)}, exit_code=3,
    )  # fmt: skip
    seen = asyncio.run(known(place).report(report))
    assert VALUE not in repr(seen)
    assert (seen.platform_status, seen.reason, seen.fix, seen.notes) == (masked, masked, masked, (masked,))
    assert seen.output_parameters == {masked: masked, "score": "0.9"}
    assert [*seen.metrics] == [masked]
    assert seen.exit_code == 3


def test_shortened_text_and_message_are_masked(place: JobFolder) -> None:
    secrets = known(place)
    report = Report(JobStatus.FAILED, reason="x" * (LONGEST_TEXT - 9) + VALUE)
    assert report.reason.endswith(VALUE[:8] + "…")
    assert asyncio.run(secrets.report(report)).reason.endswith("x[secret …")
    assert secrets.text(f"cut {VALUE[:9]}…") == "cut [secret TOKEN]…"
    message = secrets.text(_("Unknown secret `{name}`.").format(name=VALUE))
    assert message == "Unknown secret `[secret TOKEN]`."
    assert isinstance(message, Message)
    error = BackendError(f"no {VALUE}", fix=f"use {VALUE}", names=[VALUE, 3], more={VALUE: (VALUE,)}, count=2)
    secrets.mask_error(error)
    assert VALUE not in str(error) + repr(error.args) + str(error.as_json())
    masked = "[secret TOKEN]"
    assert error.details == {"names": [masked, 3], "more": {masked: [masked]}, "count": 2}


def test_events_notes_and_names_of_metrics_are_masked(place: JobFolder, platform: Platform, store: Store) -> None:
    platform.texts, platform.values = [f"pulled {VALUE}"], {f"loss of {VALUE}": [1.0, 2.0, 3.0]}
    platform.logs = {"worker-0": b"x\n"}
    secrets = known(place)
    remote = RemoteSync(place, store, NOW, secrets=secrets)
    remote.optional.points = RemoteMetrics(place, (), lambda: None, secrets.text)
    assert sync(remote, platform)
    platform.errors = {"log": [Unreachable(f"cannot open {VALUE}")] * 20}
    for _n in range(19):
        with pytest.raises(Unreachable) as caught:
            sync(remote, platform, ended=True)
        assert VALUE not in caught.value.message
    assert sync(remote, platform, ended=True)
    assert remote.notes == ["Its log may be incomplete: cannot open [secret TOKEN]"]
    (event,) = [event for event in store.events.read() if event.kind == "platform"]
    assert event.data["text"] == "pulled [secret TOKEN]"
    assert VALUE.encode() not in stored(place)
    assert (place.path / "platform.points").read_text().count('["loss of [secret TOKEN]"') == 3


# Values.


def test_another_process_uses_the_stored_value(place: JobFolder, platform: Platform, keyring: SecretStore) -> None:
    note_secrets(place, SECRETS)
    assert RAW not in stored(place)
    keyring.keep("hub", SECRETS["TOKEN"])
    secrets = JobSecrets(place, NAMES, keyring)
    assert asyncio.run(secrets.load())
    assert secrets.text(VALUE) == "[secret TOKEN]"
    # A later change of the stored value does not matter any more.
    keyring.keep("hub", Secret("another value"))
    assert asyncio.run(secrets.load())
    assert secrets.text(VALUE) == "[secret TOKEN]"


@pytest.mark.parametrize("change", ["changed", "missing"])
def test_without_the_value_nothing_is_fetched_until_it_is_back(
    place: JobFolder, platform: Platform, store: Store, keyring: SecretStore, change: str
) -> None:
    note_secrets(place, SECRETS)
    if change == "changed":
        keyring.keep("hub", Secret("another value"))
    platform.logs, platform.texts = {"worker-0": LOG}, [VALUE]
    secrets = JobSecrets(place, NAMES, keyring)
    remote = RemoteSync(place, store, NOW, secrets=secrets)
    assert sync(remote, platform)
    assert not platform.asked
    running = Report(JobStatus.RUNNING, VALUE, VALUE, started_at=datetime.now(UTC))
    seen = asyncio.run(secrets.report(running))
    assert (seen.status, seen.platform_status, seen.started_at) == (running.status, "", running.started_at)
    assert "secrets in them cannot be masked" in seen.reason
    assert "`hub`" in seen.reason
    assert "%pai secret set hub" in seen.fix
    ended = asyncio.run(secrets.report(Report(JobStatus.FAILED, reason=VALUE, output_parameters={"a": VALUE})))
    assert (ended.reason, ended.fix, ended.output_parameters) == ("", "", {})
    assert [note == seen.reason for note in ended.notes] == [True]
    keyring.keep("hub", SECRETS["TOKEN"])
    assert sync(remote, platform)
    assert platform.asked["log"]
    assert "[secret TOKEN]" in asyncio.run(secrets.report(running)).reason


def test_imported_job_uses_the_stored_value(place: JobFolder, keyring: SecretStore) -> None:
    """It has no digests, since it was submitted elsewhere."""
    keyring.keep("hub", SECRETS["TOKEN"])
    assert asyncio.run(JobSecrets(place, NAMES, keyring).load())
