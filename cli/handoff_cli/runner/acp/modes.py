"""The mode of an agent: one in which it asks before each step, set when its session opens, and set back when it leaves it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from acp import schema

from handoff_cli.runner.acp.errors import AgentFailed
from handoff_cli.runner.agents.spec import AgentSpec

SetMode = Callable[[str], Awaitable[None]]


class Modes:
    """`set_mode` tells the agent its mode, and `give_up` cancels its turn. Agents without asking modes are not watched."""

    def __init__(self, spec: AgentSpec, set_mode: SetMode, give_up: Callable[[], Awaitable[None]]) -> None:
        self._spec, self._set_mode, self._give_up = spec, set_mode, give_up
        self.current = ""
        """The mode that it is set back to; empty where modes are not watched."""
        self.is_lost = False
        """It could not be set back: nothing more may be said to this process."""
        self._left: list[tuple[str, asyncio.Task[None]]] = []

    async def begin(self, opened: Any) -> None:
        """Set the first asking mode that the agent has. Those without one are made to ask as they start, or unattended."""
        wanted = self._spec.asking_modes
        if not wanted:
            return
        modes: schema.SessionModeState | None = opened.modes
        known = [mode.id for mode in modes.available_modes] if modes else list(wanted[:1])
        mode = next((mode for mode in wanted if mode in known), None)
        if mode is None:
            raise AgentFailed(
                f"{self._spec.title} has none of the modes {', '.join(wanted)} in which it asks before each step."
            )
        self.current = mode  # watched from here on: it may leave it right after its answer
        if modes is None or modes.current_mode_id != mode:
            await self._set_mode(mode)

    def chosen(self, mode: str) -> None:
        """The user has chosen this mode, and the agent has taken it: it is what is set back to."""
        if mode in self._spec.asking_modes:
            self.current = mode

    def watch(self, update: object) -> None:
        """An agent that has left the asking modes may run steps unasked: end that, or the turn."""
        mode = _mode_in(update)
        if mode is None or not self.current:
            return
        if mode in self._spec.asking_modes:
            self.current = mode
        else:
            self._left.append((mode, asyncio.create_task(self._set_back())))

    async def settle(self) -> str:
        """What the user is told of modes that the agent took on; empty if there were none. Raises AgentFailed if it is there."""
        left, self._left = self._left, []
        if not left:
            return ""
        what = f"{self._spec.title} changed to the mode “{left[-1][0]}”, in which it does not ask before each step"
        try:
            await asyncio.gather(*(task for _, task in left))
        except AgentFailed as problem:
            raise AgentFailed(f"{what}, and could not be set back, so it was stopped.") from problem
        return f"({what}. It was set back to “{self.current}”.)"

    async def close(self) -> None:
        """Nothing is watched or set any more."""
        self.current = ""
        tasks = [task for _, task in self._left]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _set_back(self) -> None:
        try:
            await self._set_mode(self.current)
        except AgentFailed:
            self.is_lost = True
            await self._give_up()
            raise


def _mode_in(update: object) -> str | None:
    """Some agents announce the mode by itself, others among all their options."""
    if isinstance(update, schema.CurrentModeUpdate):
        return update.current_mode_id
    if isinstance(update, schema.ConfigOptionUpdate):
        options = [one for one in update.config_options if isinstance(one, schema.SessionConfigOptionSelect)]
        return next((option.current_value for option in options if option.category == "mode"), None)
    return None
