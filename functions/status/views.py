"""Response bodies of calls that only read."""

from functions.http.fields import Message, Model, Time
from functions.views import HandoffView, LinkView, RunnerView, SessionView, TokenView


class SessionsPage(Model):
    """Sessions, newest first. Pass `next` as `cursor` to read on."""

    sessions: list[SessionView]
    next: str | None


class MessagesPage(Model):
    """Messages behind the first `after`. Pass `next` as `after` to read on."""

    messages: list[Message]
    after: int
    next: int | None
    message_count: int


class HandoffsList(Model):
    """Your handoffs, newest first, each without its session."""

    handoffs: list[HandoffView]


class RunnersList(Model):
    runners: list[RunnerView]


class HomeChat(Model):
    chat: str


class PlatformView(Model):
    """A platform. `accounts` are your ids there, whose messages are read."""

    name: str
    supported: bool
    configured: bool
    home: HomeChat | None
    accounts: list[str]
    threads: bool


class PlatformsList(Model):
    platforms: list[PlatformView]


class LinksList(Model):
    """Your newest pairing code for each platform and each person whom you invited, for about a day."""

    links: list[LinkView]


class CheckView(Model):
    """One check of the doctor. `ok` is null where that cannot be found out."""

    name: str
    platform: str | None
    ok: bool | None
    detail: str
    fix: str | None


class DoctorReport(Model):
    checks: list[CheckView]
    now: Time


class TokensList(Model):
    """Your tokens; `current` is the id of the one that this request carries."""

    tokens: list[TokenView]
    current: str


class UserView(Model):
    """A user: how many tokens, and on each platform the linked accounts and the home chat."""

    id: str
    tokens: int
    accounts: dict[str, list[str]]
    homes: dict[str, str]


class UsersList(Model):
    users: list[UserView]


class Health(Model):
    status: str
