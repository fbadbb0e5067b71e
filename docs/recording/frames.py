"""What a film is made of: styled lines of a terminal, messages of a chat, and when each is seen."""

from dataclasses import dataclass
from typing import Literal

COLUMNS, ROWS = 76, 28
Author = Literal["agent", "person"]
Owner = Literal["terminal", "chat"]


@dataclass(frozen=True)
class Style:
    """Colours by their terminal names (`default`, `green`, `brightwhite`, …)."""

    colour: str = "default"
    background: str = "default"
    bold: bool = False
    italic: bool = False
    underlined: bool = False


@dataclass(frozen=True)
class Span:
    """Text in one style, from a column on."""

    column: int
    text: str
    style: Style = Style()


Line = tuple[Span, ...]


@dataclass(frozen=True)
class Frame:
    """What a terminal shows: its first line counted from the beginning of time, its lines, and the cursor if seen."""

    top: int
    lines: tuple[Line, ...]
    cursor: tuple[int, int] | None = None

    def says(self, words: str) -> bool:
        return any(words in span.text for line in self.lines for span in line)


@dataclass(frozen=True)
class Shot:
    """A frame and the millisecond of the film from which it is seen."""

    at: int
    frame: Frame


@dataclass(frozen=True)
class Take:
    """One terminal from its first shot to its end."""

    title: str
    shots: tuple[Shot, ...]
    end: int


@dataclass(frozen=True)
class Message:
    """Something said in the thread."""

    at: int
    author: Author
    text: str


@dataclass(frozen=True)
class Interval:
    """Something seen for a while; `text` where it has words."""

    start: int
    end: int
    text: str = ""


@dataclass(frozen=True)
class Chat:
    """The thread: when it opened, what was said, when the agent was typing, and what the person was writing."""

    place: str
    title: str
    opened: int
    messages: tuple[Message, ...] = ()
    typing: tuple[Interval, ...] = ()
    drafts: tuple[Interval, ...] = ()


@dataclass(frozen=True)
class Film:
    """Terminals one after the other, beside them the chat. `still` is the moment to show where nothing may move."""

    title: str
    description: str
    caption: str
    takes: tuple[Take, ...]
    chat: Chat
    owners: tuple[tuple[int, Owner], ...]
    still: int
    end: int
