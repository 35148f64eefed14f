"""nbclient's client, for a notebook that runs as a job: what its cells show goes to the job's log as text."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from typing import Any

from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from jupyter_core.utils import ensure_async
from nbclient import NotebookClient
from nbformat import NotebookNode

from . import kernel as job_kernel
from .executed_notebook import bounded

__all__ = ["JobClient"]

# Escape sequences of terminals: tracebacks are coloured.
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
# Seconds for what a notebook does when its kernel ends: `atexit` may send results away.
_LAST_WORDS = 60.0
# Seconds for the kernel's start on a busy machine.
_START = 300
# Seconds from a cell's reply to its last output. More than nbclient's own: nothing is to be lost on a busy machine.
_LAST_OUTPUT = 60


class _OwnPython(KernelSpecManager):
    """Knows one kernel: this interpreter's. The notebook's own word names one of the machine that it is from."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        module = job_kernel.__name__
        options = [f"--IPKernelApp.outstream_class={module}.JobStream", f"--IPKernelApp.extensions={module}"]
        # Without the first option, its debugger complains about frozen modules.
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

    def __init__(self, node: NotebookNode, scratch: str) -> None:
        manager = AsyncKernelManager(
            transport="ipc",
            connection_file=f"{scratch}/kernel.json",
            kernel_spec_manager=_OwnPython(),
            shutdown_wait_time=_LAST_WORDS,
        )
        super().__init__(node, km=manager, startup_timeout=_START, iopub_timeout=_LAST_OUTPUT)
        self.on_cell_executed = self._look_at_reply
        self.was_left = False

    async def start(self, cwd: str, arguments: list[str]) -> None:
        """Start the kernel, and wait until it answers.

        Raises:
            RuntimeError: if it does not.
        """
        environment = os.environ | {job_kernel.ARGUMENTS: json.dumps(arguments)}
        await self.async_start_new_kernel(cwd=cwd, env=environment)
        await self.async_start_new_kernel_client()

    def interrupt(self) -> None:
        """Tell the kernel to interrupt its cell. Not what the cell started: that was told by who told us."""
        if self.km and (pid := getattr(self.km.provisioner, "pid", None)):
            try:
                os.kill(pid, signal.SIGTERM)
            except ProcessLookupError:
                pass  # It was told as well, before it could listen.

    async def end(self) -> None:
        """End the kernel, and wait for its last words."""
        if self.km:
            if await ensure_async(self.km.is_alive()):
                await ensure_async(self.km.shutdown_kernel())
            await ensure_async(self.km.cleanup_resources())
        if self.kc:
            self.kc.stop_channels()

    async def exit_status(self) -> int | None:
        """The kernel's, as `subprocess` gives it; None while it lives."""
        provisioner = self.km.provisioner if self.km else None
        return await provisioner.poll() if provisioner else None

    def output(
        self, outs: list[NotebookNode], msg: dict[str, Any], display_id: str | None, cell_index: int
    ) -> NotebookNode | None:
        """As nbclient's, but a stream that goes on is no further output, and what is shown is printed too."""
        last = outs[-1] if outs else None
        content = msg["content"]
        hooked = self.clear_before_next_output or self.output_hook_stack[msg["parent_header"].get("msg_id")]
        if msg["msg_type"] == "stream" and last and last.get("name") == content["name"] and not hooked:
            last.text = bounded(last.text + content["text"])
            return last
        out = super().output(outs, msg, display_id, cell_index)
        if out and out.output_type in ("display_data", "execute_result"):
            print(_plain(out.data.get("text/plain", "")))
        return out

    def _look_at_reply(self, *, execute_reply: dict[str, Any], **_: object) -> None:
        """Print a traceback; `was_left` after ``exit()``."""
        content = execute_reply["content"]
        if content["status"] == "error":
            print(_plain("\n".join(content.get("traceback") or [])))
        self.was_left |= any(said.get("source") == "ask_exit" for said in content.get("payload") or [])


def _plain(text: object) -> str:
    return _COLOURS.sub("", "".join(text) if isinstance(text, list) else str(text))
