"""Prompts to the agent in one turn, and its cancellation."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from handoff_cli.runner.acp.errors import AgentFailed, SessionBusy
from handoff_cli.runner.acp.record import Record
from handoff_cli.runner.acp.session import AgentSession, agent_session
from handoff_cli.runner.agents.spec import Agent
from handoff_cli.runner.machine.locks import Lock
from handoff_cli.runner.machine.orphans import note_agent
from handoff_cli.runner.machine.sessions import HandedOver
from handoff_cli.runner.prompts import MISSED_LIMIT, already_given, first_prompt, said_by_user
from handoff_cli.runner.wire.verdicts import Verdict
from handoff_cli.runner.work.exchange import Exchange
from handoff_cli.runner.work.outcome import Outcome, answered
from handoff_cli.runner.work.parts import Parts
from handoff_cli.transcripts.messages import Message

_MINUTE = 60.0


class Speech:
    """One agent process and what it is told. Raises AgentFailed."""

    def __init__(
        self,
        parts: Parts,
        session: HandedOver,
        agent: Agent,
        *,
        claimed: dict[str, Any],
        exchange: Exchange,
        record: Record,
        lock: Lock,
    ) -> None:
        self._parts, self._session, self._agent = parts, session, agent
        self._claimed, self._exchange, self._record, self._lock = claimed, exchange, record, lock
        self._open: AgentSession | None = None
        self.is_given_up = False
        # A failure is an answer to all claimed words: otherwise they would be offered again, without an end.
        self.given = [str(word["id"]) for word in claimed.get("words") or []]

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """The agent with the session open; waits while the terminal holds it."""
        await self._new_minute()
        patience = self._parts.clock.now() + self._agent.spec.busy_seconds
        while True:
            context = agent_session(
                self._agent,
                native_id=self._session.native_id,
                directory=Path(self._session.directory),
                record=self._record,
                ask=self._exchange.ask,
                lock=self._lock.descriptor,
                started=lambda pid: note_agent(self._lock, pid),
                in_a_hurry=lambda: self.is_given_up or self._parts.halt.stopping.is_set(),
            )
            try:
                self._open = await context.__aenter__()
                break
            except SessionBusy as busy:
                if self._parts.clock.now() >= patience:
                    raise
                self._exchange.notice(f"{busy} I am waiting for that on {self._parts.identity.name}.")
                await self._parts.clock.sleep(self._parts.clock.busy)
        self._exchange.notice("")
        try:
            yield
        finally:
            self._open = None
            await context.__aexit__(None, None, None)

    async def answer(self) -> Outcome:
        """Give the claimed words, then what the user adds until the agent is done."""
        if self._open is None:
            raise AgentFailed("The agent's session is not open.")
        stop = await self._open.prompt(await self._first())
        while not self.is_given_up and (word := self._exchange.next_steered()):
            self.given.append(word["id"])
            stop = await self._open.prompt(word["text"])
        return answered(self._record, stop)

    async def cancel(self) -> None:
        """Ask the agent to stop, if it runs."""
        if self._open is not None:
            with suppress(AgentFailed):
                await self._open.cancel()

    async def _first(self) -> str:
        words = self._claimed.get("words") or []
        interrupted = bool(self._claimed.get("native_dirty"))
        given = [False] * len(words)
        if interrupted:
            said = await asyncio.to_thread(
                said_by_user,
                self._session.agent,
                self._session.native_id,
                Path(self._session.directory),
                self._parts.environ,
            )
            given = already_given(words, said or [])
        return first_prompt(words, missed=await self._missed(), given=given, interrupted=interrupted)

    async def _missed(self) -> list[Message]:
        """The messages that the agent has not seen. Pages that cannot be read now are left out: the newest matter most."""
        missed: list[Message] = list(self._claimed.get("unseen") or [])
        after = self._claimed.get("unseen_next")
        while isinstance(after, int):
            answer = await self._parts.service.messages(self._session.session_id, after=after)
            if answer.verdict is not Verdict.GO_ON:
                break
            missed = [*missed, *(answer.body.get("messages") or [])]
            while len(missed) > 1 and sum(len(str(message.get("content"))) for message in missed) > 2 * MISSED_LIMIT:
                missed.pop(0)
            after = answer.body.get("next")
        return [message for message in missed if not message.get("internal")]

    async def _new_minute(self) -> None:
        """Some agents destroy a session that is opened in the minute in which it was made."""
        if not self._agent.spec.new_minute:
            return
        made, now = self._parts.sessions.added_at(self._session.session_id), self._parts.wall_clock()
        if int(made // _MINUTE) == int(now // _MINUTE):
            self._exchange.notice(f"{self._agent.spec.title} can open this session in a minute.")
            await self._parts.clock.sleep(_MINUTE - now % _MINUTE + 0.5)
