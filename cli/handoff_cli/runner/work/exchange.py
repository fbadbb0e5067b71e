"""Between a turn at work and the service: heartbeats, progress, questions, decisions, steered words."""

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import Any

from handoff_cli.runner.acp.excerpt import TOOL_LIMIT, arguments_of, cut, masked
from handoff_cli.runner.acp.record import Record
from handoff_cli.runner.acp.session import Question
from handoff_cli.runner.machine.journal import Entry
from handoff_cli.runner.wire.verdicts import Answer, Verdict
from handoff_cli.runner.work.parts import Parts

_TITLE = 200
_ASKED_AT_ONCE = 10
_ACKNOWLEDGED_AT_ONCE = 50
_FOR_GOOD = ("allow_always", "reject_always")


class TurnOver(Exception):
    """The service has ended the turn, or does not accept this runner: nothing more may be done for it."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        super().__init__(answer.code)


@dataclass
class _Asked:
    """A question on its way, and the agent's ids of the options by those that were sent."""

    body: dict[str, Any]
    options: dict[str, str]
    answer: "asyncio.Future[str | None]"
    is_sent: bool = False


class Exchange:
    """One fence of one turn. `run` is its loop; it raises TurnOver."""

    def __init__(self, parts: Parts, entry: Entry, record: Record, *, lease: float) -> None:
        self._parts, self._clock = parts, parts.clock
        self._entry = entry
        self._record = record
        self._lease = lease
        self._began = self._clock.now()
        self._seq = 0
        self._seen_version = -1
        self._notice = ""
        self._refused = 0
        self._questions: dict[int, _Asked] = {}
        self._asked = 0
        self._acknowledged: dict[str, None] = {}
        self._steered: deque[dict[str, Any]] = deque()
        self._known: set[str] = set()
        self._changed = asyncio.Event()

    @property
    def seconds(self) -> int:
        """How long the turn has been at work."""
        return max(0, int(self._clock.now() - self._began))

    def notice(self, text: str) -> None:
        """Show this instead of what the agent says; empty ends it."""
        self._notice, self._seen_version = text, -1
        self._changed.set()

    def next_steered(self) -> dict[str, Any] | None:
        """Words that the user said while the agent worked, oldest first."""
        return self._steered.popleft() if self._steered else None

    async def ask(self, question: Question) -> str | None:
        """The agent's id of the option that the user chose; None if they refused or did not answer in time.

        Only the service decides, also when time is up.
        """
        for_good = self._parts.settings.allow_always
        offered = [option for option in question.options if for_good or option.kind not in _FOR_GOOD]
        if not offered:
            return None
        self._asked += 1
        body = {
            "n": self._asked,
            "title": cut(masked(question.title), _TITLE),
            "kind": question.kind,
            "detail": _detail(question),
            "options": [
                {"id": str(number), "kind": option.kind, "name": cut(option.name, _TITLE)}
                for number, option in enumerate(offered, start=1)
            ],
        }
        options = {str(number): option.id for number, option in enumerate(offered, start=1)}
        asked = self._questions[self._asked] = _Asked(body, options, asyncio.get_running_loop().create_future())
        self._changed.set()
        return await asked.answer

    async def run(self) -> None:
        """Exchange until cancelled. Raises TurnOver."""
        failures = 0
        while True:
            sent, began = self._body(), self._clock.now()
            answer = await self._parts.service.events(self._entry.turn_id, sent)
            verdict = answer.verdict
            if verdict in {Verdict.RETRY, Verdict.TAKEN}:
                failures += 1
                await self._clock.sleep(self._clock.pause(failures, answer.retry_after))
                continue
            failures = 0
            if verdict is Verdict.GO_ON:
                self._accepted(sent)
                if self._clock.now() - began > self._lease:
                    # The machine slept: decisions in this answer may be of a turn that is over. They come again.
                    continue
                self._take(answer.body)
            elif verdict is Verdict.TOO_OLD:
                self._parts.halt.not_accepted(answer)
            elif verdict in {Verdict.TOO_LARGE, Verdict.OWN_BUG}:
                self._send_less(answer)
            else:
                raise TurnOver(answer)
            await self._pause()

    def _body(self) -> dict[str, Any]:
        self._seq += 1
        self._changed.clear()
        body: dict[str, Any] = {
            "session_id": self._entry.session_id,
            "fence": self._entry.fence,
            "seq": self._seq,
        }
        if not self._refused:
            self._seen_version = self._record.version
            shown = {"text": self._notice} if self._notice else {}
            body["progress"] = {**self._record.progress(), **shown, "seconds": self.seconds}
        if asks := [asked.body for asked in self._questions.values() if not asked.is_sent][:_ASKED_AT_ONCE]:
            body["ask"] = [{**ask, "detail": ""} for ask in asks] if self._refused else asks
        if self._acknowledged:
            body["acknowledged"] = list(self._acknowledged)[:_ACKNOWLEDGED_AT_ONCE]
        return body

    def _accepted(self, sent: dict[str, Any]) -> None:
        self._refused = 0
        for ask in sent.get("ask", []):
            if ask["n"] in self._questions:
                self._questions[ask["n"]].is_sent = True
        for name in sent.get("acknowledged", []):
            self._acknowledged.pop(name, None)

    def _take(self, body: dict[str, Any]) -> None:
        """Act on what the service decided, and note it so that it is not sent again."""
        self._lease = float(body.get("lease_seconds") or self._lease)
        for decision in body.get("decided") or []:
            number = decision.get("n")
            asked = self._questions.pop(number, None)
            if asked and not asked.answer.done():
                allowed = decision.get("state") == "answered"
                asked.answer.set_result(asked.options.get(str(decision.get("option"))) if allowed else None)
            self._acknowledge(f"q{number}")
        for word in body.get("steered") or []:
            name = str(word.get("id"))
            if name not in self._known:
                self._known.add(name)
                self._steered.append({"id": name, "text": str(word.get("text") or "")})
            self._acknowledge(name)

    def _acknowledge(self, name: str) -> None:
        self._acknowledged[name] = None
        self._changed.set()

    def _send_less(self, answer: Answer) -> None:
        """Progress may be dropped; a question that the service does not take is refused, never allowed."""
        self._parts.report.log("events_refused", turn=self._entry.turn_id, status=answer.status, code=answer.code)
        self._refused += 1
        if self._refused > 1:
            for number in [number for number, asked in self._questions.items() if not asked.is_sent]:
                asked = self._questions.pop(number)
                if not asked.answer.done():
                    asked.answer.set_result(None)

    async def _pause(self) -> None:
        """At most one request in `events` seconds; sooner than at the limit only if there is something to tell."""
        await self._clock.sleep(self._clock.events)
        waited = self._clock.events
        limit = self._clock.asking if self._questions else min(self._clock.idle, self._lease / 3)
        while waited < limit and not self._changed.is_set() and not self._has_progress():
            try:
                async with asyncio.timeout(self._clock.events):
                    await self._changed.wait()
            except TimeoutError:
                waited += self._clock.events

    def _has_progress(self) -> bool:
        return not self._refused and self._record.version != self._seen_version


def _detail(question: Question) -> str:
    """The action that the agent asks for: the command as it is, else all arguments."""
    given = question.input
    if isinstance(given, dict) and isinstance(command := given.get("command"), str):
        return cut(masked(command[: 4 * TOOL_LIMIT]), TOOL_LIMIT)
    return arguments_of(given, question.title) if given else ""
