"""Response bodies of calls that change something."""

from typing import Self

from pydantic import BaseModel

from functions.http.fields import Time
from functions.views import IssuedToken, LinkView, SessionView, iso
from shared.domain.files import StoredFile
from shared.ports.files import Upload


class AppendedView(BaseModel):
    """Where the transcript stands after an append."""

    message_count: int
    epoch: int


class UploadView(BaseModel):
    """PUT the bytes to `url` with exactly these headers, and without your token, before it expires."""

    url: str
    headers: dict[str, str]
    expires: Time


class FileView(BaseModel):
    """A file as a message names it. `upload` is null if the session has its bytes."""

    id: str
    name: str
    type: str
    size: int
    sha256: str
    upload: UploadView | None

    @classmethod
    def of(cls, file: StoredFile, upload: Upload | None, *, base_url: str) -> Self:
        shown = None
        if upload is not None:
            url = f"{base_url}{upload.url}" if upload.url.startswith("/") else upload.url
            shown = UploadView(url=url, headers=dict(upload.headers), expires=iso(upload.expires_at))
        return cls(**file.value(), upload=shown)


class TurnView(BaseModel):
    id: str


class AcceptedTurn(BaseModel):
    """A turn that is queued. Its reply appears in the transcript."""

    turn: TurnView
    session: SessionView
    poll_after_ms: int


class NoticeView(BaseModel):
    """A notice that is queued, and the chat where it will appear."""

    id: str
    platform: str
    chat: str
    link: str


class HomeView(BaseModel):
    platform: str
    chat: str


class NewLinkView(LinkView):
    """A new link. The bot gets `text` in a private chat; `url` opens that chat, where the platform has such a link.

    The `code` is shown only here.
    """

    code: str
    url: str | None
    text: str


class AccountView(BaseModel):
    """An account on a platform."""

    platform: str
    account: str


class RevokedView(BaseModel):
    """A token that was revoked. `accounts` are yours that its codes have linked; `unlinked`: they are not any more."""

    id: str
    accounts: list[AccountView]
    unlinked: bool


class LoginView(IssuedToken):
    """Your first token with its plaintext, which is shown only here, and your id."""

    user: str
