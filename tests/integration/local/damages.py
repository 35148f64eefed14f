"""Random damage to the database and the records of jobs, as by power cuts, bad disks and restored backups."""

from __future__ import annotations

import contextlib
import random
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.jobs.state_dir import Home

from ...conftest import keep_below, submit, until

__all__ = ["Rounds", "known", "make_ended_jobs"]

# What a program that writes other files than its own, or a bad disk, leaves.
_GARBAGE = b"\xff\x00\x9f{[\"'0123456789abcdef\n"
_RECORDS = ("job.json", "spec.json", "manifest.json", "packing.json", "provenance.json", "series/cursor.json", "result")


def known(engine: EmbeddedClient) -> list[dict[str, Any]]:
    """Return all jobs as listed."""
    return list(engine.call("list_jobs", limit=500)["jobs"])


def make_ended_jobs(folder: Path) -> list[dict[str, Any]]:
    """Run 13 jobs that end in several ways, and return them. The folder gets copies of their state folder: `saved`
    after the engine ended and `killed` while it ran, and `older` with an earlier database."""
    with pytest.MonkeyPatch.context() as patch:
        home = keep_below(folder, patch)
        engine = EmbeddedClient()
        for n in range(12):
            end = "" if n == 11 else "\\n"  # The last line of a log may have none.
            submit(engine, f"printf 'n={n}{end}'; exit {n % 2}", labels={"n": str(n)}, hyperparameters={"lr": n},
                   metric_definitions=[{"name": "n", "regex": r"n=(\d+)"}], name=f"job {n}").wait()  # fmt: skip
            if n == 7:
                (folder / "older").mkdir()
                with (
                    contextlib.closing(sqlite3.connect(home.database)) as now,
                    contextlib.closing(sqlite3.connect(folder / "older" / home.database.name)) as older,
                ):
                    now.backup(older)
        engine.submit({"name": "cell", "command": "echo once", "source": {"files": {"a": ""}}}, attach=True)
        until(lambda: all(job["ended_at"] for job in known(engine)))
        jobs = known(engine)
        until(lambda: all((home.job(job["id"]).path / "provenance.json").exists() for job in jobs))
        shutil.copytree(folder / "state", folder / "killed", symlinks=True)
        engine.close()
    shutil.copytree(folder / "state", folder / "saved", symlinks=True)
    return jobs


class Damager:
    """Damages copies of a state folder. `older` is its database before the last jobs were submitted."""

    def __init__(self, dice: random.Random, older: Path) -> None:
        self.dice = dice
        self.older = older

    def damage_database(self, home: Home) -> str:
        """Damage the database. Return a description."""
        wal = Path(f"{home.database}-wal")
        files = [home.database, *([wal] if wal.exists() else [])]
        kinds: list[Callable[[Path], None]] = [self._flip, self._blank, self._cut, self._misspell, self._garble]
        kind = self.dice.choice([*kinds, *kinds, self._remove, self._restore])
        path = self.dice.choice(files)
        kind(path)
        if self.dice.random() < 0.2:
            Path(f"{home.database}-shm").unlink(missing_ok=True)
        return f"{kind.__name__} {path.name}"

    def damage_records(self, folder: Path) -> str:
        """Damage files of a job. Return a description."""
        names = self.dice.sample(_RECORDS, self.dice.randint(1, 3))
        for path in [folder / name for name in names if (folder / name).exists()]:
            kind = self.dice.choice([self._flip, self._blank, self._cut, self._garble, self._remove])
            kind(path)
        return " ".join(names)

    def _flip(self, path: Path) -> None:
        data = bytearray(path.read_bytes())
        for _ in range(self.dice.choice([1, 1, 3, 20])):
            data[self.dice.randrange(len(data))] ^= 1 << self.dice.randrange(8)
        path.write_bytes(data)

    def _blank(self, path: Path) -> None:
        self._overwrite(path, bytes(self.dice.choice([16, 512, 4096])))

    def _garble(self, path: Path) -> None:
        self._overwrite(path, bytes(self.dice.choices(_GARBAGE, k=self.dice.choice([1, 4, 64]))))

    def _overwrite(self, path: Path, piece: bytes) -> None:
        data = bytearray(path.read_bytes())
        place = self.dice.randrange(max(len(data) - len(piece), 1))
        data[place : place + len(piece)] = piece[: len(data)]
        path.write_bytes(data)

    def _cut(self, path: Path) -> None:
        data = path.read_bytes()
        path.write_bytes(data[: self.dice.randrange(len(data))])

    def _misspell(self, path: Path) -> None:
        """Replace one letter of a status or a name."""
        data = path.read_bytes()
        word = self.dice.choice([b"succeeded", b"failed", b"job 1", b"local"])
        places = [n for n in range(len(data)) if data.startswith(word, n)]
        if places:
            place = self.dice.choice(places) + self.dice.randrange(len(word))
            path.write_bytes(data[:place] + self.dice.choice([b"x", b"\xff", b"\xc3"]) + data[place + 1 :])

    def _remove(self, path: Path) -> None:
        path.unlink()

    def _restore(self, path: Path) -> None:
        shutil.copyfile(self.older, path.with_name(self.older.name))
        if self.dice.random() < 0.5:
            Path(f"{path.with_name(self.older.name)}-wal").unlink(missing_ok=True)


