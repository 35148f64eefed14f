"""nbclient's client for notebook jobs: displayed outputs are also written to the job's log as text, and figures to the
output channel `figures`.
"""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any

from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from jupyter_core.utils import ensure_async
from nbclient import NotebookClient
from nbformat import NotebookNode

from . import kernel as job_kernel
from .executed_notebook import ExecutedNotebook

# Terminal escape sequences in tracebacks.
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
# Seconds for exit handlers of the kernel, which may upload results.
_LAST_WORDS = 60.0
# Seconds for the kernel's start on a busy machine.
_START = 300
# Seconds from a cell's reply to its last output; longer than nbclient's default, for busy machines.
_LAST_OUTPUT = 60


class _OwnPython(KernelSpecManager):
    """Provides the kernel of this interpreter, whatever kernel the notebook names."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        module = job_kernel.__name__
        options = [f"--IPKernelApp.outstream_class={module}.JobStream", f"--IPKernelApp.extensions={module}"]
        # The option silences a warning of the debugger about frozen modules.
        python = [sys.executable, "-Xfrozen_modules=off"]
        return KernelSpec(
            argv=[*python, "-m", "ipykernel_launcher", "-f", "{connection_file}", *options],
            display_name="Python",
            language="python",
            metadata={"kernel_provisioner": {"provisioner_name": "local-provisioner"}},
        )


class JobClient(NotebookClient):
    """Starts a kernel and runs cells in it, one by one.

    Kernel and client meet at sockets in `scratch`: other users of the machine can connect to ports.
    """

    def __init__(self, notebook: ExecutedNotebook, scratch: str) -> None:
        manager = AsyncKernelManager(
            transport="ipc",
            connection_file=f"{scratch}/kernel.json",
            kernel_spec_manager=_OwnPython(),
            shutdown_wait_time=_LAST_WORDS,
        )
        super().__init__(notebook.node, km=manager, startup_timeout=_START, iopub_timeout=_LAST_OUTPUT)
        self.bounded = notebook.bounded
        self.on_cell_executed = self._handle_reply
        self.was_left = False

    async def start(self, cwd: str, arguments: list[str]) -> None:
        """Start the kernel and wait until it responds.

        Raises:
            RuntimeError: if it does not respond.
        """
        await self.async_start_new_kernel(cwd=cwd, env=os.environ | {job_kernel.ARGUMENTS: json.dumps(arguments)})
        await self.async_start_new_kernel_client()

    def interrupt(self) -> None:
        """Interrupt the cell. Processes of the cell have received the signal already."""
        if self.km and (pid := getattr(self.km.provisioner, "pid", None)):
            with contextlib.suppress(ProcessLookupError):  # It ended by the same signal.
                os.kill(pid, signal.SIGTERM)

    async def end(self) -> None:
        """Shut down the kernel and wait for its exit handlers."""
        if self.km:
            if await ensure_async(self.km.is_alive()):
                await ensure_async(self.km.shutdown_kernel())
            await ensure_async(self.km.cleanup_resources())
        if self.kc:
            self.kc.stop_channels()

    async def exit_status(self) -> int | None:
        """Return the kernel's exit status as `subprocess` does; None while it runs."""
        provisioner = self.km.provisioner if self.km else None
        return await provisioner.poll() if provisioner else None

    def output(
        self, outs: list[NotebookNode], msg: dict[str, Any], display_id: str | None, cell_index: int
    ) -> NotebookNode | None:
        """Extend nbclient: consecutive stream output is merged, and displayed output is printed too."""
        last = outs[-1] if outs else None
        content = msg["content"]
        hooked = self.clear_before_next_output or self.output_hook_stack[msg["parent_header"].get("msg_id")]
        if msg["msg_type"] == "stream" and last and last.get("name") == content["name"] and not hooked:
            last.text = self.bounded(last.text + content["text"])
            return last
        out = super().output(outs, msg, display_id, cell_index)
        if out and out.output_type in ("display_data", "execute_result"):
            text = _plain(out.data.get("text/plain", ""))
            print(text)
            if text.startswith("<Figure "):
                _keep_figure(out.data.get("image/png", ""))
        return out

    def _handle_reply(self, *, execute_reply: dict[str, Any], **_: object) -> None:
        """Print a traceback; set `was_left` after ``exit()``."""
        content = execute_reply["content"]
        if content["status"] == "error":
            print(_plain("\n".join(content.get("traceback") or [])))
        self.was_left |= any(item.get("source") == "ask_exit" for item in content.get("payload") or [])


def _keep_figure(png: str) -> None:
    """Write a figure to the channel, if possible, as `jupyter_pai_figures` does. Scripts of a cell may write others."""
    folder = Path(os.environ.get("PAI_OUTPUT_FIGURES") or "figures")
    numbers = itertools.count(1) if png else ()
    with contextlib.suppress(OSError, ValueError):
        folder.mkdir(parents=True, exist_ok=True)
        for path in (folder / f"figure-{number}.png" for number in numbers):
            with contextlib.suppress(FileExistsError), path.open("xb") as file:
                file.write(base64.b64decode(png))
                return


def _plain(text: object) -> str:
    return _COLOURS.sub("", "".join(text) if isinstance(text, list) else str(text))
