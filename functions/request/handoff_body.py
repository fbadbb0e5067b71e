"""The body of a request for a handoff, and what other bodies share with it: unknown fields are rejected."""

import re
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from functions.http.fields import WHOLE, Count, Id, Message
from shared.domain.messages import problem_with
from shared.domain.sessions import MAX_TITLE, RunsOn
from shared.errors import InvalidRequest
from shared.use_cases.handoffs.request_handoff import HandoffRequest
from shared.use_cases.handoffs.request_inline import InlineTranscript

Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_TITLE), WHOLE]
Messages = Annotated[list[Message], Field(min_length=1)]
PlatformName = Annotated[str, StringConstraints(max_length=50)]
NATIVE_ID = re.compile(r"[!-~]{1,200}")
NativeId = Annotated[str, StringConstraints(pattern=f"^{NATIVE_ID.pattern}$")]
AgentName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9:._/-]{0,99}$")]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class RunsOnBody(Body):
    """The user's own agent: a registered runner, the agent there, and the agent's own id of the session."""

    runner: Id
    agent: AgentName
    native_id: NativeId

    def domain(self) -> RunsOn:
        return RunsOn(self.runner, self.agent, self.native_id)


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


def checked(messages: list[Message], *, first: int = 0) -> list[Message]:
    """The messages, if all of them can be stored. Raises InvalidRequest; counts from `first` for people."""
    for number, message in enumerate(messages):
        if problem := problem_with(message):
            raise InvalidRequest(
                f"Message {first + number + 1} cannot be stored: {problem}. Nothing was written.",
                errors=[{"field": f"messages.{number}", "problem": problem}],
            )
    return messages
