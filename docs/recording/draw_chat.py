"""Draws the thread: its name once it is open, messages as they come, who is typing, and what the person writes."""

from dataclasses import dataclass
from xml.etree.ElementTree import Element

from docs.recording.animation import Animation, Stop
from docs.recording.elements import add, add_text
from docs.recording.frames import Chat, Message
from docs.recording.lettering import broken, newest, width_of

WIDTH = 304.0
HEADER, COMPOSER = 52.0, 46.0
LOWER_LINE = HEADER / 2 + 14
SIZE, LINE_HEIGHT = 12.5, 16.5
_MARGIN, _INSIDE, _GAP, _ROUND = 12.0, 10.0, 9.0, 11.0
_WIDEST = 238.0
_DOTS_HEIGHT = 26.0
_NOBODY = "No thread yet."


@dataclass(frozen=True)
class _Bubble:
    """A message with its lines broken and its place in the strip of messages."""

    message: Message
    lines: tuple[str, ...]
    top: float

    @property
    def width(self) -> float:
        return max(width_of(line, SIZE) for line in self.lines) + 2 * _INSIDE

    @property
    def height(self) -> float:
        return len(self.lines) * LINE_HEIGHT + 2 * _INSIDE - 4

    @property
    def bottom(self) -> float:
        return self.top + self.height


def draw_chat(parent: Element, chat: Chat, animation: Animation, *, height: float, end: int) -> None:
    """All in coordinates of its own, from (0, 0) to (WIDTH, height)."""
    _draw_header(parent, chat, animation, end)
    empty = add(parent, "text", _NOBODY, x=WIDTH / 2, y=height / 2)
    empty.set("class", f"chat dim middle {animation.seen(0, chat.opened)}")
    bubbles = _bubbles(chat)
    window = add(parent, "g", clip_path="url(#talk)")
    room = height - HEADER - COMPOSER - _MARGIN
    strip = add(window, "g", class_=animation.placed(_scrolling(chat, bubbles, room), gliding=True))
    for bubble in bubbles:
        _draw_bubble(strip, bubble, animation, end)
    for typing in chat.typing:
        above = [bubble.bottom for bubble in bubbles if bubble.message.at < typing.start]
        _draw_dots(strip, max(above, default=HEADER + _MARGIN - _GAP) + _GAP, animation.seen(typing.start, typing.end))
    _draw_composer(parent, chat, animation, top=height - COMPOSER, end=end)


def _draw_header(parent: Element, chat: Chat, animation: Animation, end: int) -> None:
    add(parent, "circle", cx=30, cy=HEADER / 2, r=15, class_="avatar")
    add(parent, "path", d=f"M23 {HEADER / 2 + 0.5:g}l15 -6.5l-3 13.5l-4.6 -3.6l-2.4 2.5l-.4 -3.9z", class_="plane")
    before = add(parent, "text", chat.place, x=55, y=HEADER / 2 - 2)
    before.set("class", f"chat name {animation.seen(0, chat.opened)}")
    after = add(parent, "text", chat.title, x=55, y=HEADER / 2 - 2)
    after.set("class", f"chat name {animation.seen(chat.opened, end)}")
    add(parent, "text", "Telegram", x=55, y=LOWER_LINE, class_="chat small dim")


def _bubbles(chat: Chat) -> list[_Bubble]:
    bubbles: list[_Bubble] = []
    top = HEADER + _MARGIN
    for message in chat.messages:
        lines = broken(message.text, _WIDEST - 2 * _INSIDE, SIZE)
        bubbles.append(_Bubble(message, tuple(lines), top))
        top = bubbles[-1].bottom + _GAP
    return bubbles


def _scrolling(chat: Chat, bubbles: list[_Bubble], room: float) -> list[Stop]:
    """Up by as much as the newest message, or the dots of who is typing, would not fit."""
    wants = [(bubble.message.at, bubble.bottom) for bubble in bubbles]
    for typing in chat.typing:
        above = max(
            (bubble.bottom for bubble in bubbles if bubble.message.at < typing.start), default=HEADER + _MARGIN - _GAP
        )
        wants.append((typing.start, above + _GAP + _DOTS_HEIGHT))
    stops: list[Stop] = [(0, 0.0, 0.0)]
    for at, bottom in sorted(wants):
        if (y := min(stops[-1][2], HEADER + room - bottom)) != stops[-1][2]:
            stops.append((at, 0.0, y))
    return stops


def _draw_bubble(strip: Element, bubble: _Bubble, animation: Animation, end: int) -> None:
    mine = bubble.message.author == "person"
    left = WIDTH - _MARGIN - bubble.width if mine else _MARGIN
    group = add(strip, "g", class_=animation.arriving(bubble.message.at, end))
    add(
        group,
        "rect",
        x=left,
        y=bubble.top,
        width=bubble.width,
        height=bubble.height,
        rx=_ROUND,
        class_=bubble.message.author,
    )
    for number, line in enumerate(bubble.lines):
        if line:
            y = bubble.top + _INSIDE + 9.5 + number * LINE_HEIGHT
            add_text(group, line, x=left + _INSIDE, y=y, width=width_of(line, SIZE), class_="chat")


def _draw_dots(strip: Element, top: float, class_: str) -> None:
    group = add(strip, "g", class_=class_)
    add(group, "rect", x=_MARGIN, y=top, width=46, height=_DOTS_HEIGHT, rx=_ROUND, class_="agent")
    for number in range(3):
        add(group, "circle", cx=_MARGIN + 13 + 10 * number, cy=top + _DOTS_HEIGHT / 2, r=2.6, class_=f"dot d{number}")


def _draw_composer(parent: Element, chat: Chat, animation: Animation, *, top: float, end: int) -> None:
    add(parent, "line", x1=0, y1=top, x2=WIDTH, y2=top, class_="rule")
    middle = top + COMPOSER / 2
    add(parent, "circle", cx=WIDTH - 27, cy=middle, r=14, class_="send")
    add(parent, "path", d=f"M{WIDTH - 32:g} {middle - 5:g}l11 5l-11 5l2 -5z", class_="plane")
    quiet = [0, *(edge for draft in chat.drafts for edge in (draft.start, draft.end)), end]
    for start, stop in zip(quiet[::2], quiet[1::2], strict=True):
        if start < stop:
            hint = add(parent, "text", "Message", x=16, y=middle + 4)
            hint.set("class", f"chat dim {animation.seen(start, stop)}")
    for draft in chat.drafts:
        line = newest(draft.text, WIDTH - 72, SIZE)
        text = add_text(parent, line, x=16, y=middle + 4, width=width_of(line, SIZE))
        text.set("class", f"chat {animation.seen(draft.start, draft.end)}")
