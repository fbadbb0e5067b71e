"""One agent process with everything that it starts: a process group, ended as a whole."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping
from pathlib import Path

from handoff_cli.runner.acp.lines import LINE_LIMIT
from handoff_cli.runner.machine.groups import group_alive
from handoff_cli.runner.machine.locks import Lock
from handoff_cli.runner.machine.open_agents import in_megabytes
from handoff_cli.runner.machine.orphans import note_agent
from handoff_cli.runner.machine.sessions import HandedOver

_EXIT_SECONDS = 3.0
_TERM_SECONDS = 3.0


class AgentProcess:
    """A started agent. `stop` returns only when the whole group is gone."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._draining = asyncio.create_task(self._drain())

    @classmethod
    async def start(
        cls, command: tuple[str, ...], *, environ: Mapping[str, str], directory: Path, lock: int | None = None
    ) -> "AgentProcess":
        """`lock` is a descriptor that the agent inherits, so that a lock lives as long as it does. Raises OSError."""
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=dict(environ),
            cwd=directory,
            limit=LINE_LIMIT,
            pass_fds=() if lock is None else (lock,),
            # A group of its own: Ctrl-C in the runner's terminal must not reach the agent first.
            start_new_session=True,
        )
        return cls(process)

    @property
    def pid(self) -> int:
        """The leader of the group."""
        return self._process.pid

    @property
    def memory(self) -> str:
        """What the group needs, as the end of a sentence; empty if the system does not tell."""
        return in_megabytes(self.pid)

    def note(self, lock: Lock, session: HandedOver) -> None:
        """Write into the lock which process group runs the session."""
        note_agent(lock, self.pid, session)

    @property
    def reader(self) -> asyncio.StreamReader:
        """The output of the agent."""
        assert self._process.stdout is not None  # noqa: S101 - a pipe was asked for
        return self._process.stdout

    @property
    def writer(self) -> asyncio.StreamWriter:
        """The input of the agent."""
        assert self._process.stdin is not None  # noqa: S101 - a pipe was asked for
        return self._process.stdin

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._process.returncode

    async def wait(self) -> int:
        """Its exit code."""
        return await self._process.wait()

    async def stop(self, *, patience: float = _EXIT_SECONDS, terminate: float = _TERM_SECONDS) -> None:
        """Close its input, then terminate the group, then kill it. Idempotent; at once if this is cancelled."""
        stopping = asyncio.ensure_future(self._stop(patience, terminate))
        try:
            await asyncio.shield(stopping)
        except asyncio.CancelledError:
            self._signal(signal.SIGKILL)
            raise

    async def _stop(self, patience: float, terminate: float) -> None:
        with contextlib.suppress(OSError, RuntimeError):
            self.writer.close()
        await self._gone(patience, leader_only=True)
        if self._signal(signal.SIGTERM):
            await self._gone(terminate)
        if self._signal(signal.SIGKILL):
            await self._gone(terminate)
        await self._process.wait()
        self._draining.cancel()

    async def _gone(self, seconds: float, *, leader_only: bool = False) -> None:
        """Wait for the leader, then, with what is left of the time, for the rest of the group."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._process.wait()
                while not leader_only and group_alive(self.pid):  # noqa: ASYNC110 - nothing tells of their end
                    await asyncio.sleep(0.01)

    def _signal(self, number: int) -> bool:
        """Signal the group; False if it is gone."""
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    async def _drain(self) -> None:
        """Read stderr, so that the agent never blocks on it."""
        stream = self._process.stderr
        while stream is not None and await stream.read(65536):
            pass
