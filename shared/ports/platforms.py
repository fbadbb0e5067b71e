"""Chat platforms: their capabilities, and the operations that each adapter implements."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, get_args

from shared.domain.files import ChatFile, OutFile
from shared.domain.routes import Place
from shared.errors import Rejected
from shared.ports.inbound import BUTTON_ID, Announced, Answer, Event, Parsed, Pressed, WebhookRequest

MOST_BUTTONS = 25
"""Of one message: Slack and Discord show no more."""
Style = Literal["default", "primary", "danger"]


@dataclass(frozen=True)
class Capabilities:
    """The abilities of a platform in this deployment, so that use cases need not know which one it is.

    `limit` is the longest part, in the units of `length`. The flags say how a send that may have arrived is made safe:
    `key`: a send with the same key posts once; `readback`: `find_message` finds it. Without both the repeat is marked.
    `receipts`: the webhook reports each message that the platform accepted, with its key (`Receipt`), so that a doubtful
    send waits for the report before it is repeated, marked. `buttons`: messages show the buttons of a part, `most_buttons`
    of them; elsewhere they are left out. `edits`: messages can be edited. `tells_private`: a message says
    whether its chat is private; elsewhere `is_private` is asked. `file_limit` is the largest file in bytes that the bot can
    post, 0 if none; a picture over `picture_limit` is posted as a document. `caption_limit` is the longest text below a
    file, in the units of `length`.
    """

    threads: bool
    limit: int
    length: Callable[[str], int] = len
    key: bool = False
    readback: bool = False
    receipts: bool = False
    buttons: bool = False
    most_buttons: int = MOST_BUTTONS
    edits: bool = True
    tells_private: bool = True
    file_limit: int = 0
    picture_limit: int = 0
    caption_limit: int = 0


@dataclass(frozen=True)
class Button:
    """A button below a message. A press returns its `id`: 1 to 64 visible ASCII characters. A long label is cut.

    Raises ValueError or TypeError for an id or a style that the platforms would refuse, and for a blank label.
    """

    id: str
    label: str
    style: Style = "default"

    def __post_init__(self) -> None:
        if not BUTTON_ID.fullmatch(self.id) or not self.label.strip() or self.style not in get_args(Style):
            raise ValueError("not a button that every platform can show")


@dataclass(frozen=True)
class Part:
    """One rendered piece of a reply, within the platform's limit; plain data, so that the journal can hold it.

    Raises ValueError for more than MOST_BUTTONS buttons, or two with one id.
    """

    text: str
    extra: Mapping[str, Any] = field(default_factory=dict)
    buttons: tuple[Button, ...] = ()

    def __post_init__(self) -> None:
        if not len({button.id for button in self.buttons}) == len(self.buttons) <= MOST_BUTTONS:
            raise ValueError("too many buttons, or two with one id")


@dataclass(frozen=True)
class Finding:
    """The result of one check: `ok` is None where it could not be determined, `fix` says what to do."""

    name: str
    ok: bool | None
    detail: str
    fix: str | None = None
    platform: str | None = None


@dataclass(frozen=True)
class ResolvedChat:
    """A chat as the platform names it. `private`: only one person and the bot are in it."""

    place: Place
    private: bool = False


@dataclass(frozen=True)
class Pairing:
    """How a person gives a pairing code to the bot: `url` opens the private chat with it, `text` is what to send there.

    A platform whose links carry the code needs only the `url`. It is empty where there is no such link.
    """

    text: str
    url: str = ""


class Platform(Protocol):
    """A chat platform, made as `Class(settings, secrets)`. Calls raise only the `PlatformError`s of shared/errors.py.

    `capabilities` may depend on the deployment: buttons with a callback URL need `settings.public_url`, for example.
    `typing`, `acknowledge`, `link`, `pairing`, `is_me` and `diagnose` raise nothing. `verify`, `parse` and `render` call no
    network: what a webhook demands beyond reading it is done in `fetch`, `join`, `is_me` and
    `acknowledge`.
    """

    name: str
    capabilities: Capabilities

    def open_thread(self, home: Place, title: str, *, key: str, people: Sequence[str]) -> Place:
        """Open a new thread in `home`, with `people` (the platform's ids) in it. Raises ThreadRefused where it cannot."""

    def find_thread(self, home: Place, *, key: str) -> Place | None:  # noqa: ARG002  # some platforms have no way to know
        """The thread that an interrupted `open_thread` with this key made; None where there is none or no way to know."""
        return None

    def close_thread(self, place: Place) -> None:  # noqa: ARG002  # most platforms cannot
        """Close a thread that needs no more messages, where the platform can. Repeating it is safe."""
        return

    def send(self, place: Place, part: Part, *, key: str) -> str:
        """Post one part and return the platform's id of the message."""

    def send_file(self, place: Place, file: OutFile, caption: Part | None, *, key: str) -> str:  # noqa: ARG002
        """Post a file with a caption, a picture as a picture, and return the platform's id of the message.

        A caption over `caption_limit` is cut: the caller posts the rest. Buttons of a caption are not shown. Repeats are
        made safe as for `send`. Raises Rejected for a file that the platform refuses.
        """
        raise Rejected(f"{place.platform} takes no files from a bot")

    def fetch_file(self, place: Place, file: ChatFile, *, limit: int) -> Iterator[bytes]:  # noqa: ARG002
        """The bytes of a person's file, streamed. Closing the iterator ends the request.

        Only the platform's own addresses are asked, and its secrets are sent to no other. Raises Rejected, with a reason
        for the person, for a file that is gone, of another form than announced, or longer than announced or `limit`; and
        NotSent or RateLimited where another try may give it. Errors come from the call or while the bytes are read.
        """
        raise Rejected(f"files of {place.platform} cannot be read")

    def find_message(self, place: Place, *, key: str) -> str | None:  # noqa: ARG002  # likewise
        """The message that an ambiguous `send` with this key posted; None where there is none or no way to know."""
        return None

    def edit(self, place: Place, message_id: str, part: Part) -> None:
        """Replace text and buttons of a message that the bot posted; without buttons, remove them. Equal is a success."""

    def typing(self, place: Place) -> None:
        """Show that the agent is working. Best effort."""

    def acknowledge(self, pressed: Pressed, text: str) -> Answer | None:  # noqa: ARG002  # platforms without buttons inherit this
        """Show `text` to the person who pressed, and to no other. Best effort: a press can be answered for minutes only.

        Either calls the platform, or returns the response to the webhook that brought the press.
        """
        return None

    def render(self, markdown: str) -> list[Part]:
        """An agent's Markdown as parts: pure, deterministic, none over the limit, no code block left open."""

    def link(self, place: Place) -> str:
        """The URL that opens this place for a person. Less exact if the platform must be asked and does not answer."""

    def pairing(self, code: str) -> Pairing:
        """How to send this pairing code. May call the platform, for the name of the bot."""
        return Pairing(f"/link {code}")

    def verify(self, request: WebhookRequest, *, now: int) -> bool:
        """Whether the platform sent this request. Always False while no secret is set."""

    def parse(self, request: WebhookRequest) -> Parsed:
        """The events and the answer of a verified webhook. Never raises: what cannot be read is ignored."""

    def fetch(self, announced: Announced) -> Event | None:  # noqa: ARG002  # most webhooks hold the whole message
        """Read the message that a webhook only names; None if it needs no answer. Repeating it is safe."""
        return None

    def join(self, place: Place) -> None:  # noqa: ARG002  # platforms without invitations inherit this
        """Accept the invitation of a known person to this chat. May call the platform; repeating it is safe."""
        return

    def is_me(self, bot_name: str) -> bool:  # noqa: ARG002  # most platforms send a bot only what is meant for it
        """Whether a command that names this bot (`Inbound.addressee`) is for ours. May call the platform."""
        return True

    def is_private(self, chat: Place, *, person: str) -> bool:  # noqa: ARG002  # most webhooks tell it: `Inbound.private`
        """Whether only this person and the bot are in the chat, where a message does not tell. May call the platform."""
        return False

    def resolve_chat(self, chat: Place, *, people: Sequence[str]) -> ResolvedChat:
        """The chat that the platform understands by this id, for a user with the accounts `people` there.

        Several texts may lead to one chat, so compare only what this returns. May call the platform, posts nothing.
        Raises ForeignChat for a private chat in which none of `people` is, and Rejected, with what to do about it, for a
        text that is not an id of the platform, or where the bot cannot work.
        """

    def diagnose(self, home: Place | None, *, webhook_url: str, now: int, seconds: float) -> Sequence[Finding]:
        """Check the bot, its webhook and its rights at `home`, for about `seconds`. Changes nothing."""


class Platforms(Protocol):
    """The platforms of this deployment by name. An adapter is made on first use."""

    def get(self, name: str) -> Platform:
        """The adapter. Raises UnknownPlatform, PlatformNotSupported or PlatformNotConfigured."""

    def known(self) -> Mapping[str, bool]:
        """Every listed platform, and whether it is supported."""

    def is_configured(self, name: str) -> bool:
        """Whether its required secrets are set. Loads no SDK."""

    def lacks(self, name: str) -> Sequence[str]:
        """The required secrets that are not set, if others are set. Loads no SDK."""

    def has_threads(self, name: str) -> bool:
        """Whether it has threads at all. Loads no SDK. Raises UnknownPlatform."""

    def is_chat_id(self, name: str, chat: str) -> bool:
        """Whether this text has the form of a chat's id there. Loads no SDK; whether the chat exists is not checked."""

    def window(self, name: str) -> int | None:
        """The seconds after a person's last message in which the bot may write to them; None without such a limit."""

    def body_limit(self, name: str) -> int:
        """The largest webhook in bytes; the default for an unknown name, whose webhooks are refused anyway."""

    def drops_oversized(self, name: str) -> bool:
        """Whether a larger webhook is taken and dropped, because the platform would repeat a refused one for ever."""

    def webhook_of(self, path: str) -> str | None:
        """The name in the path of a webhook, `/webhooks/{name}` or one that a platform fixes; None for other paths."""
