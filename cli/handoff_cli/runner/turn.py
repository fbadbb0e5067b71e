"""One turn as a state machine: Offered → Claimed → Working → Delivering → Over."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from handoff_cli.runner.agent import Agent
from handoff_cli.runner.machine.journal import Entry
from handoff_cli.runner.outcome import Outcome
from handoff_cli.runner.results import less
from handoff_cli.runner.runner import Runner
from handoff_cli.runner.wire.verdicts import Answer, Verdict
from handoff_cli.runner.work import Work

Json = dict[str, Any]


@dataclass(frozen=True)
class Offered:
    """It waits at the service, or an earlier process of this runner had claimed it."""

    entry: Entry


@dataclass(frozen=True)
class Claimed:
    """It is this process's, at one fence. The agent must not be told of it yet."""

    entry: Entry
    claim: Json


@dataclass(frozen=True)
class Working:
    """Begun: the service permits the prompt, and the agent works on it until one of several things ends that."""

    entry: Entry
    claim: Json
    lease: float


@dataclass(frozen=True)
class Delivering:
    """Its result is on the disk, and the service gets it until it takes it. The agent ends or rests meanwhile."""

    entry: Entry
    work: Work | None = None
    """What has brought it about; None if that was an earlier process."""


@dataclass(frozen=True)
class Over:
    """Nothing is left to do for it in this process. `answer` is the last word of the service, if that ended it."""

    answer: Answer | None = None


Keep = Callable[[Agent], Awaitable[None]]
State = Offered | Claimed | Working | Delivering | Over


def new_entry(turn_id: str, session_id: str, *, url: str, user: str) -> Entry:
    """A turn of this service and user that this runner has not seen yet."""
    return Entry(turn_id, session_id, uuid.uuid4().hex, url=url, user=user)


class Turn:
    """One turn of one session. A result that an earlier process left needs no agent."""

    def __init__(self, runner: Runner, entry: Entry, agent: Agent | None, keep: Keep = Agent.end) -> None:
        """`keep` gets the agent when it has done its work; it may leave its process open."""
        self._runner, self._agent, self._keep = runner, agent, keep
        self.state: State = Offered(entry) if entry.result is None else Delivering(entry)

    async def run(self) -> Over:
        """Returns when the turn is over and its agent has ended. Never raises for what the service or agent do."""
        try:
            while not isinstance(self.state, Over):
                self.state = await self._next(self.state)
            await self._let_go(None)
        except asyncio.CancelledError:
            await self._end_agent(patience=0)
            raise
        finally:
            await self._end_agent()
        return self.state

    async def _next(self, state: State) -> State:
        match state:
            case Offered():
                return await self._claim(state)
            case Claimed():
                return await self._begin(state)
            case Working():
                return await self._work(state)
            case Delivering():
                return await self._deliver(state)
            case Over():
                return state

    async def _claim(self, state: Offered) -> State:
        """The claim's id is on the disk first: after a crash the same claim gets the same answer."""
        entry = state.entry
        if entry.fence is not None:
            entry = replace(entry, claim_id=uuid.uuid4().hex, previous_fence=entry.fence, fence=None)
        self._runner.journal.save(entry)
        body: Json = {"session_id": entry.session_id, "claim_id": entry.claim_id}
        if entry.previous_fence is not None:
            body["previous_fence"] = entry.previous_fence
        service = self._runner.service
        answer = await self._runner.until_answered("claim", entry, lambda: service.claim(entry.turn_id, body))
        if answer.verdict is not Verdict.GO_ON:
            return self._ended(entry, answer)
        return Claimed(self._runner.journal.save(replace(entry, fence=answer.body["fence"])), answer.body)

    async def _begin(self, state: Claimed) -> State:
        entry, service = state.entry, self._runner.service
        body = {"session_id": entry.session_id, "fence": entry.fence}
        answer = await self._runner.until_answered("begin", entry, lambda: service.begin(entry.turn_id, body))
        if answer.verdict is not Verdict.GO_ON:
            return self._ended(entry, answer)
        return Working(entry, state.claim, float(answer.body["lease_seconds"]))

    async def _work(self, state: Working) -> State:
        agent = self._agent
        assert agent is not None  # noqa: S101 - only a turn with a result has none
        work = Work(self._runner, agent, state.entry, state.claim, lease=state.lease)
        end = await work.run()
        if isinstance(end, Outcome):
            if agent.began and end.outcome == "done" and agent.session.native_id:
                # Before the service learns the agent's id of it: from then on it is asked for by that.
                self._runner.sessions.add(agent.session)
            return Delivering(self._runner.journal.spool(state.entry, work.result(end)), work)
        await agent.end()
        if end is None:
            return Over()
        await work.tell_stopped(end)
        return self._ended(state.entry, end)

    async def _deliver(self, state: Delivering) -> State:
        async with asyncio.TaskGroup() as both:
            both.create_task(self._let_go(state.work))
            told = both.create_task(self._tell(state.entry))
        return told.result()

    async def _let_go(self, work: Work | None) -> None:
        """The agent is free as soon as it has done its work, whatever the service does."""
        if self._agent is not None:
            agent, self._agent = self._agent, None
            await self._keep(agent)
        if work is not None:
            work.tell_answered()

    async def _end_agent(self, **how: float) -> None:
        if self._agent is not None:
            await self._agent.end(**how)

    async def _tell(self, entry: Entry) -> Over:
        """Post the result until the service has it, or says that it will never take it."""
        runner, failures = self._runner, 0
        while entry.result is not None and not runner.journal.is_too_old(entry):
            answer = await runner.service.result(entry.turn_id, entry.result)
            runner.report.log("result", turn=entry.turn_id, status=answer.status, code=answer.noted)
            if answer.verdict is Verdict.RETRY:
                failures += 1
                await runner.back_off(failures, answer)
            elif answer.verdict not in {Verdict.TOO_LARGE, Verdict.OWN_BUG}:
                return self._ended(entry, answer)
            elif smaller := less(entry.result, is_too_large=answer.verdict is Verdict.TOO_LARGE):
                entry = runner.journal.spool(entry, smaller)
            else:
                break
        runner.journal.drop(entry.turn_id)
        runner.report.say("A result could not be handed over; it is in the agent's own session.")
        return Over()

    def _ended(self, entry: Entry, answer: Answer) -> Over:
        """The last word of the service. One that does not accept this runner leaves it the turn for later."""
        if answer.verdict in {Verdict.REVOKED, Verdict.TOO_OLD}:
            self._runner.halt.not_accepted(answer)
        else:
            self._runner.journal.drop(entry.turn_id)
        if answer.code == "unknown_session":
            self._runner.sessions.remove(entry.session_id)
        return Over(answer)
