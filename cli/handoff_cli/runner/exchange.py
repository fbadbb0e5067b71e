"""Between a turn at work and the service: heartbeats, progress, questions, decisions, steered words."""

import asyncio
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from handoff_cli.runner.acp.record import Record
from handoff_cli.runner.machine.journal import Entry
from handoff_cli.runner.runner import Runner
from handoff_cli.runner.wire.verdicts import Answer, Verdict

_ASKED_AT_ONCE = 10
_SENT_AT_ONCE = 10
_ASKED_CHARACTERS = 64 * 1024
_ACKNOWLEDGED_AT_ONCE = 50

Json = dict[str, Any]


class TurnOver(Exception):
    """The service has ended the turn, or does not accept this runner: nothing more may be done for it."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        super().__init__(answer.code)


class Question(Protocol):
    """Something that the agent needs to know from the user."""

    def body(self) -> Json:
        """As the service takes it, without its number."""

    def chosen(self, decision: Mapping[str, Any]) -> Any:
        """What the agent is told, for what the service says of it: `answered` or `expired`."""


@dataclass(frozen=True)
class _Asked:
    """A question under its number, and who waits for its answer."""

    question: Question
    body: Json
    answer: "asyncio.Future[Any]"

    def decide(self, decision: Mapping[str, Any] | None) -> None:
        """None refuses: the service does not take the question."""
        if not self.answer.done():
            self.answer.set_result(self.question.chosen(decision) if decision else None)


@dataclass(frozen=True)
class _Sent:
    """A file on its way to the chat under its number, and who waits for what became of it."""

    body: Json
    state: "asyncio.Future[Json]"


class Exchange:
    """One fence of one turn. `run` is its loop; it raises TurnOver."""

    def __init__(self, runner: Runner, entry: Entry, record: Record, *, lease: float) -> None:
        self._runner, self._clock = runner, runner.clock
        self._entry, self._record, self._lease = entry, record, lease
        self._began = self._clock.now()
        self._seq = 0
        self._seen_version = -1
        self._notice = ""
        self._refused = 0
        """Reports in a row that the service did not take as they were."""
        self._asked = 0
        self._asks_no_more = False
        self._unsent: dict[int, _Asked] = {}
        self._undecided: dict[int, _Asked] = {}
        self._files = 0
        self._sending: dict[int, _Sent] = {}
        self._acknowledged: dict[str, None] = {}
        self._steered: deque[Json] = deque()
        self._known: set[str] = set()
        self._given = 0
        self._held: set[int] = set()
        """Questions whose decisions are acknowledged once they have reached the agent."""
        self._changed = asyncio.Event()
        self._arrived = asyncio.Event()

    @property
    def seconds(self) -> int:
        """How long the turn has been at work."""
        return max(0, int(self._clock.now() - self._began))

    def notice(self, text: str) -> None:
        """Show this instead of what the agent says; empty ends it."""
        self._notice, self._seen_version = text, -1
        self._changed.set()

    def next_steered(self) -> Json | None:
        """Words that the user said while the agent worked, oldest first."""
        word = self._steered.popleft() if self._steered else None
        if not self._steered:
            self._arrived.clear()
        return word

    def put_back(self, word: Json) -> None:
        """These words have not reached the agent."""
        self._steered.appendleft(word)
        self._arrived.set()

    async def steered(self) -> None:
        """Wait until there are such words."""
        await self._arrived.wait()

    def reached(self, name: str, *, amid: bool = False) -> None:
        """Words, a decision or an answer have reached the agent; `amid`: while it answers others."""
        self._given += amid
        self._seen_version = -1
        self._acknowledge(name)

    async def ask(self, question: Question) -> Any:
        """What the user chose. Only the service decides, also when time is up."""
        _, asked = self._put(question)
        return await asked.answer

    async def ask_held(self, question: Question) -> tuple[str, Any]:
        """The same; the decision comes again until its name, which this returns too, is said to have `reached` the agent."""
        number, asked = self._put(question)
        self._held.add(number)
        return f"q{number}", await asked.answer

    def next_file(self) -> int:
        """The number under which a file is sent; it is the same for a repeat of it."""
        self._files += 1
        return self._files

    async def send(self, number: int, about: Json) -> Json:
        """Have a stored file posted in the thread; returns what became of it, once the service says more than that it waits.

        None of it is done twice for one number. Cancelled, it may still arrive.
        """
        sent = self._sending[number] = _Sent({"n": number, **about}, asyncio.get_running_loop().create_future())
        self._changed.set()
        try:
            return await sent.state
        finally:
            self._sending.pop(number, None)

    def refuse_questions(self) -> None:
        """The agent has answered its last prompt: what it still asks, or asks from now on, is refused."""
        self._asks_no_more = True
        for asked in (*self._unsent.values(), *self._undecided.values()):
            asked.decide(None)

    def _put(self, question: Question) -> tuple[int, _Asked]:
        self._asked += 1
        body = {"n": self._asked, **question.body()}
        asked = self._unsent[self._asked] = _Asked(question, body, asyncio.get_running_loop().create_future())
        if self._asks_no_more:
            asked.decide(None)
        self._changed.set()
        return self._asked, asked

    async def tell_used(self) -> None:
        """Report the tokens of a turn that the service has ended, if the agent told them. Tried once: nobody waits for it."""
        tokens = int((self._record.usage or {}).get("tokens", 0))
        if tokens and "stopped" in self._runner.service.accepts:
            self._seq += 1
            body = {"session_id": self._entry.session_id, "fence": self._entry.fence, "seq": self._seq}
            await self._runner.service.events(self._entry.turn_id, {**body, "tokens": tokens})

    async def run(self) -> None:
        """Exchange until cancelled. Raises TurnOver."""
        failures = 0
        while True:
            sent, began = self._body(), self._clock.now()
            answer = await self._runner.service.events(self._entry.turn_id, sent)
            verdict = answer.verdict
            if verdict in {Verdict.RETRY, Verdict.TAKEN}:
                failures += 1
                await self._runner.back_off(failures, answer)
                continue
            failures = 0
            if verdict is Verdict.GO_ON:
                self._accepted(sent)
                if self._clock.now() - began > self._lease:
                    # The machine slept: decisions in this answer may be of a turn that is over. They come again.
                    continue
                self._take(answer.body)
            elif verdict is Verdict.TOO_OLD:
                self._runner.halt.not_accepted(answer)
            elif verdict in {Verdict.TOO_LARGE, Verdict.OWN_BUG}:
                self._send_less(answer, sent)
            else:
                raise TurnOver(answer)
            await self._pause()

    def _body(self) -> Json:
        self._seq += 1
        self._changed.clear()
        body: Json = {"session_id": self._entry.session_id, "fence": self._entry.fence, "seq": self._seq}
        if not self._refused:
            self._seen_version = self._record.version
            shown = {"text": self._notice} if self._notice else {}
            body["progress"] = {**self._record.progress(), **shown, **self._later(), "seconds": self.seconds}
        if asks := self._asks():
            body["ask"] = asks
        if self._sending and not (self._refused and asks):
            # Until the answer decides it: the service takes each number once.
            body["send"] = [sent.body for sent in self._sending.values()][: 1 if self._refused else _SENT_AT_ONCE]
        if self._acknowledged:
            body["acknowledged"] = list(self._acknowledged)[:_ACKNOWLEDGED_AT_ONCE]
        return body

    def _later(self) -> Json:
        """What became of words that came while the agent works."""
        counts = {"given": self._given, "waiting": len(self._steered)}
        return {name: count for name, count in counts.items() if count and "choices" in self._runner.service.accepts}

    def _asks(self) -> list[Json]:
        """Questions that fit into one report; after a refusal one alone, so that only this one can be at fault."""
        asks, room = list[Json](), 0 if self._refused else _ASKED_CHARACTERS
        for asked in (one for one in self._unsent.values() if not one.answer.done()):
            size = len(asked.body["detail"]) + len(asked.body.get("plan", ""))
            if not asks or size <= room:
                asks.append(asked.body)
                room -= size
        return asks[:_ASKED_AT_ONCE]

    def _accepted(self, sent: Json) -> None:
        self._refused = 0
        for ask in sent.get("ask", []):
            self._undecided[ask["n"]] = self._unsent.pop(ask["n"])
        for name in sent.get("acknowledged", []):
            self._acknowledged.pop(name, None)

    def _take(self, body: Json) -> None:
        """Act on what the service decided, and note it so that it is not sent again."""
        self._lease = float(body["lease_seconds"])
        for decision in body["decided"]:
            if asked := self._undecided.pop(decision["n"], None):
                asked.decide(decision)
            if decision["n"] not in self._held:
                self._acknowledge(f"q{decision['n']}")
        for one in body.get("sent") or []:
            if one["state"] != "waiting":
                self._became(one)
        for word in body["steered"]:
            name = word["id"]
            if name not in self._known:
                self._known.add(name)
                self._steered.append({"id": name, "text": word["text"], "files": word.get("files") or []})
                self._arrived.set()
                self._seen_version = -1

    def _became(self, outcome: Json) -> None:
        sent = self._sending.get(outcome["n"])
        if sent and not sent.state.done():
            sent.state.set_result(outcome)

    def _acknowledge(self, name: str) -> None:
        self._acknowledged[name] = None
        self._changed.set()

    def _send_less(self, answer: Answer, sent: Json) -> None:
        """Progress may be dropped; a question that the service does not take as it is is refused, never allowed."""
        self._runner.report.log("events_refused", turn=self._entry.turn_id, status=answer.status, code=answer.code)
        self._refused += 1
        if "progress" not in sent:
            for ask in sent.get("ask", []):
                self._unsent.pop(ask["n"]).decide(None)
            for send in sent.get("send", []):
                self._became({"n": send["n"], "state": "rejected", "reason": "the service does not take it"})

    async def _pause(self) -> None:
        """At most one request in `events` seconds; sooner than at the limit only if there is something to tell."""
        await self._clock.sleep(self._clock.events)
        waited = self._clock.events
        is_asking = self._unsent or self._undecided or self._sending
        limit = self._clock.asking if is_asking else min(self._clock.idle, self._lease / 3)
        while waited < limit and not self._changed.is_set() and not self._has_progress():
            try:
                async with asyncio.timeout(self._clock.events):
                    await self._changed.wait()
            except TimeoutError:
                waited += self._clock.events

    def _has_progress(self) -> bool:
        return not self._refused and self._record.version != self._seen_version
