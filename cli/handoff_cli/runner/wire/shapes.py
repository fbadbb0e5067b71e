"""Fields of the service's answers that the runner uses, with their types."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

Seconds = Annotated[float, Field(allow_inf_nan=False)]
Lease = Annotated[float, Field(ge=1, allow_inf_nan=False)]
_MOST_NAMED = 3


class Shape(BaseModel):
    """An answer of the service; what the runner does not use may be anything."""

    model_config = ConfigDict(strict=True)


class Registered(Shape):
    id: str
    user: str = ""
    accepts: list[str] = []
    file_limit: int = 0


class Hint(Shape):
    turn_id: str
    session_id: str
    agent: str
    native_id: str


class OrderHint(Shape):
    order_id: str
    kind: str
    session_id: str | None = None
    agent: str | None = None
    native_id: str | None = None


class TakenOrder(OrderHint):
    argument: str
    fence: int
    lease_seconds: Lease
    ends_in: Seconds


class Turns(Shape):
    turns: list[Hint]
    orders: list[OrderHint] = []
    release: list[str] = []
    poll_after_ms: Seconds = 0.0


class WordFile(Shape):
    id: str
    name: str
    type: str
    size: Annotated[int, Field(ge=0)]
    sha256: str


class Word(Shape):
    id: str
    text: str
    files: list[WordFile] = []


class EarlierAnswer(Shape):
    id: str
    question: str
    answer: str
    words: str | None = None


class Claimed(Shape):
    fence: int
    words: list[Word]
    answers: list[EarlierAnswer] = []
    unseen: list[dict[str, Any]] = []
    unseen_next: int | None = None
    native_dirty: bool = False
    lease_seconds: Lease
    dials: dict[str, str] = {}
    deadline_in: Seconds | None = None
    title: str | None = None
    platform: str | None = None
    shared: bool = False


class Upload(Shape):
    url: str
    headers: dict[str, str]


class StoredFile(Shape):
    id: str
    upload: Upload | None = None


class Begun(Shape):
    lease_seconds: Lease


class Decision(Shape):
    n: int
    state: str
    option: str | None = None
    options: list[str] = []
    text: str | None = None
    words: str | None = None


class Sent(Shape):
    n: int
    state: str
    reason: str | None = None


class Events(Begun):
    decided: list[Decision]
    steered: list[Word]
    sent: list[Sent] = []


class Taken(Shape):
    state: str


class MadeSession(Taken):
    message_count: int


class AddedMessages(Shape):
    message_count: int


class RequestedHandoff(Shape):
    handoff_id: str


MOVES: dict[str, type[Shape]] = {"session": MadeSession, "messages": AddedMessages, "handoff": RequestedHandoff}
"""Answers to the calls of an order that moves a session."""


class Session(Shape):
    owner: str
    link: str | None = None
    active_handoff: str | None = None


class Messages(Shape):
    messages: list[dict[str, Any]]
    next: int | None = None


def misfit(body: dict[str, Any], shape: type[Shape]) -> str:
    """Which fields are not as they should be; empty if all are. Names no value: it may be somebody's words."""
    try:
        shape.model_validate(body)
    except ValidationError as problem:
        errors = problem.errors(include_input=False, include_url=False, include_context=False)
        named = [f"{'.'.join(map(str, error['loc']))}: {error['type']}" for error in errors[:_MOST_NAMED]]
        return ", ".join(named)
    return ""
