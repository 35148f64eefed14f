"""A folder that is replaced by a link and back all the time, beside data verbs and container starts: the files of the
host are neither read nor changed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import PaiError
from jupyter_pai.jobs.state_dir import Home
from jupyter_pai.storage.base import Storage
from jupyter_pai.storage.local import LocalStorage

from ..integration.local.test_diverted_mounts import podman, storage, use_while_diverted
from ..support.diverted import Diversion, diverting
from ..unit.storage.test_diverted_folders import PARTS, VERBS

__all__ = ["podman", "storage"]

pytestmark = pytest.mark.soak

USES = SWAPS = 1000
STARTS = 100


def _remove_new(storage: Storage, it: Diversion) -> object:
    storage.put(b"1", (it.model / "new.txt").as_uri(), overwrite=True)
    storage.make_folder(f"{it.model.as_uri()}/sub/new/")
    storage.move((it.model / "new.txt").as_uri(), (it.model / "sub/new/new.txt").as_uri())
    return storage.delete(f"{it.model.as_uri()}/sub/new/")


# Verbs that leave the files which are exchanged.
USED: dict[str, Callable[[Storage, Diversion], object]] = {
    **{name: VERBS[name] for name in ("stat", "entries", "list", "open", "open file", "walk")},
    "replace": lambda storage, it: storage.put(b"bb", (it.model / "sub/new.txt").as_uri(), overwrite=True),
    "copy": lambda storage, it: storage.put(it.model / "a.txt", (it.elsewhere / "new.txt").as_uri(), overwrite=True),
    "get": lambda storage, it: storage.get_tree(f"{it.model.as_uri()}/", it.elsewhere / "copy", overwrite=True),
    "get there": lambda storage, it: storage.get_tree(f"{it.elsewhere.as_uri()}/sub/", it.model / "x", overwrite=True),
    "put tree": lambda storage, it: storage.put_tree(it.model, f"{it.elsewhere.as_uri()}/copy/", overwrite=True),
    "put, make folder, move, delete": _remove_new,
}


@pytest.mark.parametrize("part", PARTS)
def test_verbs_beside_exchanges(home: Home, tmp_path: Path, part: str) -> None:
    diversion, storage = Diversion(home, tmp_path / "files", part), LocalStorage()
    for name, use in USED.items():
        done = 0
        with diverting(diversion) as end:
            for _number in range(USES):
                with suppress(PaiError):
                    diversion.check_host(use(storage, diversion))
                    done += 1
            exchanges = end()
        diversion.check(None)
        assert exchanges >= SWAPS, name
        print(f"\n{part}, {name}: {USES} uses, {done} of them with a result, during {exchanges} exchanges")


@pytest.mark.parametrize("role", ["data", "extra"])
def test_container_starts_beside_exchanges(podman: EmbeddedClient, home: Home, tmp_path: Path, role: str) -> None:
    diversion = Diversion(home, tmp_path / "files", "model")
    use_while_diverted(podman, diversion, role, starts=STARTS, least=SWAPS)
