"""The agent at work on a begun turn, beside the exchange with the service; what ends first decides."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from acp import schema

from handoff_cli.runner.acp.errors import AgentFailed, WentCold
from handoff_cli.runner.acp.record import Record
from handoff_cli.runner.agent import Agent
from handoff_cli.runner.attached import Files
from handoff_cli.runner.choices import Choices
from handoff_cli.runner.exchange import Exchange, TurnOver
from handoff_cli.runner.machine.files import state_directory
from handoff_cli.runner.machine.journal import Entry
from handoff_cli.runner.opening import opening, said_in
from handoff_cli.runner.outcome import MAY_HAVE_FINISHED, Outcome, answered, confirmed, failed, stopped
from handoff_cli.runner.outgoing.tool import is_own
from handoff_cli.runner.prompts import already_given
from handoff_cli.runner.questions.choice import Form
from handoff_cli.runner.questions.permission import Option, Permission
from handoff_cli.runner.questions.plan import Plan, plan_of
from handoff_cli.runner.questions.shown import shown
from handoff_cli.runner.results import result_body
from handoff_cli.runner.runner import Runner
from handoff_cli.runner.sending import Sending
from handoff_cli.runner.wire.verdicts import Answer
from handoff_cli.runner.working_tree import WorkingTree

_CONFIRM_SECONDS = 30.0
_FINISH_SHARE = 0.3
_UNATTENDED = (
    "is not made to ask before each step on this machine: what is said here may run there at once. "
    "This thread cannot be shared."
)

Json = dict[str, Any]


class Work:
    """Owns the record of the turn and its exchange; the agent's audience."""

    def __init__(self, runner: Runner, agent: Agent, entry: Entry, claim: Json, *, lease: float) -> None:
        self._runner, self._agent, self._entry, self._claim = runner, agent, entry, claim
        self._record = Record()
        self._exchange = Exchange(runner, entry, self._record, lease=lease)
        self._sending = Sending(runner, agent.session, self._exchange, shared=bool(claim.get("shared")))
        self._name = runner.report.name_of(entry.session_id, str(claim.get("title") or ""))
        # A failure is an answer to all claimed words: otherwise they would be offered again, without an end.
        self._given = [word["id"] for word in claim["words"]]
        self._choices = Choices(self._exchange)
        self._files = Files(runner.service, state_directory(runner.environ), entry.session_id)
        self._unheard = [answer["id"] for answer in claim.get("answers") or ()]
        """Earlier answers in the first prompt: the agent has them once it does anything."""
        self._doubtful: dict[str, tuple[str, int]] = {}
        """Words that may have reached the agent, which did not say or has not answered; and how many were given before."""
        self._refused: Plan | None = None

    async def run(self) -> Outcome | Answer | None:
        """An outcome; the answer with which the service ended the turn; None if the next runner goes on with it.

        In all cases but an outcome of its own the agent may still be at work.
        """
        end = await self._until_over()
        if isinstance(end, Outcome):
            # What it has heard must not be said to it again, also where it did not answer.
            self._given += [name for name in self._doubtful if await self._is_said(name)]
        return end

    async def _until_over(self) -> Outcome | Answer | None:
        self._runner.report.say(
            f"{self._name}: {self._agent.title} is at work ({self._claim.get('platform') or 'chat'})"
        )
        talk = asyncio.create_task(self._talk())
        beat = asyncio.create_task(self._exchange.run())
        stop = asyncio.create_task(self._runner.halt.stopping.wait())
        tasks: set[asyncio.Task[Any]] = {talk, beat, stop}
        try:
            with self._runner.live.turn(self._sending):
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED, timeout=self._time_left())
            if stop.done() and not talk.done() and not beat.done():
                await asyncio.wait({talk}, timeout=self._runner.clock.stop * _FINISH_SHARE)
            if talk.done():
                return talk.result()
            if beat.done():
                return _last_word(beat)
            if not stop.done():
                return confirmed(self._record)
            # A service that does not accept this runner would not take an answer.
            return None if self._runner.halt.reason else stopped(self._record, self._runner.identity.name)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def result(self, outcome: Outcome) -> Json:
        """The result as the service takes it."""
        reply, installed = outcome.reply, self._agent.installed
        if installed.unattended and self._runner.report.is_first(f"unattended {self._entry.session_id}"):
            reply += f"\n\n({self._agent.title} {_UNATTENDED})"
        reply += self._agent.note()
        record = self._record
        return result_body(
            session_id=self._entry.session_id,
            fence=int(self._entry.fence or 0),
            outcome=outcome.outcome,
            messages=record.messages(reply),
            given=[*self._given, *self._choices.rows],
            answered=self._choices.answered,
            native_id="" if self._agent.began and outcome.outcome == "failed" else self._agent.session.native_id,
            summary={"steps": record.steps, "files": record.files, "seconds": self._exchange.seconds},
            usage=record.usage if "usage" in self._runner.service.accepts else None,
            commands=self._agent.commands if "commands" in self._runner.service.accepts else None,
        )

    def tell_answered(self) -> None:
        """Say on the machine that it is done."""
        record = self._record
        counts = f"{_count(record.steps, 'step')}, {_count(record.files, 'file')}, {self._exchange.seconds} s"
        self._runner.report.say(f"{self._name}: answered ({counts})")

    async def tell_stopped(self, answer: Answer) -> None:
        """Say on the machine that the service has ended it, and to the service what it has used."""
        amid = f"; {MAY_HAVE_FINISHED[0].lower()}{MAY_HAVE_FINISHED[1:-1]}" if self._record.is_amid_step else ""
        self._runner.report.say(f"{self._name}: stopped ({answer.code or answer.status}){amid}")
        if answer.code == "ended":
            await self._exchange.tell_used()

    def hear(self, update: object) -> None:
        """What the agent says and does is the record of the turn."""
        self._record.add(update)
        while self._unheard:
            self._exchange.reached(self._unheard.pop())

    async def permit(self, call: schema.ToolCallUpdate, options: tuple[Option, ...]) -> str | None:
        """Ask the user. A request that does not say what would be done is refused."""
        request = self._record.request(call)
        if plan := plan_of(request, options):
            if plan.whole and (file := await self._sending.keep_text("plan.md", plan.whole)):
                plan = plan.with_file(file)
            approved: str | None = await self._exchange.ask(plan)
            self._refused = None if approved == plan.options.get("allow_once") else plan
            return approved
        seen = shown(request, titles_are_commands=self._agent.installed.spec.titles_are_commands)
        if seen is None:
            self._runner.report.log("refused_unshown", turn=self._entry.turn_id, kind=request.kind)
            return None
        file = await self._sending.keep_text("question.txt", seen.whole) if seen.whole else ""
        seen = seen.with_file() if file else seen
        # Allowed for good, our own tool would go around what the runner asks.
        for_good = self._runner.settings.allow_always and not is_own(request.title, request.input)
        offered = seen.offered(options, kind=request.kind, for_good=for_good)
        if not offered:
            return None
        chosen: str | None = await self._exchange.ask(Permission(seen, request.kind, tuple(offered), file))
        return chosen

    async def choose(self, form: Form) -> Json | None:
        """Ask the user to fill in a form."""
        return await self._choices.ask(form)

    async def _talk(self) -> Outcome:
        """Give the claimed words, then what the user adds until the agent is done."""
        try:
            await self._open()
            stop = await self._begin()
            while word := self._exchange.next_steered():
                if not await self._is_said(word["id"]):
                    self._doubt(word)
                    stop = await self._prompt(word["text"], [word])
                self._reached(word)
        except AgentFailed as problem:
            self._runner.report.log("agent_failed", turn=self._entry.turn_id, kind=type(problem).__name__)
            return failed(self._record, str(problem))
        finally:
            self._choices.end()
        self._exchange.refuse_questions()
        await self._choices.look_what_was_taken(self._said)
        return answered(self._record, stop, refused=self._refused)

    async def _begin(self) -> str:
        session = self._agent.session
        try:
            return await self._prompt(await opening(self._runner, session, self._claim), self._claim["words"])
        except WentCold:
            # It may have taken the words, though it does not answer: another process looks first.
            self._runner.report.log("went_cold", turn=self._entry.turn_id)
            await self._open()
            again = await opening(self._runner, session, {**self._claim, "native_dirty": True})
            return await self._prompt(again, self._claim["words"])

    async def _open(self) -> None:
        noted = asyncio.create_task(asyncio.to_thread(self._note_files))
        try:
            await self._agent.open(self._exchange.notice)
        finally:
            await noted
        await self._agent.apply(self._claim.get("dials") or {})

    def _note_files(self) -> None:
        """How the files are as the session comes, before the agent is prompted: `/diff` compares with that."""
        session = self._agent.session
        tree = WorkingTree(self._runner.state, session.session_id, Path(session.directory))
        if self._claim.get("kind") == "kickoff" or not tree.has_base:
            tree.note(self._entry.turn_id)

    async def _prompt(self, text: str, words: Sequence[Json]) -> str:
        """Prompt the agent with the files of those words that are in the text, and give it what the user says meanwhile."""
        attached = await self._files.of(word for word in words if str(word["text"]).strip() in text)
        self._record.new_prompt()
        prompt = asyncio.create_task(self._agent.prompt(attached.below(text), self, attached.blocks))
        try:
            while self._agent.steers and not prompt.done() and await self._steer(prompt):
                pass
            return await prompt
        finally:
            prompt.cancel()

    async def _steer(self, prompt: "asyncio.Task[str]") -> bool:
        """Give the agent the next words while it answers; False if they have to wait until it has answered."""
        waiting = asyncio.create_task(self._exchange.steered())
        await asyncio.wait({prompt, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        word = None if prompt.done() else self._exchange.next_steered()
        if word is None:
            return not prompt.done()
        attached = await self._files.of([word])
        if prompt.done():
            self._exchange.put_back(word)
            return False
        is_injected = await self._agent.steer(attached.below(word["text"]), attached.blocks)
        if is_injected:
            self._record.new_prompt()
            self._reached(word, amid=True)
            return True
        if is_injected is None:
            self._doubt(word)
        self._exchange.put_back(word)
        return False

    def _reached(self, word: Json, *, amid: bool = False) -> None:
        self._doubtful.pop(word["id"], None)
        self._given.append(word["id"])
        self._exchange.reached(word["id"], amid=amid)

    def _doubt(self, word: Json) -> None:
        self._doubtful.pop(word["id"], None)
        self._doubtful[word["id"]] = str(word["text"]), len(self._given)

    async def _is_said(self, name: str) -> bool:
        """Whether doubtful words are in the agent's own session, before nothing but what it was given since."""
        if name not in self._doubtful:
            return False
        text, before = self._doubtful[name]
        since = len(self._given) - before + len(self._doubtful) - list(self._doubtful).index(name) - 1
        return already_given([{"text": text}], await self._said() or [], since=since) == [True]

    async def _said(self) -> list[str] | None:
        return await said_in(self._runner, self._agent.session)

    def _time_left(self) -> float | None:
        """How long the agent may take; the first turn of a handoff has a deadline."""
        deadline = self._claim.get("deadline_in")
        return None if deadline is None else max(0.0, float(deadline) - _CONFIRM_SECONDS)


def _last_word(beat: "asyncio.Task[None]") -> Answer:
    over = beat.exception()
    if isinstance(over, TurnOver):
        return over.answer
    raise over or RuntimeError("the exchange ended without a reason")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
