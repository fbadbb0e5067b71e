"""Back in the terminal: wait until the runner's agent has let the session go, and say how to continue it."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from handoff_cli.context import Context
from handoff_cli.runner.agents import TABLE
from handoff_cli.runner.machine.ask_runner import ask_runner
from handoff_cli.runner.machine.files import state_directory
from handoff_cli.runner.machine.locks import Lock, session_lock
from handoff_cli.runner.machine.orphans import end_orphan
from handoff_cli.runner.machine.sessions import Sessions

_WAIT_SECONDS = 40.0
_LOOK_SECONDS = 0.25
_RELEASE_SECONDS = 3.0
_END_SECONDS = 1.0


@dataclass(frozen=True)
class WayBack:
    """A session of an agent on this machine."""

    title: str
    command: list[str]
    directory: str
    in_terminal: str
    is_free: bool

    def show(self, context: Context) -> None:
        """Say how to continue with the agent itself."""
        terminal = context.terminal
        if not self.is_free:
            terminal.warn(f"{self.title} still works on it on this machine. Wait until it has stopped, then continue.")
        place = "" if Path(self.directory) == context.directory else f"cd {shlex.quote(self.directory)} && "
        terminal.say(f"Continue with: {place}{shlex.join(self.command)}")
        if self.in_terminal:
            terminal.say(f"Where {self.title} is still open with it, type: {self.in_terminal}")


def wait_for_agent(context: Context, session_id: str) -> WayBack | None:
    """How the session continues in its agent, when no process of the runner uses it; waits up to 40 seconds.

    None if this machine did not hand it over, or its agent has no command for it.
    """
    state = state_directory(context.environ)
    session = Sessions(state).find(session_id)
    spec = TABLE.get(session.agent) if session else None
    if session is None or spec is None or not spec.native:
        return None
    lock = let_go(state, *session.key)
    free = _wait(context, lock.is_free, spec.title)
    if not session.native_id:
        return None
    command, typed = spec.native_command(session.native_id), spec.in_terminal.replace("{id}", session.native_id)
    return WayBack(spec.title, command, session.directory, typed, free)


def let_go(state: Path, agent: str, native_id: str) -> Lock:
    """Make the runner's agent let go of a session that the service has given to the terminal; returns its lock.

    A runner that does not answer in time may be gone, or hang: then the agent's process is ended here.
    """
    lock = session_lock(state, agent, native_id)
    if not lock.is_free():
        request = {"verb": "release", "agent": agent, "native_id": native_id}
        if ask_runner(state, request, seconds=_RELEASE_SECONDS) is None:
            end_orphan(lock, _END_SECONDS)
    return lock


def _wait(context: Context, is_free: Callable[[], bool], title: str) -> bool:
    terminal, clock = context.terminal, context.clock
    until = clock() + _WAIT_SECONDS
    while not is_free():
        left = until - clock()
        if left <= 0:
            terminal.clear_progress()
            return False
        terminal.progress(terminal.style(f"  … waiting for {title} to stop, {left:.0f} s", "dim"))
        context.sleep(_LOOK_SECONDS)
    terminal.clear_progress()
    return True
