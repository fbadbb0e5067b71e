"""Request bodies. Unknown fields are rejected, so that a misspelt option is not silently ignored."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from functions.http.fields import WHOLE, Count, Id, Message
from shared.domain.messages import problem_with
from shared.domain.sessions import MAX_TITLE, RunsOn
from shared.domain.text import MAX_TEXT
from shared.domain.tokens import MAX_LABEL
from shared.errors import InvalidRequest
from shared.use_cases.handoffs.request_handoff import HandoffRequest
from shared.use_cases.handoffs.request_inline import InlineTranscript

Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_TITLE), WHOLE]
Messages = Annotated[list[Message], Field(min_length=1)]


PlatformName = Annotated[str, StringConstraints(max_length=50)]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


NativeId = Annotated[str, StringConstraints(pattern=r"^[!-~]{1,200}$")]
AgentName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9:._/-]{0,99}$")]


class RunsOnBody(Body):
    """The user's own agent: a registered runner, the agent there, and the agent's own id of the session."""

    runner: Id
    agent: AgentName
    native_id: NativeId

    def domain(self) -> RunsOn:
        return RunsOn(self.runner, self.agent, self.native_id)


class SessionBody(Body):
    title: Title | None = None
    source: Annotated[str, StringConstraints(max_length=200), WHOLE] | None = None
    cwd: Annotated[str, StringConstraints(max_length=4096), WHOLE] | None = None
    model: Annotated[str, StringConstraints(max_length=200), WHOLE] | None = None
    runs_on: RunsOnBody | None = None

    def details(self) -> dict[str, str | RunsOn | None]:
        """What was given."""
        given: dict[str, str | RunsOn | None] = self.model_dump(exclude_unset=True)
        if "runs_on" in given:
            given["runs_on"] = self.runs_on.domain() if self.runs_on else None
        return given


class MessagesBody(Body):
    """Messages that follow the first `after` stored ones."""

    epoch: Count
    after: Count
    messages: Messages


class TurnBody(Body):
    """What the user says. The same `id` is accepted once."""

    epoch: Count
    id: Id
    text: Annotated[str, StringConstraints(min_length=1, max_length=MAX_TEXT), WHOLE]


class ResumeBody(Body):
    """`epoch` as last read; or `fork` for a copy, whatever the epoch is."""

    epoch: Count = 0
    fork: bool = False


class HomeBody(Body):
    chat: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


Label = Annotated[str, StringConstraints(strip_whitespace=True, max_length=MAX_LABEL), WHOLE]
ScopeName = Literal["handoff", "read", "run", "admin"]


class TokenBody(Body):
    """Without `scopes`, those of the token that asks, except `admin`."""

    label: Label = ""
    scopes: Annotated[list[ScopeName], Field(min_length=1)] | None = None
    expires_at: Annotated[datetime, Field(strict=False)] | None = None


class UserBody(Body):
    id: Id
    label: Label = ""


class LinkBody(Body):
    platform: PlatformName


class InvitationBody(Body):
    """`name` becomes the id of the new user."""

    name: Id
    platform: PlatformName


class LoginBody(Body):
    """`code` is what follows the # in the login link, `key` a random text that the client chooses and keeps."""

    code: Annotated[str, StringConstraints(max_length=200)]
    key: Annotated[str, StringConstraints(min_length=32, max_length=200)]


class InlineSession(Body):
    """A whole conversation. Without `id`, it gets one derived from the Idempotency-Key."""

    id: Id | None = None
    title: Title | None = None
    messages: Messages
    runs_on: RunsOnBody | None = None


class HandoffBody(Body):
    """A stored session (`session_id` and `epoch`) or a whole one (`session`), and where it is to go."""

    platform: PlatformName
    session_id: Id | None = None
    session: InlineSession | None = None
    epoch: Count | None = None
    target: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None
    require_thread: bool = False
    replace: bool = False
    share: bool = False
    message: Annotated[str, StringConstraints(max_length=4000), WHOLE] | None = None

    def inline(self) -> InlineTranscript | None:
        """The conversation that came with the request, if one did."""
        if (self.session_id is None) == (self.session is None):
            raise InvalidRequest("Give either `session_id` of a stored session or a whole one in `session`.")
        if self.session is None:
            return None
        messages = checked(self.session.messages)
        runs_on = self.session.runs_on.domain() if self.session.runs_on else None
        return InlineTranscript(
            messages, id=self.session.id, title=self.session.title, epoch=self.epoch, runs_on=runs_on
        )

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
            share=self.share,
        )


class NoticeBody(Body):
    """A short text (Markdown) for your home chat. Without `platform`, the first one where you have a home."""

    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1000), WHOLE]
    platform: Annotated[str, StringConstraints(max_length=50)] | None = None


def checked(messages: list[Message], *, first: int = 0) -> list[Message]:
    """The messages, if all of them can be stored. Raises InvalidRequest; counts from `first` for people."""
    for number, message in enumerate(messages):
        if problem := problem_with(message):
            raise InvalidRequest(
                f"Message {first + number + 1} cannot be stored: {problem}. Nothing was written.",
                errors=[{"field": f"messages.{number}", "problem": problem}],
            )
    return messages