def check_jobs(home: Home, whole: Sequence[dict[str, Any]], all_ids: Sequence[str], dice: random.Random) -> None:
    """Check that a new engine lists, shows and deletes the `whole` jobs, and lists no others than `all_ids`."""
    engine = EmbeddedClient()
    try:
        listed = {job["id"]: job for job in known(engine)}
        assert {job["id"] for job in whole} <= listed.keys() <= {*all_ids}
        for job in whole:
            shown = engine.call("show", job=job["id"])
            for name in ("id", "name", "status"):
                assert listed[job["id"]][name] == shown[name] == job[name]
            assert b"".join(engine.read("log", job=job["id"])).startswith((b"n=", b"once"))
        victim = dice.choice(whole)["id"]
        engine.call("delete", job=victim)
        assert victim not in {job["id"] for job in known(engine)}
        assert not home.job(victim).path.exists()
        engine.call("doctor", backend="local")
    finally:
        engine.close()


class Rounds:
    """Rounds of damage to copies of a state folder: `saved` after its engine ended, `killed` while it ran."""

    def __init__(self, folder: Path, home: Home, jobs: Sequence[dict[str, Any]], seed: int) -> None:
        self.folder = folder
        self.home = home
        self.jobs = jobs
        self.dice = random.Random(seed)
        self.damager = Damager(self.dice, folder / "older" / home.database.name)

    def damage_databases(self, count: int) -> None:
        """Damage the database `count` times."""
        for number in range(count):
            self._restore()
            what = self.damager.damage_database(self.home)
            try:
                check_jobs(self.home, self.jobs, [job["id"] for job in self.jobs], self.dice)
            except Exception as error:
                raise AssertionError(f"round {number}: {what}") from error

    def damage_records(self, count: int) -> None:
        """Damage files of some jobs `count` times, half of the times without a database."""
        for number in range(count):
            self._restore()
            damaged = self.dice.sample(self.jobs, self.dice.randint(1, 6))
            whats = [self.damager.damage_records(self.home.job(job["id"]).path) for job in damaged]
            if self.dice.random() < 0.5:
                for path in self.home.path.glob("pai.sqlite3*"):
                    path.unlink()
            try:
                whole = [job for job in self.jobs if job not in damaged]
                check_jobs(self.home, whole, [job["id"] for job in self.jobs], self.dice)
            except Exception as error:
                raise AssertionError(f"round {number}: {whats}") from error

    def _restore(self) -> None:
        shutil.rmtree(self.home.path, ignore_errors=True)
        shutil.copytree(self.folder / self.dice.choice(["saved", "killed"]), self.home.path, symlinks=True)
