"""Response bodies of calls that change something."""

from functions.http.fields import Model
from functions.views import IssuedToken, LinkView, SessionView


class AppendedView(Model):
    """Where the transcript stands after an append."""

    message_count: int
    epoch: int


class TurnView(Model):
    id: str


class AcceptedTurn(Model):
    """A turn that is queued. Its reply appears in the transcript."""

    turn: TurnView
    session: SessionView
    poll_after_ms: int


class NoticeView(Model):
    """A notice that is queued, and the chat where it will appear."""

    id: str
    platform: str
    chat: str
    link: str


class HomeView(Model):
    platform: str
    chat: str


class NewLinkView(LinkView):
    """A new link. The bot gets `text` in a private chat; `url` opens that chat, where the platform has such a link.

    The `code` is shown only here.
    """

    code: str
    url: str | None
    text: str


class LoginView(IssuedToken):
    """Your first token with its plaintext, which is shown only here, and your id."""

    user: str
