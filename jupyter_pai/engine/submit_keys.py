"""The submits in progress by their idempotency keys.

A second request with the same key joins the first. A submit can be cancelled by its key until its job is stored, also
before its request arrives: a client that is interrupted knows the key, but not how far the engine has come.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from ..core import cancellation

T = TypeVar("T")

# Cancelled keys that are remembered, for requests that arrive later.
_REMEMBERED = 1000
# Seconds to wait until a cancelled submit has removed its files, and until a stored job has been started.
_PATIENCE, _LAUNCH = 5.0, 30.0


class SubmitKeys:
    """The submits in progress of one engine. All methods belong to its event loop."""

    def __init__(self) -> None:
        self._tasks: dict[tuple[str, str], asyncio.Task[Any]] = {}
        self._events: dict[str, threading.Event] = {}
        self._storing: set[str] = set()
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def run(self, verb: str, key: str, work: Coroutine[Any, Any, T]) -> T:
        """Run the work of a verb, or join the work in progress with the same key. It continues without its caller.

        Raises:
            Conflict: if the key was cancelled.
        """
        task = self._tasks.get((verb, key)) if key else None
        if task:
            work.close()
        else:
            context = contextvars.copy_context()
            event = self._events.setdefault(key, threading.Event()) if key else threading.Event()
            context.run(cancellation.cancelled.set, event)
            task = asyncio.get_running_loop().create_task(_checked(work), context=context)
            # Its caller may have left: the error is retrieved here too, or asyncio would print it.
            task.add_done_callback(lambda task: task.cancelled() or task.exception())
            if key:
                self._tasks[verb, key] = task
                task.add_done_callback(lambda _task: self._forget(verb, key))
        return await asyncio.shield(task)

    def _forget(self, verb: str, key: str) -> None:
        del self._tasks[verb, key]
        self._storing.discard(key)
        if not self._events[key].is_set() and not self._of(key):
            del self._events[key]

    def _of(self, key: str) -> list[asyncio.Task[Any]]:
        return [task for (_verb, its_key), task in self._tasks.items() if its_key == key]

    def store(self, key: str) -> None:
        """Note that the job of a key is being stored: from now on, it cannot be cancelled.

        Raises:
            Conflict: if it was cancelled.
        """
        cancellation.check()
        if key:
            self._storing.add(key)

    async def cancel(self, key: str) -> bool:
        """Cancel the submit with this key, now or when it arrives. If its job is being stored, wait for its start
        instead, for a limited time. Return whether the outcome is final."""
        if key in self._storing:
            return not (await asyncio.wait(self._of(key), timeout=_LAUNCH))[1]
        over = [known for known, event in self._events.items() if event.is_set() and not self._of(known)]
        for known in over[: max(len(over) - _REMEMBERED, 0)]:
            del self._events[known]
        self._events.setdefault(key, threading.Event()).set()
        if tasks := self._of(key):
            await asyncio.wait(tasks, timeout=_PATIENCE)
        return True

    def reopen(self, key: str) -> None:
        """Forget that a key was cancelled, so that a later submit can use it again."""
        if not self._of(key):
            self._events.pop(key, None)

    def turn(self, attach_key: str) -> asyncio.Lock:
        """Return the lock of the submits of one cell: the second one sees the job of the first."""
        return self._turns.setdefault(attach_key, asyncio.Lock())

    async def close(self) -> None:
        """Cancel the submits in progress whose jobs are not being stored, and wait for the end of all for a limited
        time."""
        for key, event in self._events.items():
            if key not in self._storing:
                event.set()
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=_PATIENCE)


async def _checked(work: Coroutine[Any, Any, T]) -> T:
    try:
        cancellation.check()
    except BaseException:
        work.close()
        raise
    return await work
