"""Request bodies. Unknown fields are rejected, so that a misspelt option is not silently ignored."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from functions.http.fields import Count, Id, Message
from shared.domain.messages import problem_with
from shared.domain.sessions import MAX_TITLE
from shared.domain.tokens import MAX_LABEL
from shared.errors import InvalidRequest
from shared.use_cases.handoffs.request_handoff import HandoffRequest
from shared.use_cases.handoffs.request_inline import InlineTranscript

Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_TITLE)]
Messages = Annotated[list[Message], Field(min_length=1)]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class SessionBody(Body):
    title: Title | None = None
    source: Annotated[str, StringConstraints(max_length=200)] | None = None
    cwd: Annotated[str, StringConstraints(max_length=4096)] | None = None
    model: Annotated[str, StringConstraints(max_length=200)] | None = None


class MessagesBody(Body):
    """Messages that follow the first `after` stored ones."""

    epoch: Count
    after: Count
    messages: Messages


class TurnBody(Body):
    """What the user says. The same `id` is accepted once."""

    epoch: Count
    id: Id
    text: Annotated[str, StringConstraints(min_length=1, max_length=60_000)]


class ResumeBody(Body):
    """`epoch` as last read; or `fork` for a copy, whatever the epoch is."""

    epoch: Count = 0
    fork: bool = False


class HomeBody(Body):
    chat: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


Label = Annotated[str, StringConstraints(strip_whitespace=True, max_length=MAX_LABEL)]
ScopeName = Literal["handoff", "read", "run", "admin"]


class TokenBody(Body):
    """Without `scopes`, those of the token that asks, except `admin`."""

    label: Label = ""
    scopes: Annotated[list[ScopeName], Field(min_length=1)] | None = None
    expires_at: Annotated[datetime, Field(strict=False)] | None = None


class UserBody(Body):
    id: Id
    label: Label = ""


class InlineSession(Body):
    """A whole conversation. Without `id`, it gets one derived from the Idempotency-Key."""

    id: Id | None = None
    title: Title | None = None
    messages: Messages


class HandoffBody(Body):
    """A stored session (`session_id` and `epoch`) or a whole one (`session`), and where it is to go."""

    platform: Annotated[str, StringConstraints(max_length=50)]
    session_id: Id | None = None
    session: InlineSession | None = None
    epoch: Count | None = None
    target: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None
    require_thread: bool = False
    replace: bool = False
    message: Annotated[str, StringConstraints(max_length=4000)] | None = None

    def inline(self) -> InlineTranscript | None:
        """The conversation that came with the request, if one did."""
        if (self.session_id is None) == (self.session is None):
            raise InvalidRequest("Give either `session_id` of a stored session or a whole one in `session`.")
        if self.session is None:
            return None
        messages = checked(self.session.messages)
        return InlineTranscript(messages, id=self.session.id, title=self.session.title, epoch=self.epoch)

    def asked(self) -> HandoffRequest:
        """The request. For an inline session, id and epoch are completed when it is stored."""
        if self.session is None and self.epoch is None:
            raise InvalidRequest("Give the `epoch` of the session as you last read it.")
        return HandoffRequest(
            session_id=self.session_id or "",
            platform=self.platform,
            epoch=0 if self.session is not None else self.epoch or 0,
            target=self.target,
            message=self.message,
            require_thread=self.require_thread,
            replace=self.replace,
        )


def checked(messages: list[Message], *, first: int = 0) -> list[Message]:
    """The messages, if all of them can be stored. Raises InvalidRequest; counts from `first` for people."""
    for number, message in enumerate(messages):
        if problem := problem_with(message):
            raise InvalidRequest(
                f"Message {first + number + 1} cannot be stored: {problem}. Nothing was written.",
                errors=[{"field": f"messages.{number}", "problem": problem}],
            )
    return messages
