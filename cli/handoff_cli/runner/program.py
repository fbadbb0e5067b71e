"""The runner's loop: register, finish what was left, poll, and take turns of several sessions at once."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any

from handoff_cli.errors import CliError
from handoff_cli.runner.agent import Agent
from handoff_cli.runner.agents.spec import Installed
from handoff_cli.runner.channel import Channel
from handoff_cli.runner.errands import OF_SESSIONS, Errands
from handoff_cli.runner.machine.identity import SAFE_ID
from handoff_cli.runner.machine.journal import Entry
from handoff_cli.runner.machine.locks import session_lock, session_locks
from handoff_cli.runner.machine.sessions import HandedOver
from handoff_cli.runner.order import Order, set_dial
from handoff_cli.runner.registration import Registration
from handoff_cli.runner.runner import Runner
from handoff_cli.runner.turn import Turn, new_entry
from handoff_cli.runner.voice import forget_recordings
from handoff_cli.runner.warm import Warm
from handoff_cli.runner.wire.service import WAIT_SECONDS
from handoff_cli.runner.wire.verdicts import Answer, Verdict

_SHORTEST_POLL = 1.0
_JUST_DONE, _SOON = 5.0, 0.05
_LOCK_TRIES = 20
STDIN = 0

Key = tuple[str, str] | str
"""A native session whose agent may run; a turn whose result is all that is left of it; or a session's orders."""


