"""An event loop whose time passes only while nothing else is to be done, and that counts its steps."""

import asyncio
import selectors
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any


class _Selector(selectors.DefaultSelector):
    """Waits for nothing: the time of a wait is skipped."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        found = super().select(0)
        if not found:
            if timeout is None:
                raise RuntimeError("everything waits, and nothing will happen")
            self.now += max(timeout, 0.0)
        return found


class _Inline(ThreadPoolExecutor):
    """What is left to a thread is done at once."""

    def submit(self, work: Callable[..., Any], /, *arguments: Any, **named: Any) -> "Future[Any]":
        done: Future[Any] = Future()
        try:
            done.set_result(work(*arguments, **named))
        except BaseException as error:  # noqa: BLE001 - its caller gets it
            done.set_exception(error)
        return done


class VirtualLoop(asyncio.SelectorEventLoop):
    """`at_step` is called once, when so many steps are done: between two of them every task stands at an await."""

    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)
        self.set_default_executor(_Inline(1))
        self.steps = 0
        self.at_step: tuple[int, Callable[[], None]] | None = None

    def time(self) -> float:
        return self._virtual.now

    def _run_once(self) -> None:
        self.steps += 1
        if self.at_step and self.steps >= self.at_step[0]:
            (_, act), self.at_step = self.at_step, None
            act()
        super()._run_once()  # type: ignore[misc]  # the one place where all steps of a loop pass

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109 - the interface
        """Nothing was left to a thread, and the real one that waits for that may come too late for this loop."""
