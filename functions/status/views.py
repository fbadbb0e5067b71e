"""Response bodies of calls that only read."""

from pydantic import BaseModel

from functions.http.fields import Message, Time
from functions.views import HandoffView, LinkView, RunnerView, SessionView, TokenView


class SessionsPage(BaseModel):
    """Sessions, newest first. Pass `next` as `cursor` to read on."""

    sessions: list[SessionView]
    next: str | None


class MessagesPage(BaseModel):
    """Messages behind the first `after`. Pass `next` as `after` to read on."""

    messages: list[Message]
    after: int
    next: int | None
    message_count: int


class HandoffsList(BaseModel):
    """Your handoffs, newest first, each without its session."""

    handoffs: list[HandoffView]


class RunnersList(BaseModel):
    runners: list[RunnerView]


class HomeChat(BaseModel):
    chat: str


class PlatformView(BaseModel):
    """A platform. `accounts` are your ids there, whose messages are read."""

    name: str
    supported: bool
    configured: bool
    home: HomeChat | None
    accounts: list[str]
    threads: bool


class PlatformsList(BaseModel):
    platforms: list[PlatformView]


class LinksList(BaseModel):
    """Your newest pairing code for each platform and each person whom you invited, for about a day."""

    links: list[LinkView]


class CheckView(BaseModel):
    """One check of the doctor. `ok` is null where that cannot be found out."""

    name: str
    platform: str | None
    ok: bool | None
    detail: str
    fix: str | None


class DoctorReport(BaseModel):
    checks: list[CheckView]
    now: Time


class TokensList(BaseModel):
    """Your tokens; `current` is the id of the one that this request carries."""

    tokens: list[TokenView]
    current: str


class UserView(BaseModel):
    """A user: how many tokens, and on each platform the linked accounts and the home chat."""

    id: str
    tokens: int
    accounts: dict[str, list[str]]
    homes: dict[str, str]


class UsersList(BaseModel):
    users: list[UserView]


class Health(BaseModel):
    status: str
