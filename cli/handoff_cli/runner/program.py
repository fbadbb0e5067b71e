"""The runner's loop: register, finish what was left, poll, and take turns of several sessions at once."""

import asyncio
import signal
from contextlib import suppress
from typing import Any

from handoff_cli.errors import CliError, NotAccepted
from handoff_cli.runner.agents.spec import Agent
from handoff_cli.runner.machine.identity import SAFE_ID
from handoff_cli.runner.machine.journal import Entry
from handoff_cli.runner.machine.locks import Lock, session_lock
from handoff_cli.runner.machine.orphans import end_orphan
from handoff_cli.runner.machine.sessions import HandedOver
from handoff_cli.runner.wire.service import WAIT_SECONDS
from handoff_cli.runner.wire.verdicts import Answer, Verdict
from handoff_cli.runner.work.deliver import deliver
from handoff_cli.runner.work.parts import Parts
from handoff_cli.runner.work.turn import Turn, new_entry

_SHORTEST_POLL = 1.0
_LOCK_TRIES = 20
_NO_ANSWER = "no-answer"
STDIN = 0

Key = tuple[str, str]


class Program:
    """One runner. `run` returns the exit code; at most one agent runs a session at any time."""

    def __init__(self, parts: Parts, agents: list[Agent], *, once: bool = False, supervised: bool = False) -> None:
        """`supervised`: the process that started it holds the other end of stdin, and it ends with that process."""
        self._parts, self._halt = parts, parts.halt
        self._agents = {agent.spec.name: agent for agent in agents}
        self._once, self._supervised = once, supervised
        self._at_work: dict[Key, asyncio.Task[None]] = {}
        self._refused: set[str] = set()

    async def run(self) -> int:
        """0 when the user stopped it. Raises NotAccepted, or CliError if it cannot begin or its supervisor has ended."""
        self._listen_to_signals()
        if self._supervised:
            asyncio.get_running_loop().add_reader(STDIN, self._on_input)
        try:
            await self._register()
            for entry in list(self._parts.journal.all()):
                self._recover(entry)
            poll = asyncio.create_task(self._poll())
            stop = asyncio.create_task(self._halt.stopping.wait())
            await asyncio.wait({poll, stop}, return_when=asyncio.FIRST_COMPLETED)
            for task in (poll, stop):
                task.cancel()
            results = await asyncio.gather(poll, stop, return_exceptions=True)
            await self._finish()
            for problem in results:
                if isinstance(problem, Exception):
                    raise problem
        finally:
            await self._abandon()
        if self._halt.reason:
            raise self._halt.reason
        return 0

    async def _register(self) -> None:
        """Until the service answers. Raises CliError if it does not take this runner."""
        agents = [{"name": agent.spec.name, "version": agent.version} for agent in self._agents.values()]
        failures = 0
        while not self._halt.stopping.is_set():
            answer = await self._parts.service.register(name=self._parts.identity.name, agents=agents)
            self._parts.report.log("register", status=answer.status, code=answer.code or "-")
            if answer.verdict is Verdict.GO_ON:
                self._answers()
                return
            if answer.verdict is not Verdict.RETRY or answer.status == 404:
                raise _not_registered(answer)
            failures += 1
            self._does_not_answer()
            await self._sleep(self._parts.clock.pause(failures, answer.retry_after))

    async def _poll(self) -> None:
        """Ask for turns until there is nothing left to do. Raises CliError if the runner cannot be registered."""
        failures = 0
        while self._halt.claiming:
            wait = 0 if self._once else WAIT_SECONDS
            began = self._parts.clock.now()
            answer = await self._parts.service.turns(wait=wait)
            if answer.verdict is Verdict.GO_ON:
                failures = 0
                self._answers()
                waiting = [hint for hint in answer.body.get("turns") or [] if self._take(hint)]
                if self._once and not waiting and not self._at_work:
                    return
                await self._sleep(self._until_next(answer, self._parts.clock.now() - began))
                continue
            if answer.verdict in {Verdict.REVOKED, Verdict.TOO_OLD}:
                self._halt.not_accepted(answer)
                break
            if answer.verdict is Verdict.GONE:
                await self._register()
            failures += 1
            self._does_not_answer()
            await self._sleep(self._parts.clock.pause(failures, answer.retry_after))
        if self._at_work:
            # Too old to claim: what is at work is finished.
            await asyncio.wait(set(self._at_work.values()))

    def _until_next(self, answer: Answer, took: float) -> float:
        """The service's rhythm; one that held the request has waited already."""
        wanted = float(answer.body.get("poll_after_ms") or 0) / 1000
        held = took >= _SHORTEST_POLL and not answer.body.get("turns")
        shortest = min(_SHORTEST_POLL, self._parts.clock.events)
        return max(0.0 if held else shortest, min(wanted, self._parts.clock.longest_poll) - took)

    def _take(self, hint: Any) -> bool:
        """Begin a turn, if it is for this machine; False if it will never be taken here."""
        values = [str(hint.get(name) or "") for name in ("turn_id", "session_id", "agent", "native_id")]
        turn_id, session_id, agent_name, native_id = values
        session = self._parts.sessions.find(session_id) if SAFE_ID.fullmatch(turn_id) else None
        known = session and (session.agent, session.native_id, session.url) == (agent_name, native_id, self._parts.url)
        if turn_id in self._refused:
            return False
        if session is None or not known:
            self._parts.report.once(session_id, "Ignored a turn of a session that this machine did not hand over.")
            self._parts.report.log("ignored", turn=turn_id if SAFE_ID.fullmatch(turn_id) else "?")
            return False
        agent = self._agents.get(session.agent)
        if agent is None:
            self._parts.report.once(session_id, f"Ignored a turn for {session.agent}, which this runner does not run.")
            return False
        if (session.agent, session.native_id) in self._at_work or len(self._at_work) >= self._parts.settings.parallel:
            return True
        entry = self._parts.journal.find(turn_id) or new_entry(turn_id, session_id)
        self._begin((session.agent, session.native_id), self._run_locked(session, agent, entry))
        return True

    def _recover(self, entry: Entry) -> None:
        """A turn that an earlier runner process left: its result first, else claim it again."""
        session = self._parts.sessions.find(entry.session_id)
        if entry.result is not None:
            self._begin(("", entry.turn_id), self._deliver(entry))
        elif session and (agent := self._agents.get(session.agent)) and session.url == self._parts.url:
            key = (session.agent, session.native_id)
            if key not in self._at_work:
                self._begin(key, self._run_locked(session, agent, entry))
        else:
            self._parts.journal.drop(entry.turn_id)

    def _begin(self, key: Key, work: Any) -> None:
        self._at_work[key] = task = asyncio.create_task(work)
        task.add_done_callback(lambda _: self._at_work.pop(key, None))

    async def _run(self, session: HandedOver, agent: Agent, entry: Entry, lock: Lock) -> None:
        turn = Turn(self._parts, session, agent, entry, lock)
        try:
            await turn.run()
        except Exception as error:  # noqa: BLE001 - one turn must not end the others; its lease ends at the service
            self._parts.report.log("turn_failed", turn=entry.turn_id, kind=type(error).__name__)
            self._parts.report.warn(
                f"A turn failed ({type(error).__name__}). It is tried again when its lease is over."
            )
        if turn.refused_as_bug:
            self._refused.add(entry.turn_id)

    async def _run_locked(self, session: HandedOver, agent: Agent, entry: Entry) -> None:
        """With the session's lock before the claim: a claim that names an earlier fence promises that it is held."""
        lock = session_lock(self._parts.state, session.agent, session.native_id)
        for _ in range(_LOCK_TRIES):
            taken = lock.acquire()
            # This is the only runner of the machine: an agent that still runs the session was left by a killed one.
            await asyncio.to_thread(end_orphan, lock, self._parts.clock.cancel)
            if taken:
                await self._run(session, agent, entry, lock)
                return
            self._parts.report.once(f"lock {session.session_id}", "Waiting: another process uses the session.")
            await self._parts.clock.sleep(self._parts.clock.retry)
        # It is found by a later poll, as long as the service offers it.
        self._parts.journal.drop(entry.turn_id)

    async def _deliver(self, entry: Entry) -> None:
        await deliver(self._parts, entry)

    async def _finish(self) -> None:
        """Wait for the turns at work, but not for long; what they could not deliver is on the disk."""
        if self._at_work:
            count = "1 turn" if len(self._at_work) == 1 else f"{len(self._at_work)} turns"
            self._parts.report.say(f"Stopping: {count} at work, at most {self._parts.clock.stop:.0f} s")
            await asyncio.wait(set(self._at_work.values()), timeout=self._parts.clock.stop)

    async def _abandon(self) -> None:
        tasks = list(self._at_work.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _sleep(self, seconds: float) -> None:
        """Sleep, or return at once when the runner stops."""
        pause = asyncio.ensure_future(self._parts.clock.sleep(seconds))
        stop = asyncio.ensure_future(self._halt.stopping.wait())
        try:
            await asyncio.wait({pause, stop}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            pause.cancel()
            stop.cancel()

    def _does_not_answer(self) -> None:
        self._parts.report.once(_NO_ANSWER, "The service does not answer. Trying again; agents at work go on.")

    def _answers(self) -> None:
        if self._parts.report.again(_NO_ANSWER):
            self._parts.report.say("The service answers again.")

    def _listen_to_signals(self) -> None:
        """The first signal stops gracefully, the second at once."""
        loop = asyncio.get_running_loop()
        with suppress(NotImplementedError, ValueError, RuntimeError):
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                # Under nohup some are ignored, and stay so.
                if signal.getsignal(number) is not signal.SIG_IGN:
                    loop.add_signal_handler(number, self._on_signal)

    def _on_input(self) -> None:
        """Nothing is ever written there: it ends with the supervisor, however that has ended."""
        asyncio.get_running_loop().remove_reader(STDIN)
        self._halt.abandon(CliError("The service that started this runner has ended."))

    def _on_signal(self) -> None:
        if self._halt.stopping.is_set():
            for task in self._at_work.values():
                task.cancel()
        self._halt.stop()


def _not_registered(answer: Answer) -> CliError:
    detail = str(answer.body.get("detail") or answer.body.get("title") or "no reason given").rstrip(".")
    if answer.verdict in {Verdict.REVOKED, Verdict.TOO_OLD}:
        remedy = "Update it." if answer.verdict is Verdict.TOO_OLD else "Create a token: handoff tokens new --scope run"
        return NotAccepted(f"The service does not accept this runner ({detail}). {remedy}")
    if answer.code == "unknown_runner":
        return NotAccepted("This machine's runner belongs to another user of the service. Use your own account.")
    if answer.status == 404:
        return CliError("This service has no runners: it is too old, or the URL is not right.")
    return CliError(f"The service does not take this runner (HTTP {answer.status}: {detail}).")
