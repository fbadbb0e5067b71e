"""A process of a runner: it claims, locks, begins, prompts its agent, reports and posts the result, as seeds decide."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Protocol, TypeVar

from shared.domain.files import StoredFile
from shared.domain.messages import KICKOFF_PREFIX, Message
from shared.domain.orders import Order
from shared.domain.questions import CHOICE, Option
from shared.errors import (
    Conflict,
    OtherResult,
    RunnerRevoked,
    TurnEnded,
    TurnSuperseded,
    TurnTaken,
    UnknownOrder,
    UnknownTurn,
)
from shared.services import Services
from shared.use_cases.files.keep_file import keep_file
from shared.use_cases.runners.claim_machine_turn import MachineClaim, begin_turn, claim_machine_turn
from shared.use_cases.runners.live_turn import TurnName
from shared.use_cases.runners.register import note_sign, poll
from shared.use_cases.runners.report_turn import Asked, Report, ReportAnswer, report_turn
from shared.use_cases.runners.send_file import Send
from shared.use_cases.runners.take_order import OrderAnswer, OrderName, answer_order, renew_order, take_order
from shared.use_cases.runners.take_result import MachineResult, take_result
from tests.support.machine import digest_of
from tests.support.use_case_world import USER
from tests.walk.actors import Actor
from tests.walk.configurations import Configuration

T = TypeVar("T")
RUNNER = "laptop"
BEAT = 30_000
TRIES = 8
OPTIONS = (Option("yes", "allow_once", "Allow"), Option("no", "reject_once", "Reject"))
FINAL = (TurnEnded, TurnSuperseded, TurnTaken, UnknownTurn, UnknownOrder, RunnerRevoked)


class Violation(BaseException):
    """Something that must hold does not. Not an Exception: no use case may catch it."""


class Stage(Protocol):
    """What a process needs of a walk."""

    services: Services
    configuration: Configuration

    def step(self, *what: object) -> None: ...
    def sleep(self, actor: Actor, milliseconds: int) -> None: ...
    def may(self, fault: str, chance: float) -> bool:
        """Use up something that may happen a few times in a walk."""

    def pick(self, count: int) -> int:
        """A number below `count`."""


@dataclass
class LocalMachine:
    """What is on the machine's disk, and what its agent's own session has seen."""

    knows: int
    """How many messages of the transcript the agent has seen."""
    lock: Actor | None = None
    """Who holds the lock of the agent's session. A dead process holds none."""
    fences: dict[str, int] = field(default_factory=dict)
    spool: tuple[TurnName, MachineResult, int] | None = None
    """A result that is not posted, and how many messages its agent knows with it."""
    words: set[str] = field(default_factory=set)
    """The words that its agent was given, ever."""
    sent: dict[bytes, str] = field(default_factory=dict)
    """Files that its agent has sent, and what it was told became of each."""
    answers: set[tuple[str, int, int]] = field(default_factory=set)
    """Answers to questions (turn, fence, number) that its agent was given and the service knows it."""

    def prompt(self, words: Sequence[str], *, has_note: bool) -> None:
        """The agent gets words. It must not get the same ones twice without being told of the interruption."""
        again = self.words & set(words)
        if again and not has_note:
            raise Violation(f"the agent gets {again} twice without a note")
        self.words |= set(words)


