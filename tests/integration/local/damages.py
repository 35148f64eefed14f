"""Random damage to the database and the records of jobs, as by power cuts, bad disks and restored backups."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import PaiError
from jupyter_pai.jobs.state_dir import Home

from ...conftest import keep_below, submit, until

__all__ = ["Rounds", "known", "make_ended_jobs"]

# What a program that writes other files than its own, or a bad disk, leaves.
_GARBAGE = b"\xff\x00\x9f{[\"'0123456789abcdef\n"
_NESTED = b"[" * 100_000
# Other files of a job are not part of its record: its code, log, outputs and locks.
_RECORDS = (
    "job.json", "spec.json", "manifest.json", "packing.json", "provenance.json", "channels.json", "arguments.json",
    "environment.json", "output_parameters.json", "instances.json", "series/cursor.json", "result", "started", "ends",
    "usage", "log/worker-0.index",
)  # fmt: skip
# Verbs that read the files of a job.
_READING = ("show", "job_instances", "provenance", "metrics", "texts", "outputs", "code", "lines")
# Values of each type of JSON, in place of one of another type.
_VALUES: tuple[object, ...] = (None, True, -1, 1 << 70, 1e300, "", "x\ud800", [], [[]], {}, {"a": 1})


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
        of_tables: list[Callable[[Path], None]] = [self._rename, self._reschema, self._rewrite]
        kind = self.dice.choice([*kinds, *kinds, *of_tables, *of_tables, self._remove, self._restore])
        path = home.database if kind in of_tables else self.dice.choice(files)
        kind(path)
        if self.dice.random() < 0.2:
            Path(f"{home.database}-shm").unlink(missing_ok=True)
        return f"{kind.__name__} {path.name}"

    def damage_records(self, folder: Path) -> str:
        """Damage files of a job. Return a description."""
        names = self.dice.sample(_RECORDS, self.dice.randint(1, 3))
        for path in [path for name in names if (path := folder / name).exists() and path.stat().st_size]:
            kinds = [self._flip, self._blank, self._cut, self._garble, self._remove, self._nest, self._misread]
            self.dice.choice([*kinds, self._mistype])(path)
        return " ".join(names)

    def _nest(self, path: Path) -> None:
        path.write_bytes(self.dice.choice([_NESTED, b'{"job": ' + _NESTED, b'{"spec":' * 50_000]))

    def _misread(self, path: Path) -> None:
        """Insert bytes that are no UTF-8."""
        data = path.read_bytes()
        place = self.dice.randrange(len(data) + 1)
        path.write_bytes(data[:place] + self.dice.choice([b"\xff", b"\xc3\x28", b"\xed\xa0\x80"]) + data[place:])

    def _mistype(self, path: Path) -> None:
        """Replace one value of a JSON file, or the whole, by one of another type."""
        try:
            value = json.loads(path.read_bytes())
        except ValueError:
            return
        path.write_text(json.dumps(self._mistyped(value)), "utf-8")

    def _mistyped(self, value: object) -> object:
        if isinstance(value, dict) and value and self.dice.random() < 0.8:
            name = self.dice.choice([*value])
            return value | {name: self._mistyped(value[name])}
        return self.dice.choice(_VALUES)

    def _rename(self, path: Path) -> None:
        """Rename a table, a column or an index."""
        with contextlib.closing(sqlite3.connect(path)) as db, contextlib.suppress(sqlite3.Error):
            tables = [
                name
                for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB '[a-z]*'")
            ]
            table = self.dice.choice([name for name in tables if not name.startswith("sqlite_")])
            column = self.dice.choice([row[1] for row in db.execute(f"PRAGMA table_info({table})")])
            what = self.dice.choice(["RENAME TO gone", f"RENAME {column} TO gone"])
            db.execute(f"ALTER TABLE {table} {what}")
            db.commit()

    def _reschema(self, path: Path) -> None:
        """Replace a byte in the statement of a table or an index."""
        data = bytearray(path.read_bytes())
        places = [n for n in range(len(data)) if data.startswith((b"CREATE TABLE", b"CREATE INDEX"), n)]
        if places:
            place = self.dice.choice(places) + self.dice.randrange(-20, 200)
            data[place] = self.dice.choice([0, 32, 40, 65, 120, 128, 195, 255])
            path.write_bytes(data)

    def _rewrite(self, path: Path) -> None:
        """Replace a value of a row."""
        columns = [
            ("job_detail", "detail"),
            ("job_spec", "spec"),
            ("event", "data"),
            ("job", "status"),
            ("job", "name"),
        ]
        columns += [("job", "submitted_at"), ("job", "ended_at"), ("event", "time"), ("label", "value")]
        table, column = self.dice.choice(columns)
        values = [_NESTED.decode(), "{", b"\xff\xfe", -1, 1e300, "[]", "null", '{"labels": 1}', '"x"', b"", 1 << 62]
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.execute(f"UPDATE {table} SET {column} = ? WHERE random() % 3 = 0", (self.dice.choice(values),))
            db.commit()

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
        for job_id in listed.keys() - {job["id"] for job in whole}:
            for verb in _READING:
                with contextlib.suppress(PaiError):
                    engine.call(verb, job=job_id, **({"channel": "model"} if verb == "outputs" else {}))
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
