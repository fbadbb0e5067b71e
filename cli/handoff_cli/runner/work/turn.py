"""One turn: lock, claim, begin, let the agent answer, keep the result, hand it back."""

import asyncio
import uuid
from contextlib import suppress
from dataclasses import replace
from typing import Any

from handoff_cli.runner.acp.errors import AgentFailed
from handoff_cli.runner.acp.record import Record
from handoff_cli.runner.agents.spec import Agent
from handoff_cli.runner.machine.journal import Entry
from handoff_cli.runner.machine.locks import Lock
from handoff_cli.runner.machine.sessions import HandedOver
from handoff_cli.runner.results import result_body
from handoff_cli.runner.wire.verdicts import Answer, Verdict
from handoff_cli.runner.work.deliver import deliver, forget
from handoff_cli.runner.work.exchange import Exchange, TurnOver
from handoff_cli.runner.work.outcome import MAY_HAVE_FINISHED, Outcome, confirmed, failed, stopped
from handoff_cli.runner.work.parts import Parts
from handoff_cli.runner.work.speech import Speech

_LEASE_SECONDS = 90.0
_CONFIRM_SECONDS = 30.0
_FINISH_SHARE = 0.3


class Turn:
    """One turn of one session. `lock` is the session's and held; `run` releases it when the agent is gone."""

    def __init__(self, parts: Parts, session: HandedOver, agent: Agent, entry: Entry, lock: Lock) -> None:
        self._parts, self._session, self._agent, self._lock = parts, session, agent, lock
        self._entry = entry
        self._claimed: dict[str, Any] = {}
        self._delivery: asyncio.Task[bool] | None = None
        self._beat: asyncio.Task[None] | None = None
        self._is_over = False
        self.refused_as_bug = False
        """The service did not understand the claim: trying it again would not help."""

    async def run(self) -> None:
        """Returns when the result is delivered, or there is none. Never raises for what the service or agent do."""
        try:
            if await self._claim() and await self._begin():
                await self._work()
            self._lock.release()
            if self._delivery:
                await self._delivery
        finally:
            self._lock.release()
            if self._delivery:
                self._delivery.cancel()

    async def _claim(self) -> bool:
        """The claim's id is on the disk first: after a crash the same claim gets the same answer."""
        entry = self._entry
        if entry.fence is not None:
            entry = replace(entry, claim_id=uuid.uuid4().hex, previous_fence=entry.fence, fence=None)
        self._entry = self._parts.journal.save(entry)
        body: dict[str, Any] = {"session_id": entry.session_id, "claim_id": entry.claim_id}
        if entry.previous_fence is not None:
            body["previous_fence"] = entry.previous_fence
        answer = await self._until_answered("claim", body)
        if answer.verdict is not Verdict.GO_ON:
            self._not_mine(answer)
            return False
        self._claimed = answer.body
        self._entry = self._parts.journal.save(replace(self._entry, fence=int(answer.body["fence"])))
        return True

    async def _begin(self) -> bool:
        answer = await self._until_answered("begin", {"session_id": self._entry.session_id, "fence": self._entry.fence})
        if answer.verdict is not Verdict.GO_ON:
            self._not_mine(answer)
            return False
        self._claimed["lease_seconds"] = answer.body.get("lease_seconds") or self._claimed.get("lease_seconds")
        return True

    async def _until_answered(self, what: str, body: dict[str, Any]) -> Answer:
        """Repeat until the service answers. Both calls may be repeated as they are."""
        call = getattr(self._parts.service, what)
        failures = 0
        while True:
            answer: Answer = await call(self._entry.turn_id, body)
            self._parts.report.log(what, turn=self._entry.turn_id, status=answer.status, code=answer.code or "-")
            if answer.verdict is not Verdict.RETRY:
                return answer
            failures += 1
            await self._parts.clock.sleep(self._parts.clock.pause(failures, answer.retry_after))

    def _not_mine(self, answer: Answer) -> None:
        if answer.verdict in {Verdict.REVOKED, Verdict.TOO_OLD}:
            self._parts.halt.not_accepted(answer)
            return
        self.refused_as_bug = answer.verdict in {Verdict.OWN_BUG, Verdict.TOO_LARGE}
        forget(self._parts, self._entry, answer)

    async def _work(self) -> None:
        """Let the agent speak, and exchange with the service beside it; what ends first decides."""
        record = Record()
        lease = float(self._claimed.get("lease_seconds") or _LEASE_SECONDS)
        exchange = Exchange(self._parts, self._entry, record, lease=lease)
        speech = Speech(
            self._parts,
            self._session,
            self._agent,
            claimed=self._claimed,
            exchange=exchange,
            record=record,
            lock=self._lock,
        )
        title = self._parts.report.name_of(self._session.session_id, str(self._claimed.get("title") or ""))
        self._parts.report.say(
            f"{title}: {self._agent.spec.title} is at work ({self._claimed.get('platform') or 'chat'})"
        )
        talk = asyncio.create_task(self._speak(speech, record, exchange))
        beat = self._beat = asyncio.create_task(exchange.run())
        stop = asyncio.create_task(self._parts.halt.stopping.wait())
        watched: set[asyncio.Task[Any]] = {talk, beat, stop}
        try:
            await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED, timeout=self._time_left())
            await self._end(speech, talk, beat, record, exchange)
        finally:
            for task in watched:
                task.cancel()
            await asyncio.gather(*watched, return_exceptions=True)
        self._tell(title, record, exchange, beat)

    async def _speak(self, speech: Speech, record: Record, exchange: Exchange) -> None:
        """The whole answer. The result is on the disk and on its way before the agent's process has ended."""
        try:
            async with speech.opened():
                self._keep(await speech.answer(), speech, record, exchange)
        except AgentFailed as problem:
            if not self._delivery:
                self._parts.report.log("agent_failed", turn=self._entry.turn_id, kind=type(problem).__name__)
                self._keep(failed(record, str(problem)), speech, record, exchange)

    async def _end(
        self,
        speech: Speech,
        talk: "asyncio.Task[None]",
        beat: "asyncio.Task[None]",
        record: Record,
        exchange: Exchange,
    ) -> None:
        if talk.done() or self._delivery:
            # The result is on its way: all that is left is the end of the agent's process.
            await talk
        elif beat.done():
            over, self._is_over = beat.exception(), True
            await self._cancel(speech, talk)
            if not isinstance(over, TurnOver):
                raise over or RuntimeError("the exchange ended without a reason")
            self._not_mine(over.answer)
        elif self._parts.halt.stopping.is_set():
            await asyncio.wait({talk}, timeout=self._parts.clock.stop * _FINISH_SHARE)
            await self._give_up(stopped(record, self._parts.identity.name), speech, talk, record, exchange)
        else:
            await self._give_up(confirmed(record), speech, talk, record, exchange)

    async def _give_up(
        self, outcome: Outcome, speech: Speech, talk: "asyncio.Task[None]", record: Record, exchange: Exchange
    ) -> None:
        """Answer in the agent's place, and stop it. If it has ended its answer, that one counts."""
        # A service that does not accept this runner would not take an answer.
        self._is_over = self._parts.halt.reason is not None
        self._keep(outcome, speech, record, exchange)
        await self._cancel(speech, talk)

    async def _cancel(self, speech: Speech, talk: "asyncio.Task[None]") -> None:
        """Ask the agent to stop; if it does not, its process group is ended."""
        speech.is_given_up = True
        await speech.cancel()
        await asyncio.wait({talk}, timeout=self._parts.clock.cancel)
        talk.cancel()
        with suppress(asyncio.CancelledError):
            await talk

    def _keep(self, outcome: Outcome, speech: Speech, record: Record, exchange: Exchange) -> None:
        """Write the result to the disk and begin to deliver it."""
        if self._delivery or self._is_over:
            return
        body = result_body(
            session_id=self._entry.session_id,
            fence=int(self._entry.fence or 0),
            outcome=outcome.outcome,
            messages=record.messages(outcome.reply),
            given=speech.given,
            native_id=self._session.native_id,
            summary={"steps": record.steps, "files": record.files, "seconds": exchange.seconds},
        )
        self._entry = self._parts.journal.spool(self._entry, body)
        if self._beat:
            # With the result the turn is over; a heartbeat after it would be refused.
            self._beat.cancel()
        self._delivery = asyncio.create_task(deliver(self._parts, self._entry))

    def _time_left(self) -> float | None:
        """How long the agent may take; the first turn of a handoff has a deadline."""
        deadline = self._claimed.get("deadline_in")
        return None if deadline is None else max(0.0, float(deadline) - _CONFIRM_SECONDS)

    def _tell(self, title: str, record: Record, exchange: Exchange, beat: "asyncio.Task[None]") -> None:
        counts = f"{_count(record.steps, 'step')}, {_count(record.files, 'file')}, {exchange.seconds} s"
        over = beat.exception() if beat.done() and not beat.cancelled() else None
        if isinstance(over, TurnOver):
            amid = f"; {MAY_HAVE_FINISHED[0].lower()}{MAY_HAVE_FINISHED[1:-1]}" if record.is_amid_step else ""
            self._parts.report.say(f"{title}: stopped ({over.answer.code or over.answer.status}){amid}")
        else:
            self._parts.report.say(f"{title}: answered ({counts})")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def new_entry(turn_id: str, session_id: str) -> Entry:
    """A turn that this runner has not seen yet."""
    return Entry(turn_id, session_id, uuid.uuid4().hex)
