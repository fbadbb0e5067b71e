"""Request and response bodies of orders."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from functions.http.fields import WHOLE, Count, Id
from functions.request.handoff_body import Body
from shared.domain.dials import MAX_VALUE
from shared.domain.orders import LEASE, LONGEST, MAX_ANSWER, Choice, Order
from shared.use_cases.runners.take_order import OrderAnswer

Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Value = Annotated[str, StringConstraints(min_length=1, max_length=MAX_VALUE), WHOLE]
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


class AnswerBody(Body):
    """The end of an order. `current` and `options`: what the option is now, and what the agent offers for it."""

    fence: Count
    digest: Digest
    outcome: Literal["done", "refused"]
    text: Annotated[str, StringConstraints(max_length=MAX_ANSWER), WHOLE] = ""
    current: Annotated[str, StringConstraints(max_length=MAX_VALUE), WHOLE] = ""
    options: Annotated[list[ChoiceBody], Field(max_length=MOST_CHOICES, default_factory=list)]

    def domain(self) -> OrderAnswer:
        choices = [option.domain() for option in self.options]
        return OrderAnswer(self.digest, self.outcome == "refused", self.text, self.current, choices)


class OrderAnswered(BaseModel):
    state: Literal["done"]
