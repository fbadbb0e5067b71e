"""A user's machine with a runner, which calls the use cases as its HTTP routes do."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from shared.domain.dials import DIALS
from shared.domain.handoffs import Handoff
from shared.domain.messages import Message
from shared.domain.orders import BEGIN, BRING, DIFF, SESSIONS, Choice, Native, Order
from shared.domain.progress import Summary
from shared.domain.questions import Option
from shared.domain.routes import Place
from shared.domain.sessions import RunsOn, Session, Turn
from shared.domain.usage import TurnUsage
from shared.ports.inbound import WebhookRequest
from shared.store.runners import TurnPointer
from shared.use_cases.chat.receive_message import receive_message
from shared.use_cases.runners.claim_machine_turn import MachineClaim, begin_turn, claim_machine_turn
from shared.use_cases.runners.live_turn import TurnName
from shared.use_cases.runners.move_by_order import Made, add_messages, make_session, request_by_order
from shared.use_cases.runners.register import poll, register_runner
from shared.use_cases.runners.report_turn import Asked, Report, ReportAnswer, report_turn
from shared.use_cases.runners.take_order import OrderAnswer, OrderName, answer_order, take_order
from shared.use_cases.runners.take_result import MachineResult, take_result
from shared.use_cases.sessions.save_session import save_session
from tests.support.use_case_world import USER, World

OPTIONS = (
    Option("yes", "allow_once", "Allow"),
    Option("always", "allow_always", "Always allow"),
    Option("no", "reject_once", "Reject"),
)

MODELS = (Choice("opus", "Opus", "the large one"), Choice("haiku", "Haiku"))


def arrive(world: World, place: Place, event_id: str, text: str, *, sender: str = "ada-there") -> None:
    """A message arrives at the webhook; nothing has looked at it."""
    body = f"{event_id}|{place.thread or ''}|{text}|{sender}".encode()
    receive_message(world.services, "chat", WebhookRequest(body, {"signature": "good"}))


def post(world: World, place: Place, event_id: str, text: str, *, sender: str = "ada-there") -> None:
    """A message arrives at the webhook, and the place is looked at."""
    arrive(world, place, event_id, text, sender=sender)
    world.messages()


def press(world: World, place: Place, button: str, *, sender: str = "ada-there", event: str = "pressed") -> str:
    """A button is pressed; returns what the person is told."""
    body = f"{event}|{place.thread or ''}|{button}|m1|{sender}".encode()
    receive_message(world.services, "chat", WebhookRequest(body, {"signature": "good"}))
    told = world.platform.acknowledged[-1][1]
    world.messages()
    return told


def shown(world: World, place: Place) -> list[str]:
    """What stands in the thread after the confirmation."""
    return world.platform.said(place)[1:]


def digest_of(messages: Sequence[Message], given: Sequence[str]) -> str:
    return hashlib.sha256(repr((messages, list(given))).encode()).hexdigest()


@dataclass
class Machine:
    """A runner of the user, registered. It works on one turn: `claim` takes the one that it polls."""

    world: World
    id: str = "laptop"
    user: str = USER
    claimed: MachineClaim | None = None
    unattended: Sequence[str] = ()
    orders: Sequence[str] = (*DIALS, SESSIONS, BRING, BEGIN, DIFF)
    projects: Sequence[str] = ()
    agents: Sequence[str] = ("claude-code",)
    seq: int = field(default=0)

    def __post_init__(self) -> None:
        self.register()

    @property
    def runs_on(self) -> RunsOn:
        return RunsOn(self.id, "claude-code", "n-1")

    def register(self) -> None:
        """Also a sign of life."""
        agents = dict.fromkeys(self.agents, "2.1")
        register_runner(
            self.world.services,
            self.user,
            self.id,
            name=self.id,
            agents=agents,
            version="0.3",
            protocol=1,
            unattended=self.unattended,
            orders=self.orders,
            projects=self.projects,
        )

    def session(self, session_id: str = "s-1") -> Session:
        """A session of this machine's agent, in its terminal: two messages."""
        save_session(self.world.services, self.user, session_id, {"runs_on": self.runs_on})
        return self.world.session(session_id)

    def moved(self, session_id: str = "s-1") -> Place:
        """The thread of a session that was handed over and confirmed by this machine: four messages."""
        self.session(session_id)
        self.world.process(self.world.ask(session_id))
        self.answer("Here I am.")
        place = self.world.current(session_id).owner
        assert not place.is_cli
        return place

    def poll(self) -> list[TurnPointer]:
        return list(poll(self.world.services, self.user, self.id).turns)

    def waiting(self) -> list[Order]:
        return list(poll(self.world.services, self.user, self.id).orders)

    def take(self, order: Order, claim_id: str = "c-1") -> Order:
        return take_order(self.world.services, OrderName(self.user, self.id, order.id), claim_id=claim_id)

    def answer_order(self, order: Order, answer: OrderAnswer | None = None) -> None:
        """Answer a taken order: the model is what it asks for."""
        name = OrderName(self.user, self.id, order.id, order.fence)
        usual = OrderAnswer("d-1", current=order.argument or "opus", choices=MODELS)
        answer_order(self.world.services, name, answer or usual)

    def obey(self) -> Order:
        """Take the one order that waits, and answer it."""
        (order,) = self.waiting()
        taken = self.take(order, self.world.services.new_id())
        self.answer_order(taken)
        self.world.messages()
        return taken

    def list(self, *listed: Native, said: str = "") -> None:
        """Take the order that lists sessions, and answer it."""
        order = next(order for order in self.waiting() if order.kind == SESSIONS)
        taken = self.take(order, self.world.services.new_id())
        self.answer_order(taken, OrderAnswer("d-1", text=said, listed=listed))
        self.world.messages()

    def move(self, order: Order, made: Made, messages: Sequence[Message] = ()) -> Handoff | None:
        """Do a taken order that ends with a handoff; None if another one has requested it."""
        name = OrderName(self.user, self.id, order.id, order.fence)
        services = self.world.services
        if (session := make_session(services, name, made)) is None:
            return None
        if messages:
            add_messages(services, name, after=session.message_count, messages=messages)
        return request_by_order(services, name)

    def claim(self, claim_id: str = "c-1", *, previous_fence: int | None = None, turn_id: str = "") -> MachineClaim:
        """Claim a turn: the newest that is polled, or the one that was claimed before, or `turn_id`."""
        name = self.name(turn_id)
        self.claimed = claim_machine_turn(self.world.services, name, claim_id=claim_id, previous_fence=previous_fence)
        return self.claimed

    def name(self, turn_id: str = "", fence: int | None = None) -> TurnName:
        if not turn_id:
            alive = self.world.current().turn
            known = self.claimed.offer.id if self.claimed else ""
            turn_id = alive.id if alive else known
        held = self.turn.fence if self.claimed else 0
        return TurnName(self.user, self.id, "s-1", turn_id, held if fence is None else fence)

    @property
    def turn(self) -> Turn:
        """The turn as it was claimed."""
        assert self.claimed is not None
        assert self.claimed.session.turn is not None
        return self.claimed.session.turn

    def begin(self, *, fence: int | None = None) -> None:
        begin_turn(self.world.services, self.name(self.turn.id, fence))

    def start(self, claim_id: str = "c-1") -> MachineClaim:
        claimed = self.claim(claim_id)
        self.begin()
        return claimed

    def report(self, *, fence: int | None = None, seq: int | None = None, **more: Any) -> ReportAnswer:
        self.seq = self.seq + 1 if seq is None else seq
        return report_turn(self.world.services, self.name(self.turn.id, fence), Report(self.seq, **more))

    def ask(self, number: int = 1, title: str = "Run the tests?", options: Sequence[Option] = OPTIONS) -> ReportAnswer:
        return self.report(asked=[Asked(number, title, options, detail="make test")])

    def result(
        self,
        reply: str = "Done.",
        *,
        given: Sequence[str] | None = None,
        fence: int | None = None,
        is_failure: bool = False,
        summary: Summary | None = None,
        usage: TurnUsage | None = None,
        answered: Sequence[int] = (),
    ) -> None:
        assert self.claimed is not None
        given = [word.id for word in self.claimed.words] if given is None else given
        messages: list[Message] = [{"role": "assistant", "content": reply}]
        result = MachineResult(
            digest_of(messages, given),
            messages,
            reply,
            given,
            is_failure=is_failure,
            summary=summary,
            answered=answered,
            usage=usage,
        )
        take_result(self.world.services, self.name(self.turn.id, fence), result)

    def answer(self, reply: str = "Done.", claim_id: str | None = None, usage: TurnUsage | None = None) -> None:
        """Run the turn that waits, and let its place be woken."""
        self.start(claim_id or self.world.services.new_id())
        self.result(reply, usage=usage)
        self.world.messages()
