"""Request and response bodies of orders."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from functions.http.fields import WHOLE, Count, Id
from functions.request.handoff_body import AgentName, Body, Messages, NativeId, Title
from shared.domain.dials import MAX_VALUE
from shared.domain.lists import MOST
from shared.domain.orders import LEASE, LONGEST, MAX_ANSWER, Choice, Native, Order
from shared.use_cases.runners.move_by_order import Made
from shared.use_cases.runners.take_order import OrderAnswer

Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Value = Annotated[str, StringConstraints(min_length=1, max_length=MAX_VALUE), WHOLE]
Project = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$")]
MOST_CHOICES = 50


class WaitingOrder(BaseModel):
    """An order that waits for a runner. `session_id`, `agent` and `native_id` are null if it concerns no session."""

    order_id: str
    kind: str
    session_id: str | None
    agent: str | None
    native_id: str | None

    @classmethod
    def of(cls, order: Order) -> "WaitingOrder":
        return cls(
            order_id=order.id,
            kind=order.kind,
            session_id=order.session_id or None,
            agent=order.agent or None,
            native_id=order.native_id or None,
        )


class TakeBody(Body):
    """`claim_id` is random for each take; the same one gets the same answer."""

    claim_id: Id


class TakenOrder(WaitingOrder):
    """A taken order. `ends_in`: seconds after which it is void, however often it is renewed."""

    argument: str
    fence: int
    lease_seconds: int
    ends_in: int

    @classmethod
    def at(cls, order: Order, *, now: int) -> "TakenOrder":
        return cls(
            **WaitingOrder.of(order).model_dump(),
            argument=order.argument,
            fence=order.fence,
            lease_seconds=LEASE // 1000,
            ends_in=max(0, order.taken_at + LONGEST - now) // 1000,
        )


class RenewBody(Body):
    fence: Count


class OrderRenewed(BaseModel):
    lease_seconds: int


class ChoiceBody(Body):
    """A value that the agent offers."""

    value: Value
    name: Annotated[str, StringConstraints(max_length=200), WHOLE] = ""
    description: Annotated[str, StringConstraints(max_length=500), WHOLE] = ""

    def domain(self) -> Choice:
        return Choice(self.value, self.name, self.description)


class NativeBody(Body):
    """A session of an agent on the machine. `id` is the runner's own word for it; `age`: seconds since it was written.

    `open`: whether a terminal has it open, null if that is not known. `session_id`: if the machine handed it over before.
    """

    id: Id
    title: Annotated[str, StringConstraints(max_length=200), WHOLE] = ""
    project: Project
    agent: AgentName
    age: Count
    open: bool | None = None
    session_id: Id | None = None

    def domain(self) -> Native:
        return Native(self.id, self.title, self.project, self.agent, self.age, self.open, self.session_id or "")


class AnswerBody(Body):
    """The end of an order. `current` and `options`: what the option is now, and what the agent offers for it.

    `sessions` are those of an order that lists them; `diff` is shown as it is, below the text. `file` is the id of a stored
    file of the order's session, which is posted beside it.
    """

    fence: Count
    digest: Digest
    outcome: Literal["done", "refused"]
    text: Annotated[str, StringConstraints(max_length=MAX_ANSWER), WHOLE] = ""
    current: Annotated[str, StringConstraints(max_length=MAX_VALUE), WHOLE] = ""
    options: Annotated[list[ChoiceBody], Field(max_length=MOST_CHOICES, default_factory=list)]
    sessions: Annotated[list[NativeBody], Field(max_length=MOST, default_factory=list)]
    diff: Annotated[str, StringConstraints(max_length=MAX_ANSWER), WHOLE] = ""
    file: Digest | None = None

    def domain(self) -> OrderAnswer:
        choices = [option.domain() for option in self.options]
        listed = [session.domain() for session in self.sessions]
        is_refused = self.outcome == "refused"
        shown = self.diff, self.file or ""
        return OrderAnswer(self.digest, is_refused, self.text, self.current, choices, listed, *shown)


class OrderAnswered(BaseModel):
    state: Literal["done"]


class MadeBody(Body):
    """The session that a runner stores for an order: one of an agent in a listed project.

    Without a `native_id` the agent begins it with its first turn.
    """

    fence: Count
    session_id: Id
    agent: AgentName
    native_id: NativeId | None = None
    project: Project
    title: Title | None = None

    def domain(self) -> Made:
        return Made(self.session_id, self.agent, self.native_id or "", self.project, self.title)


class MadeSession(BaseModel):
    """The session as it is stored. `done`: an earlier order has requested the handoff already, so nothing is left to do."""

    state: Literal["taken", "done"]
    message_count: int


class AddedBody(Body):
    """Messages that follow the first `after` stored ones of the order's session."""

    fence: Count
    after: Count
    messages: Messages


class AddedMessages(BaseModel):
    message_count: int


class RequestBody(Body):
    fence: Count


class RequestedHandoff(BaseModel):
    handoff_id: str
