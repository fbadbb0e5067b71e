"""One native session of the user's agent on this machine: its lock, and the process that has it open."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from handoff_cli.runner.acp.client import Audience, Nobody
from handoff_cli.runner.acp.connection import Block, Connection
from handoff_cli.runner.acp.errors import AgentFailed, SessionBusy, WentCold
from handoff_cli.runner.acp.options import DIALS, Dial
from handoff_cli.runner.agents.spec import DoesNotAsk, Installed
from handoff_cli.runner.machine.locks import Lock
from handoff_cli.runner.machine.native_file import NativeFile
from handoff_cli.runner.machine.sessions import HandedOver
from handoff_cli.runner.outgoing.names import IN_WORDS
from handoff_cli.runner.outgoing.tool import server_for
from handoff_cli.runner.runner import Runner

_MINUTE = 60.0
_LATE_SECONDS = 30.0
_DISTURBED = (
    "did something on the machine between two messages, without a question to you, and its process was ended. Nothing "
    "was permitted to it. Ask it what it did."
)


@dataclass
class Rest:
    """How a process was left after a turn: it may be prompted again only if that is still so.

    `awake` is when the runner last knew that the machine did not sleep.
    """

    awake: float
    nobody: Nobody
    programs: tuple[tuple[int, int], ...]
    file: NativeFile | None


class Agent:
    """Closed, or open with one process: at work, or at rest between two turns.

    The lock is held from the beginning until `end`, so that nobody else opens the session. `open` and `prompt` may raise
    AgentFailed.
    """

    def __init__(
        self, runner: Runner, session: HandedOver, installed: Installed, lock: Lock, *, was_disturbed: bool = False
    ) -> None:
        """`was_disturbed`: its last process worked without a turn, which the next reply says."""
        self._runner, self._lock = runner, lock
        self.session, self.installed = session, installed
        self._connection: Connection | None = None
        self._rest: Rest | None = None
        self._notes = [_DISTURBED] if was_disturbed else []
        self._programs: tuple[tuple[int, int], ...] = ()
        self._began = not session.native_id

    @property
    def title(self) -> str:
        """Its name for people."""
        return self.installed.spec.title

    async def open(self, notice: Callable[[str], None]) -> None:
        """The session is open in a process: the one at rest, if it can go on, else a new one.

        Waits while the terminal holds the session, and says so in a `notice`.
        """
        clock = self._runner.clock
        if self._is_as_left():
            return
        if self.was_disturbed:
            self._notes.append(_DISTURBED)
        await self._close()
        await self._new_minute(notice)
        patience = clock.now() + self.installed.spec.busy_seconds
        while True:
            try:
                await self._start()
                break
            except SessionBusy as busy:
                await self._close()
                if clock.now() >= patience:
                    raise
                notice(f"{busy} I am waiting for that on {self._runner.identity.name}.")
                await clock.sleep(clock.busy)
        notice("")

    def dial(self, name: str) -> Dial | None:
        """What the user may choose of an open session; None if the agent has no such option."""
        return self._connection.dial(name) if self._connection else None

    async def choose(self, name: str, value: str) -> Dial | None:
        """Set an option of an open session, also while it works; returns what the agent has confirmed."""
        return await self._connection.choose(name, value) if self._connection else None

    async def apply(self, dials: Mapping[str, str]) -> None:
        """Set again what the user has chosen before: agents forget it. The reply says what they do not take any more."""
        for name, value in dials.items():
            dial = self.dial(name)
            if dial is not None and dial.current != value:
                dial = await self.choose(name, value)
            if name in DIALS and (dial is None or dial.current != value):
                self._notes.append(f"does not offer the {name} that you chose any more. Send /{name} for a list.")

    async def prompt(self, text: str, audience: Audience, blocks: Sequence[Block] = ()) -> str:
        """Say this to the agent, with the `blocks` beside it, and let the audience hear it; returns its stop reason."""
        if self._connection is None:
            raise AgentFailed(f"{self.title} has no open session.")
        connection, rest, self._rest = self._connection, self._rest, None
        heard = connection.heard
        if connection.is_new and self._sends and self.installed.spec.tools == "named":
            text = f"{IN_WORDS}\n\n{text}"
        try:
            return await connection.prompt(text, audience, blocks)
        except AgentFailed as problem:
            if rest is None or connection.heard != heard:
                raise
            raise WentCold(str(problem)) from problem

    def rest(self) -> bool:
        """Leave the process open for the next turn; False if it cannot stay: end it."""
        spec, connection = self.installed.spec, self._connection
        if spec.stays_open == "no" or connection is None or not connection.is_idle:
            return False
        if self._began:
            # Its lock has the name of the service's session, and the next process takes that of the agent's.
            return False
        if self._rest is not None:
            # It was not prompted since, nor was it looked whether others have spoken.
            return True
        file = None
        if spec.stays_open == "watched":
            session = self.session
            file = NativeFile.find(session.native_id, Path(session.directory), self._runner.environ)
            if file is None:
                return False
        self._rest = Rest(self._runner.clock.now(), connection.rest(), self._programs, file)
        name = self._runner.report.name_of(self.session.session_id, "")
        self._runner.report.say(f"{name}: {self.title} stays open{connection.memory}")
        return True

    async def until_disturbed(self) -> None:
        """Until a process at rest has ended, or works without a turn."""
        if self._connection is None or self._rest is None:
            return
        ends = [asyncio.create_task(self._connection.wait()), asyncio.create_task(self._rest.nobody.disturbed.wait())]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in ends:
                task.cancel()

    @property
    def is_open(self) -> bool:
        """Has it a process, with an open session?"""
        return self._connection is not None and self._connection.is_open

    @property
    def was_disturbed(self) -> bool:
        """Has it worked without a turn?"""
        return self._rest is not None and self._rest.nobody.disturbed.is_set()

    def is_awake(self) -> bool:
        """Say often that the machine runs; False if it has slept meanwhile: the session may have been opened elsewhere."""
        clock, rest = self._runner.clock, self._rest
        if rest is None or clock.now() - rest.awake > clock.idle + _LATE_SECONDS:
            return False
        rest.awake = clock.now()
        return True

    def _is_as_left(self) -> bool:
        """Another process that spoke since is not known to this one: prompted now, it would lose what was said there."""
        rest, connection = self._rest, self._connection
        return (
            rest is not None
            and connection is not None
            and connection.is_idle
            and self.is_awake()
            and not self.was_disturbed
            and self.installed.stamp() == rest.programs
            and (rest.file is None or rest.file.is_as_marked())
        )

    def note(self) -> str:
        """What the reply must say of the agent; told once."""
        notes, self._notes = self._notes, []
        return "".join(f"\n\n({self.title} {note})" for note in notes)

    @property
    def began(self) -> bool:
        """Has the agent begun this session with this lock? Then the machine's list does not have its id yet."""
        return self._began

    @property
    def commands(self) -> dict[str, str] | None:
        """The commands that the agent itself has, with what they do; None if it did not tell."""
        return self._connection.commands if self._connection else None

    @property
    def steers(self) -> bool:
        """Whether words can be given to it while it answers a prompt."""
        return self._connection is not None and self._connection.steers

    async def steer(self, text: str, blocks: Sequence[Block] = ()) -> bool | None:
        """Give it words while it answers. False: they belong into a prompt; None: that is not known."""
        return await self._connection.steer(text, blocks) if self._connection else False

    async def end(self, patience: float | None = None) -> None:
        """The process group is gone, and the lock is free. Idempotent.

        An agent at work is asked to stop first, and waited for so many seconds.
        """
        try:
            await self._close(patience)
        finally:
            self._lock.release()

    async def _start(self) -> None:
        spec, directory = self.installed.spec, Path(self.session.directory)
        self._programs = self.installed.stamp()
        try:
            environ = await asyncio.to_thread(self.installed.environ_in, directory)
            process = await self._runner.start(
                self.installed.command, environ=environ, directory=directory, lock=self._lock.descriptor
            )
        except DoesNotAsk as why:
            raise AgentFailed(f"{spec.title} was not started, because {why}: it could run steps unasked.") from why
        except OSError as error:
            raise AgentFailed(f"{spec.title} cannot be started in {directory}: {error.strerror}.") from error
        # Each process begins it anew until a first answer is kept: before that the agent may have written nothing.
        self._connection = Connection(spec, process, "" if self._began else self.session.native_id)
        process.note(self._lock, self.session)
        accepts = self._runner.service.accepts
        server = server_for(self.session.session_id, self._runner.state) if self._sends else None
        native_id = await self._connection.open(directory, choices="choices" in accepts, server=server)
        self.session = replace(self.session, native_id=native_id)

    @property
    def _sends(self) -> bool:
        """Whether it has a tool to send files."""
        return self.installed.spec.tools != "no" and "sends" in self._runner.service.accepts

    async def _close(self, patience: float | None = None) -> None:
        if self._connection is not None:
            patience = self._runner.clock.cancel if patience is None else patience
            await self._connection.close(patience=patience, in_a_hurry=self._runner.halt.stopping.is_set())
            self._connection = self._rest = None

    async def _new_minute(self, notice: Callable[[str], None]) -> None:
        """Some agents destroy a session that is opened in the minute in which it was made."""
        if not self.installed.spec.new_minute:
            return
        made, now = self._runner.sessions.added_at(self.session.session_id), self._runner.wall_clock()
        if int(made // _MINUTE) == int(now // _MINUTE):
            notice(f"{self.title} can open this session in a minute.")
            await self._runner.clock.sleep(_MINUTE - now % _MINUTE + 0.5)
