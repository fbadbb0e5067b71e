"""Request bodies. Unknown fields are rejected, so that a misspelt option is not silently ignored."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from functions.http.fields import WHOLE, Count, Id
from functions.request.handoff_body import Body, Messages, PlatformName, RunsOnBody, Title
from shared.domain.files import ANY_TYPE, StoredFile, safe_name, safe_type
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


class FileBody(Body):
    """The digest (SHA-256 in hex) and the size of the bytes; `name` and `type` (a media type) are only passed on."""

    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    size: Annotated[int, Field(ge=0, le=2**53)]
    type: Annotated[str, StringConstraints(max_length=127), WHOLE] = ANY_TYPE
    name: Annotated[str, StringConstraints(max_length=1000), WHOLE] = ""

    def file(self) -> StoredFile:
        """With a safe name."""
        return StoredFile(self.sha256, safe_name(self.name), safe_type(self.type), self.size)


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
