"""Request bodies. Unknown fields are rejected, so that a misspelt option is not silently ignored."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from functions.http.fields import WHOLE, Count, Id
from functions.request.handoff_body import Body, Messages, PlatformName, RunsOnBody, Title
from shared.domain.messages import MAX_TEXT
from shared.domain.sessions import RunsOn
from shared.domain.tokens import MAX_LABEL


class SessionBody(Body):
    title: Title | None = None
    source: Annotated[str, StringConstraints(max_length=200), WHOLE] | None = None
    cwd: Annotated[str, StringConstraints(max_length=4096), WHOLE] | None = None
    model: Annotated[str, StringConstraints(max_length=200), WHOLE] | None = None
    runs_on: RunsOnBody | None = None

    def details(self) -> dict[str, str | RunsOn | None]:
        """The fields that were given."""
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
    """A message of the user. The same `id` is accepted once."""

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
ScopeName = Literal["handoff", "read", "run", "link", "admin"]


class TokenBody(Body):
    """Without `scopes`, those of the token that asks, except `link` and `admin`."""

    label: Label = ""
    scopes: Annotated[list[ScopeName], Field(min_length=1)] | None = None
    expires_at: Annotated[datetime, Field(strict=False)] | None = None


class UserBody(Body):
    id: Id
    label: Label = ""


class LinkBody(Body):
    """`home`: the chat with the bot becomes your home there even if another one is."""

    platform: PlatformName
    home: bool = False


class InvitationBody(Body):
    """`name` becomes the id of the new user."""

    name: Id
    platform: PlatformName


class LoginBody(Body):
    """`code` is what follows the # in the login link, `key` a random text that the client chooses and keeps."""

    code: Annotated[str, StringConstraints(max_length=200)]
    key: Annotated[str, StringConstraints(min_length=32, max_length=200)]


class NoticeBody(Body):
    """A short text (Markdown) for your home chat. Without `platform`, the first one where you have a home."""

    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1000), WHOLE]
    platform: Annotated[str, StringConstraints(max_length=50)] | None = None
