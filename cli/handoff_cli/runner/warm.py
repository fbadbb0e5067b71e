"""Agents whose process stays open between turns: a few, for some minutes, the least recently used one gives way."""

import asyncio
from typing import NamedTuple

from handoff_cli.runner.agent import Agent
from handoff_cli.runner.runner import Runner

Key = tuple[str, str]
"""The agent's name and its own id of the session."""
_MINUTE = 60.0


class _Idle(NamedTuple):
    """An agent at rest, and the task that ends it."""

    agent: Agent
    watch: "asyncio.Task[None]"


class Warm:
    """The open processes without a turn. An agent is here, at work, or ended: never two of these."""

    def __init__(self, runner: Runner) -> None:
        self._runner, self._clock = runner, runner.clock
        self._idle: dict[Key, _Idle] = {}
        self._ending: dict[Key, asyncio.Task[None]] = {}
        self._disturbed: set[Key] = set()
        self._forbidden: set[Key] = set()

    def sessions(self) -> list[str]:
        """The service's ids of the sessions that are open."""
        return [idle.agent.session.session_id for idle in self._idle.values()]

    async def take(self, key: Key) -> Agent | None:
        """The agent of the session, for a turn. None if there is none: then its lock is free."""
        if ending := self._ending.get(key):
            await asyncio.wait({ending})
        self._forbidden.discard(key)
        idle = self._idle.pop(key, None)
        if idle is None:
            return None
        idle.watch.cancel()
        return idle.agent

    async def keep(self, agent: Agent) -> None:
        """Its turn is over: leave it open, or end it. The oldest one ends where there are too many."""
        settings, key = self._runner.settings, agent.session.key
        is_wanted = settings.warm > 0 and settings.warm_sessions > 0 and self._runner.halt.claiming
        if not is_wanted or key in self._forbidden or not agent.rest():
            await agent.end()
            return
        self._idle[key] = _Idle(agent, asyncio.create_task(self._watch(key, agent)))
        while len(self._idle) > settings.warm_sessions:
            await self.end(next(iter(self._idle)))

    async def end(self, key: Key) -> None:
        """When this returns, no process of this session is open without a turn. Idempotent."""
        idle = self._idle.pop(key, None)
        if idle is not None:
            if idle.watch is not asyncio.current_task():
                idle.watch.cancel()
            self._ending[key] = task = asyncio.create_task(self._end(key, idle.agent))
            task.add_done_callback(lambda _: self._ending.pop(key, None))
        if ending := self._ending.get(key):
            await asyncio.wait({ending})

    def forbid(self, key: Key) -> None:
        """The process that works for this session now does not stay open."""
        self._forbidden.add(key)

    async def end_sessions(self, session_ids: list[str]) -> None:
        """End those of these sessions that are open."""
        for key, idle in list(self._idle.items()):
            if idle.agent.session.session_id in session_ids:
                await self.end(key)

    async def end_all(self) -> None:
        """Nothing is left open."""
        await asyncio.gather(*(self.end(key) for key in [*self._idle, *self._ending]))

    def was_disturbed(self, key: Key) -> bool:
        """Did the last process of this session work without a turn? Told once."""
        was = key in self._disturbed
        self._disturbed.discard(key)
        return was

    async def _end(self, key: Key, agent: Agent) -> None:
        if agent.was_disturbed:
            self._disturbed.add(key)
        self._runner.report.log("closed", session=agent.session.session_id, disturbed=agent.was_disturbed)
        await agent.end()

    async def _watch(self, key: Key, agent: Agent) -> None:
        """End it when its time is over, when it is disturbed, and when the machine has slept."""
        until = self._clock.now() + self._runner.settings.warm * _MINUTE
        disturbed = asyncio.create_task(agent.until_disturbed())
        try:
            while self._clock.now() < until and not disturbed.done():
                pause = asyncio.ensure_future(self._clock.sleep(min(self._clock.idle, until - self._clock.now())))
                await asyncio.wait({pause, disturbed}, return_when=asyncio.FIRST_COMPLETED)
                pause.cancel()
                if not agent.is_awake():
                    break
        finally:
            disturbed.cancel()
        await self.end(key)
