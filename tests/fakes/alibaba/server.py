"""The process that all services live in: three ports on loopback, for OSS, for OpenAPI, and for the test."""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
from pathlib import Path
from typing import Any

from aiohttp import web

from . import proxy
from .algorithms import Algorithms
from .clock import Clock
from .control import Control
from .dispatcher import Dispatcher
from .dlc.runs import DlcRuns
from .dlc.service import DlcService
from .faults import Faults
from .images import Images
from .instancetypes import InstanceTypes
from .keys import Keyring
from .models import Models
from .oss import Oss
from .processes import Processes
from .quotas import Quotas
from .runs import Runs
from .services import Services
from .settings import Settings
from .tensorboards import Tensorboards
from .terminals import Terminals
from .training import Training
from .unsigned_pages import Pages
from .workspaces import Workspaces

__all__ = ["serve"]


async def serve(folder: Path, settings: Settings) -> None:
    """Say where everything is, on standard output, and serve until standard input ends."""
    clock, faults = Clock(settings.clock_offset), Faults(settings.seed)
    keyring, notes = Keyring(clock), list[dict[str, Any]]()
    oss = Oss(folder / "blobs", settings.region, keyring, clock, settings.md5)
    oss.make_bucket(settings.bucket)
    processes = Processes(clock, settings)
    runs = Runs(folder / "jobs", oss, clock, settings, processes)
    training = Training(settings.workspace_id, settings.region, clock, runs.run, runs.stop)
    boards = Tensorboards(settings, clock)
    terminals = Terminals(training.find, folder / "jobs", clock)
    workspaces = Workspaces(settings.workspace_id, settings.workspace_name, "", clock.now())
    dlc_runs = DlcRuns(folder / "jobs", oss, clock, settings, processes)
    dlc = DlcService(settings, clock, dlc_runs, training.datasets, terminals)
    quotas = Quotas(settings.workspace_id, lambda: [*training.jobs.values(), *dlc.jobs.values()])
    models = Models(settings.workspace_id, clock)
    rooms = (training, dlc, boards, terminals, workspaces, InstanceTypes(clock), quotas, Images(), models, Algorithms())
    operations = [operation for room in rooms for operation in room.operations()]
    runs.ask_for_room(quotas.has_room)
    dlc_runs.has_room = quotas.has_room
    services = Services(operations, keyring, clock, settings)
    control = Control(keyring, clock, faults, oss, training, dlc, boards, models, quotas, notes)
    runners: list[web.ServerRunner] = []
    ports = {
        "oss": await _listen(Dispatcher(oss, faults, notes, clock).handle, runners),
        "openapi": await _listen(Dispatcher(services, faults, notes, clock).handle, runners),
        "tls": await _listen(Dispatcher(services, faults, notes, clock).handle, runners, proxy.certificate(folder)),
        "pages": await _listen(Pages(boards, terminals, keyring).handle, runners),
        "control": await _listen(control.handle, runners),
    }
    control.servers = [runner.server for runner in runners[:3] if runner.server]
    way_in = await proxy.start(ports["tls"])
    ports["proxy"] = way_in.sockets[0].getsockname()[1]
    boards.address = f"http://127.0.0.1:{ports['pages']}"
    terminals.address = f"ws://127.0.0.1:{ports['pages']}"
    workspaces.storage = f"oss://{settings.bucket}.127.0.0.1:{ports['oss']}/" if settings.default_storage else ""
    key = keyring.make()
    print(json.dumps({"ports": ports, "key": [key.id, key.secret]}), flush=True)
    try:
        await _end_of_input()
    finally:
        processes.close()
        way_in.close()
        for runner in runners:
            await runner.cleanup()


async def _end_of_input() -> None:
    """Wait until the parent closes its end of the pipe, also by its death."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await reader.read()


async def _listen(handler: Any, runners: list[web.ServerRunner], tls: ssl.SSLContext | None = None) -> int:
    """Serve on a port of the system's choice."""
    limits: dict[str, Any] = {"max_line_size": 65536, "max_field_size": 65536}
    server = web.Server(handler, access_log=None, auto_decompress=False, read_bufsize=1 << 20, **limits)
    runner = web.ServerRunner(server, shutdown_timeout=0.01)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, backlog=1024, ssl_context=tls)
    await site.start()
    runners.append(runner)
    return int(runner.addresses[0][1])