@dataclass
class RunnerProcess:
    """One process of the runner, which looks for one turn and runs it."""

    stage: Stage
    machine: LocalMachine
    me: Actor
    seq: int = 0
    asked: int = 0
    files: int = 0
    loose: set[int] = field(default_factory=set)
    """Questions that do not block and are not decided."""
    taken: list[int] = field(default_factory=list)
    """Those of them whose answers the agent has got."""
    steered: dict[str, str] = field(default_factory=dict)
    acknowledged: list[str] = field(default_factory=list)

    def run(self) -> None:
        try:
            self._post_spool()
            self._run_turn()
        except FINAL as told:
            self.stage.step("is told", type(told).__name__)
        finally:
            if self.machine.lock is self.me:
                self.machine.lock = None

    def _run_turn(self) -> None:
        machine, services = self.machine, self.stage.services
        known, pointers, orders = poll(services, USER, RUNNER)
        note_sign(services, known)
        if orders and (not pointers or self.stage.pick(2)):
            self._do(orders[self.stage.pick(len(orders))])
            return
        if not pointers:
            return
        pointer = pointers[self.stage.pick(len(pointers))]
        name = TurnName(USER, RUNNER, pointer.session_id, pointer.turn_id)
        previous = machine.fences.get(name.turn_id)
        if previous is not None and machine.lock is None:
            machine.lock, self.me.restarts_at = self.me, (name.turn_id, previous)
        else:
            previous = None
        claim_id = services.new_id()
        claim = self._call(lambda: claim_machine_turn(services, name, claim_id=claim_id, previous_fence=previous))
        if self.stage.may("copy", 0.3):
            again = self._call(lambda: claim_machine_turn(services, name, claim_id=claim_id, previous_fence=previous))
            if again.session.turn and again.session.turn.id == name.turn_id and again.words != claim.words:
                raise Violation("a repeated claim has another answer")
        fence = claim.session.turn.fence if claim.session.turn else 0
        machine.fences[name.turn_id] = fence
        name = TurnName(USER, RUNNER, name.session_id, name.turn_id, fence)
        if self._locks(name):
            self._call(lambda: begin_turn(services, name))
            self._prompt(claim)
            self._work(name, claim)

    def _do(self, order: Order) -> None:
        """Take an order, do it and answer."""
        services = self.stage.services
        name, claim_id = OrderName(USER, RUNNER, order.id), services.new_id()
        taken = self._call(lambda: take_order(services, name, claim_id=claim_id))
        if self.stage.may("copy", 0.3) and self._call(lambda: take_order(services, name, claim_id=claim_id)) != taken:
            raise Violation("a repeated take has another answer")
        name = OrderName(USER, RUNNER, order.id, taken.fence)
        for _ in range(self.stage.pick(4)):
            self.stage.sleep(self.me, self.stage.pick(BEAT))
            self._call(lambda: renew_order(services, name))
        answer = OrderAnswer(claim_id, current=taken.argument)
        self._call(lambda: answer_order(services, name, answer))
        if self.stage.may("copy", 0.5):
            self._call(lambda: answer_order(services, name, answer))

    def _locks(self, name: TurnName) -> bool:
        for _ in range(TRIES):
            if self.machine.lock in (None, self.me):
                self.machine.lock = self.me
                return True
            self.stage.sleep(self.me, BEAT)
            self._report(name)
        return False

    def _prompt(self, claim: MachineClaim) -> None:
        session, machine = claim.session, self.machine
        if session.native_seen > machine.knows:
            raise Violation("what the deployment's agent said is kept from the machine's")
        unseen = [str(message.get("id", "")).rpartition("/")[2] for message in claim.unseen]
        words = [word.id for word in claim.words]
        machine.prompt([*(one for one in unseen if one), *words], has_note=session.native_dirty)
        carried = {(one.turn_id, one.fence, one.number) for one in claim.answers}
        if carried & machine.answers:
            raise Violation("an answer is given twice")
        rows = {one.row for one in claim.answers if one.row}
        if not rows <= set(words):
            raise Violation("the words of an answer are not given")
        self.acknowledged += [one.later_acknowledgement for one in claim.answers]
        machine.knows = max(machine.knows, session.message_count)
        self.stage.step("prompts", words, "with a note" if session.native_dirty else "")

    def _work(self, name: TurnName, claim: MachineClaim) -> None:
        given = [word.id for word in claim.words]
        for _ in range(self.stage.pick(4)):
            if self.stage.may("ask", 0.5):
                given += self._ask(name, claim)
            if self.stage.may("send", 0.7):
                self._send(name)
            heard = self._report(name, said="working" if self.stage.pick(2) else None)
            given += self._steer(heard, claim)
            self.stage.sleep(self.me, self.stage.pick(BEAT))
            self._take_loose(heard, claim, given)
        self.stage.step("agent is done", given)
        is_failure = self.stage.may("failure", 0.5)
        messages: list[Message] = [{"role": "assistant", "content": f"machine's reply to {given}"}]
        digest = digest_of(messages, given)
        result = MachineResult(
            digest, messages, str(messages[0]["content"]), given, is_failure=is_failure, answered=self.taken
        )
        self.machine.spool = name, result, claim.session.message_count + len(given) + len(messages)
        self._post_spool()

    def _steer(self, heard: ReportAnswer, claim: MachineClaim) -> list[str]:
        """Give the agent what it does not have; it is acknowledged with the next report."""
        late = [word.id for word in heard.steered if word.id not in self.steered]
        if set(late) & {word.id for word in claim.words}:
            raise Violation("words of the claim are steered too")
        self.machine.prompt(late, has_note=claim.session.native_dirty)
        self.steered |= {word.id: word.text for word in heard.steered}
        self.acknowledged = list(dict.fromkeys((*self.acknowledged, *self.steered)))
        return late

    def _ask(self, name: TurnName, claim: MachineClaim) -> list[str]:
        """Ask, and wait for the service's word: an answer, or that it expired. Returns the words that were the answer."""
        self.asked += 1
        kind = self.stage.pick(3) if self.stage.configuration.choices else 0
        choice = {"kind": CHOICE, "free": True, "blocks": kind == 1} if kind else {}
        heard = self._report(name, asked=[Asked(self.asked, "May I?", OPTIONS, **choice)])  # type: ignore[arg-type]
        if kind == 2:
            self.loose.add(self.asked)
            return []
        while not (decided := [question for question in heard.decided if question.number == self.asked]):
            self.stage.sleep(self.me, BEAT)
            heard = self._report(name)
        (decision,) = decided
        self.stage.step("hears", decision.state.value)
        rows = [decision.row] if decision.row else []
        self.machine.prompt(rows, has_note=claim.session.native_dirty)
        self._report(name, acknowledged=[decision.acknowledgement])
        self.machine.answers.add((name.turn_id, name.fence, decision.number))
        return rows

    def _send(self, name: TurnName) -> None:
        """Store a file, and have it posted under one number until the service says what became of it."""
        services, self.files = self.stage.services, self.files + 1
        content = f"{name.turn_id} {name.fence} {self.files}".encode()
        file = StoredFile(sha256(content).hexdigest(), "plot.txt", "text/plain", len(content))
        session = services.store.sessions.get(name.session_id)
        if session is None:
            return
        self.machine.sent[content] = "unknown"
        self._call(lambda: keep_file(services, session, file, [content]))
        for _ in range(TRIES):
            (became,) = self._report(name, sends=[Send(self.files, file.id, "A plot.")]).sent
            if became.state != "waiting":
                self.machine.sent[content] = became.state
                break
            self.stage.sleep(self.me, self.stage.pick(BEAT))
        self.stage.step("hears of its file", self.machine.sent[content])

    def _take_loose(self, heard: ReportAnswer, claim: MachineClaim, given: list[str]) -> None:
        """Some answers to questions that do not block are in time."""
        for decision in heard.decided:
            if decision.number in self.loose and self.stage.pick(2):
                self.loose.remove(decision.number)
                self.taken.append(decision.number)
                rows = [decision.row] if decision.row else []
                self.machine.prompt(rows, has_note=claim.session.native_dirty)
                given += rows

    def _report(
        self,
        name: TurnName,
        *,
        said: str | None = None,
        asked: Sequence[Asked] = (),
        acknowledged: Sequence[str] = (),
        sends: Sequence[Send] = (),
    ) -> ReportAnswer:
        self.seq += 1
        told = [*self.acknowledged, *acknowledged]
        report = Report(self.seq, said=said, asked=asked, acknowledged=told, sends=sends)
        return self._call(lambda: report_turn(self.stage.services, name, report))

    def _post_spool(self) -> None:
        """Post what is on the disk until there is an answer. A process does so only with the lock."""
        machine = self.machine
        if machine.spool is None or machine.lock not in (None, self.me):
            return
        machine.lock = self.me
        name, result, knows = machine.spool
        self.me.claim, self.me.given = (name.turn_id, name.fence), frozenset(result.given)
        self.me.answered = frozenset(result.answered)
        try:
            self._call(lambda: take_result(self.stage.services, name, result))
            if self.stage.may("copy", 0.5):
                self._call(lambda: take_result(self.stage.services, name, result))
        except OtherResult:
            raise Violation("a repeated result is refused") from None
        except FINAL:
            machine.spool = None
            raise
        finally:
            self.me.claim, self.me.given = None, frozenset()
        machine.spool = None
        if not (result.is_failure and result.given[0].startswith(KICKOFF_PREFIX)):  # a failed handoff commits nothing
            machine.knows = max(machine.knows, knows)

    def _call(self, request: Callable[[], T]) -> T:
        """One HTTP request, repeated where the service says so."""
        for _ in range(TRIES):
            try:
                return request()
            except Conflict:
                self.stage.step("tries again")
        return request()