class Program:
    """One runner. `run` returns the exit code; at most one agent runs a session at any time."""

    def __init__(
        self, runner: Runner, agents: list[Installed], *, once: bool = False, supervised: bool = False
    ) -> None:
        """`supervised`: the process that started it holds the other end of stdin, and it ends with that process."""
        self._runner, self._halt = runner, runner.halt
        self._agents = {agent.spec.name: agent for agent in agents}
        self._once, self._supervised = once, supervised
        self._at_work: dict[Key, asyncio.Task[Any]] = {}
        self._working: dict[Key, Agent] = {}
        self._warm = Warm(runner)
        self._errands = Errands(runner, list(self._agents))
        self._registration = Registration(runner, agents, self._errands)
        self._channel = Channel(runner.state, {"release": self._release, "send": runner.live.send})
        self._answered = asyncio.Event()
        self._refused: set[str] = set()
        self._done: dict[str, float] = {}

    async def run(self) -> int:
        """0 when the user stopped it. Raises NotAccepted, or CliError if it cannot begin or its supervisor has ended."""
        self._listen_to_signals()
        if self._supervised:
            asyncio.get_running_loop().add_reader(STDIN, self._on_input)
        try:
            for lock in session_locks(self._runner.state):
                # Also those without a turn: no agent survives its runner.
                await asyncio.to_thread(self._runner.end_orphan, lock, self._runner.clock.cancel)
            await asyncio.to_thread(forget_recordings, self._runner.state)
            await self._channel.open()
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
            await self._channel.close()
            await self._abandon()
        if self._halt.reason:
            raise self._halt.reason
        return 0

    async def _poll(self) -> None:
        """Ask for turns until there is nothing left to do. Raises CliError if the runner cannot be registered."""
        await self._registration.begin()
        self._recover_all()
        failures = 0
        while self._halt.claiming:
            wait = 0 if self._once else WAIT_SECONDS
            began = self._runner.clock.now()
            await self._registration.renew()
            answer = await self._turns(wait)
            if answer is None:
                continue
            if answer.verdict is Verdict.GO_ON:
                failures = 0
                self._runner.hears_service()
                await self._warm.end_sessions(answer.body.get("release") or [])
                for hint in answer.body.get("orders") or []:
                    self._obey(hint)
                waiting = [hint for hint in answer.body["turns"] if self._take(hint)]
                if self._once and not waiting and not self._at_work:
                    return
                await self._sleep(self._until_next(answer, self._runner.clock.now() - began))
                continue
            if answer.verdict in {Verdict.REVOKED, Verdict.TOO_OLD}:
                self._halt.not_accepted(answer)
                break
            if answer.verdict is Verdict.GONE:
                await self._registration.begin()
            failures += 1
            self._runner.misses_service(answer)
            await self._sleep(self._runner.clock.pause(failures, answer.retry_after))
        if self._at_work:
            # Too old to claim: what is at work is finished.
            await asyncio.wait(set(self._at_work.values()))

    async def _turns(self, wait: int) -> Answer | None:
        """None if a turn was answered meanwhile: a request that is held does not name its session as open."""
        self._answered.clear()
        request = asyncio.create_task(self._runner.service.turns(wait=wait, warm=self._warm.sessions()))
        answered = asyncio.create_task(self._answered.wait())
        try:
            await asyncio.wait({request, answered}, return_when=asyncio.FIRST_COMPLETED)
            return request.result() if request.done() else None
        finally:
            for task in (request, answered):
                task.cancel()
            await asyncio.gather(request, answered, return_exceptions=True)

    async def _sleep(self, seconds: float) -> None:
        """Sleep, or return at once when the runner has answered a turn."""
        tasks = [asyncio.ensure_future(self._runner.clock.sleep(seconds)), asyncio.create_task(self._answered.wait())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()

    def _until_next(self, answer: Answer, took: float) -> float:
        """The service's rhythm; one that held the request has waited already."""
        wanted = float(answer.body.get("poll_after_ms") or 0) / 1000
        turns, orders = answer.body["turns"], answer.body.get("orders")
        held = took >= _SHORTEST_POLL and not (turns or orders)
        shortest = min(_SHORTEST_POLL, self._runner.clock.events)
        if turns and not orders and all(self._is_just_done(hint["turn_id"]) for hint in turns):
            return min(shortest, _SOON)
        return max(0.0 if held else shortest, min(wanted, self._runner.clock.longest_poll) - took)

    def _obey(self, hint: dict[str, str]) -> None:
        """Begin with an order, if its session is of this machine and not waiting for another process here."""
        order_id, session_id = hint["order_id"], hint.get("session_id") or ""
        if not SAFE_ID.fullmatch(order_id) or order_id in self._at_work:
            return
        if not session_id:
            self._begin(order_id, self._errand(order_id))
            return
        session = self._runner.sessions.find(session_id)
        if session is None or not session.is_named(hint.get("agent"), hint.get("native_id"), self._runner.url):
            self._runner.report.once(session_id, "Ignored an order for a session that this machine did not hand over.")
            return
        if hint.get("kind") in OF_SESSIONS:
            self._begin(order_id, self._errand(order_id))
            return
        installed, order, key = self._agents.get(session.agent), Order(self._runner, order_id), f"orders {session_id}"
        if installed is None or key in self._at_work:
            # One after the other: the last word of the user counts.
            return
        if agent := self._working.get(session.key):
            if agent.is_open:
                self._begin(key, self._beside_turn(session, installed, order, agent))
        elif session.key not in self._at_work:
            self._begin(session.key, self._locked(session, installed, lambda agent: self._obeyed(order, agent)))

    async def _beside_turn(self, session: HandedOver, installed: Installed, order: Order, agent: Agent) -> None:
        """Obey with the agent of a turn at work; if it ends with its turn meanwhile, with another one."""
        if not await order.run(set_dial(agent), beside=agent):
            while turn := self._at_work.get(session.key):
                await asyncio.wait({turn})
            work = self._locked(session, installed, lambda agent: self._obeyed(order, agent))
            await asyncio.wait({self._begin(session.key, work)})
        # More of them may follow.
        self._answered.set()

    async def _errand(self, order_id: str) -> None:
        """An order that needs no agent. A turn may wait for it."""
        try:
            await Order(self._runner, order_id).run(self._errands.do)
        except Exception as error:  # noqa: BLE001 - one order must not end the runner; it is taken again, or void
            self._runner.report.log("order_failed", order=order_id, kind=type(error).__name__)
        self._answered.set()

    async def _obeyed(self, order: Order, agent: Agent) -> None:
        try:
            await order.run(set_dial(agent))
        except asyncio.CancelledError:
            await agent.end(patience=0)
            raise
        finally:
            await self._warm.keep(agent)
        # A turn may wait for it, and more orders may follow.
        self._answered.set()

    def _take(self, hint: dict[str, str]) -> bool:
        """Begin a turn, if it is for this machine; False if it will never be taken here."""
        turn_id, session_id = hint["turn_id"], hint["session_id"]
        session = self._runner.sessions.find(session_id) if SAFE_ID.fullmatch(turn_id) else None
        if turn_id in self._refused or self._is_just_done(turn_id):
            return False
        if session is None or not session.is_named(hint["agent"], hint["native_id"], self._runner.url):
            self._runner.report.once(session_id, "Ignored a turn of a session that this machine did not hand over.")
            self._runner.report.log("ignored", turn=turn_id if SAFE_ID.fullmatch(turn_id) else "?")
            return False
        installed = self._agents.get(session.agent)
        if installed is None:
            self._runner.report.once(session_id, f"Ignored a turn for {session.agent}, which this runner does not run.")
            return False
        agents = sum(isinstance(key, tuple) for key in self._at_work)
        if self._at_work.keys() & {session.key, turn_id} or agents >= self._runner.settings.parallel:
            return True
        entry = self._runner.journal.find(turn_id)
        if entry is not None and not self._is_mine(entry):
            return False
        entry = entry or new_entry(turn_id, session_id, url=self._runner.url, user=self._registration.user)
        self._begin(session.key, self._run_locked(session, installed, entry))
        return True

    def _is_just_done(self, turn_id: str) -> bool:
        """A turn stays among those that wait for a moment after its result; a claim of it would be in vain."""
        return self._runner.clock.now() - self._done.get(turn_id, -_JUST_DONE) < _JUST_DONE

    def _recover_all(self) -> None:
        """Go on with what an earlier runner process left for this service and user; leave the rest as it is."""
        left = list(self._runner.journal.all())
        for entry in left:
            if self._is_mine(entry):
                self._recover(entry)
        if count := sum(not self._is_mine(entry) for entry in left):
            self._runner.report.log("left_alone", turns=count)
            turns = "1 turn" if count == 1 else f"{count} turns"
            self._runner.report.say(
                f"{turns} of another service or user kept: a runner that talks to it goes on with them."
            )

    def _is_mine(self, entry: Entry) -> bool:
        if not entry.url:
            # An earlier version of the runner wrote it: its session knows the service.
            session = self._runner.sessions.find(entry.session_id)
            return session is not None and session.url == self._runner.url
        return entry.is_for(self._runner.url, self._registration.user)

    def _recover(self, entry: Entry) -> None:
        """A turn that an earlier runner process left: its result first, else claim it again."""
        session = self._runner.sessions.find(entry.session_id)
        if entry.result is not None:
            self._begin(entry.turn_id, self._run(entry, None))
        elif session and (installed := self._agents.get(session.agent)):
            if session.key not in self._at_work:
                self._begin(session.key, self._run_locked(session, installed, entry))
        else:
            self._runner.journal.drop(entry.turn_id)

    def _begin(self, key: Key, work: Coroutine[Any, Any, object]) -> "asyncio.Task[Any]":
        self._at_work[key] = task = asyncio.create_task(work)
        task.add_done_callback(lambda _: self._at_work.pop(key, None))
        return task

    async def _run(self, entry: Entry, agent: Agent | None) -> None:
        key = agent.session.key if agent else entry.turn_id
        if agent:
            self._working[key] = agent
        try:
            over = await Turn(self._runner, entry, agent, self._warm.keep).run()
        except Exception as error:  # noqa: BLE001 - one turn must not end the others; its lease ends at the service
            self._runner.report.log("turn_failed", turn=entry.turn_id, kind=type(error).__name__)
            self._runner.report.warn(
                f"A turn failed ({type(error).__name__}). It is tried again when its lease is over."
            )
            return
        finally:
            self._working.pop(key, None)
        verdict = over.answer.verdict if over.answer else None
        if verdict is Verdict.GO_ON:
            # The next message need not wait for the next poll.
            recent = {turn_id: at for turn_id, at in self._done.items() if self._is_just_done(turn_id)}
            self._done = {**recent, entry.turn_id: self._runner.clock.now()}
            self._answered.set()
        if verdict in {Verdict.OWN_BUG, Verdict.TOO_LARGE}:
            # The service did not understand the claim: trying it again would not help.
            self._refused.add(entry.turn_id)

    async def _run_locked(self, session: HandedOver, installed: Installed, entry: Entry) -> None:
        """With the session's lock before the claim: a claim that names an earlier fence promises that it is held."""
        if not await self._locked(session, installed, lambda agent: self._run(entry, agent)):
            # It is found by a later poll, as long as the service offers it.
            self._runner.journal.drop(entry.turn_id)

    async def _locked(
        self, session: HandedOver, installed: Installed, work: Callable[[Agent], Awaitable[None]]
    ) -> bool:
        """Do some work with the session's agent: the one at rest, or a new one. False if another process has the session."""
        key = session.key
        if agent := await self._warm.take(key):
            await work(agent)
            return True
        lock = session_lock(self._runner.state, *key)
        for _ in range(_LOCK_TRIES):
            taken = lock.acquire()
            # This is the only runner of the machine: an agent that still runs the session was left by a killed one.
            await asyncio.to_thread(self._runner.end_orphan, lock, self._runner.clock.cancel)
            if taken:
                disturbed = self._warm.was_disturbed(key)
                await work(Agent(self._runner, session, installed, lock, was_disturbed=disturbed))
                return True
            self._runner.report.once(f"lock {session.session_id}", "Waiting: another process uses the session.")
            await self._runner.clock.sleep(self._runner.clock.retry)
        return False

    async def _finish(self) -> None:
        """Wait for the turns at work, but not for long; what they could not deliver is on the disk."""
        if self._at_work:
            count = "1 turn" if len(self._at_work) == 1 else f"{len(self._at_work)} turns"
            self._runner.report.say(f"Stopping: {count} at work, at most {self._runner.clock.stop:.0f} s")
            await asyncio.wait(set(self._at_work.values()), timeout=self._runner.clock.stop)

    async def _abandon(self) -> None:
        tasks = list(self._at_work.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._warm.end_all()

    async def _release(self, request: dict[str, Any]) -> dict[str, Any]:
        """A command of the user needs the session: nothing of it stays open without a turn."""
        key = (str(request.get("agent")), str(request.get("native_id")))
        if key in self._at_work:
            self._warm.forbid(key)
        await self._warm.end(key)
        return {"at_work": key in self._at_work}

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
