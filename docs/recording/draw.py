"""Draw a film as one SVG that moves by CSS alone: each fragment is visible while its frames last."""

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

from docs.recording import story
from docs.recording.film import Bubble, Chat, Frame
from docs.recording.play import COLUMNS, ROWS, Shot

CELL, LINE = 7.5, 16.0
BAR, PAD, CHAT = 34, 15, 304
LEFT = COLUMNS * CELL + 2 * PAD
HEIGHT = BAR + ROWS * LINE + 2 * PAD - 6
X = LEFT + 14
HEADER, COMPOSER, BUBBLE_LINE, BUTTON = 52, 46, 16.5, 28
_HALVES = ((re.compile("[█▀]+"), 0.0), (re.compile("[█▄]+"), 0.5))
_NARROW, _WIDE = set("ijltfrI|'.,:;!()[]/- "), set("mwMW@%")


Picture = tuple[int, tuple[str, ...]]
"""How many milliseconds it lasts, and what is drawn."""


def draw(frames: list[Frame]) -> str:
    """The still, for viewers without animation, is the frame that lasts longest before the session returns."""
    still = max((frame for frame in frames if frame.chat.lives == "chat"), key=lambda frame: frame.shot.ms)
    size = f"-1 -1 {X + CHAT + 2:g} {HEIGHT + 26:g}"
    words = (story.TITLE, story.DESCRIPTION)
    return animate(_pictures(frames), frames.index(still), _background(), size=size, words=words)


def animate(pictures: list[Picture], still: int, background: str, *, size: str, words: tuple[str, str]) -> str:
    """An SVG that shows one picture after the other, again and again; `words` are its title and description.

    Viewers without animation see the picture with the number `still`.
    """
    total = sum(ms for ms, _ in pictures)
    still_at = sum(ms for ms, _ in pictures[:still])
    classes: dict[tuple[int, int], str] = {}
    body, css = [], []
    for start, end, fragment in _intervals(pictures):
        if (start, end) == (0, total):
            body.append(fragment)
            continue
        name = classes.setdefault((start, end), f"k{len(classes)}")
        body.append(f'<g class="{name}{" still" if start <= still_at < end else ""}">{fragment}</g>')
    for (start, end), name in classes.items():
        first = "0%{visibility:hidden}" if start else ""
        last = f"{100 * end / total:.3f}%{{visibility:hidden}}" if end < total else ""
        css.append(f"@keyframes {name}{{{first}{100 * start / total:.3f}%{{visibility:visible}}{last}}}")
        css.append(f".{name}{{visibility:hidden;animation:{name} {total / 1000:g}s step-end infinite}}")
    css.append(
        "@media (prefers-reduced-motion:reduce){g{animation:none!important}.still{visibility:visible!important}}"
    )
    style = Path(__file__).with_name("style.css").read_text("utf-8") + "\n".join(css)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title desc" viewBox="{size}">\n'
        f'<title id="title">{escape(words[0])}</title><desc id="desc">{escape(words[1])}</desc>\n'
    )
    return "\n".join([f"{head}<style>{style}</style>", background, *body, "</svg>\n"])


def intervals(frames: list[Frame]) -> Iterator[tuple[int, int, str]]:
    """Each fragment with the time from which and until which it is seen, in the order in which they appear."""
    return _intervals(_pictures(frames))


def _pictures(frames: list[Frame]) -> list[Picture]:
    return [(frame.shot.ms, tuple(fragments(frame))) for frame in frames]


def _intervals(pictures: list[Picture]) -> Iterator[tuple[int, int, str]]:
    open_since: dict[str, int] = {}
    closed: list[tuple[int, int, str]] = []
    now = 0
    for ms, drawn in pictures:
        seen = dict.fromkeys(drawn)
        ended = [fragment for fragment in open_since if fragment not in seen]
        closed += [(open_since.pop(fragment), now, fragment) for fragment in ended]
        for fragment in seen:
            open_since.setdefault(fragment, now)
        now += ms
    closed += [(start, now, fragment) for fragment, start in open_since.items()]
    return iter(sorted(closed, key=lambda entry: entry[0]))


def fragments(frame: Frame) -> Iterator[str]:
    yield text_at(LEFT / 2, BAR / 2 + 4.5, frame.terminal, "title")
    yield from terminal(frame.shot)
    yield from _chat(frame.chat)
    x, width, y = (0.0, LEFT, BAR / 2 + 4) if frame.chat.lives == "terminal" else (X, CHAT, HEADER / 2 + 14)
    yield f'<rect x="{x:g}" width="{width:g}" height="{HEIGHT:g}" rx="9" class="live"/>' + text_at(
        x + width - 14, y, "● session lives here", "chat badge"
    )


def terminal(shot: Shot) -> Iterator[str]:
    """The content of the terminal, below its bar."""
    for row, line in enumerate(shot.lines):
        y = BAR + PAD - 3 + row * LINE
        for column, text, css, back in line:
            x = PAD + column * CELL
            if back:
                yield f'<rect x="{x:g}" y="{y - 1:g}" width="{len(text) * CELL:g}" height="{LINE + 1:g}" class="{back}"/>'
            if set(text) <= set("█▀▄ "):
                yield _blocks(x, y, text, css)
                continue
            words = text.strip()
            yield text_at(x + text.index(words) * CELL, y + 12, words, css, width=len(words) * CELL)
    row, column = shot.cursor
    x, y = PAD + column * CELL, BAR + PAD - 2 + row * LINE
    yield f'<rect x="{x:g}" y="{y:g}" width="{CELL}" height="14" class="cursor"/>'


def _blocks(x: float, y: float, text: str, css: str) -> str:
    """Block characters as areas without seams, whatever the reader's font."""
    areas = [
        f"M{x + run.start() * CELL:g} {y + half * LINE - 0.5:g}h{len(run[0]) * CELL:g}v8.5h-{len(run[0]) * CELL:g}z"
        for pattern, half in _HALVES
        for run in pattern.finditer(text)
    ]
    return f'<path d="{"".join(areas)}" class="{css}"/>'


def _chat(chat: Chat) -> Iterator[str]:
    yield text_at(X + 55, HEADER / 2 - 2, chat.thread or "Team", "chat name")
    if not chat.thread:
        yield text_at(X + CHAT / 2, HEIGHT / 2, "No thread yet.", "chat dim middle")
    bubbles = [_bubble(message) for message in chat.messages]
    if chat.typing:
        dots = "".join(f'<circle cx="{25 + 10 * n}" cy="13" r="2.6" class="dot d{n}"/>' for n in range(3))
        bubbles.append((26, f'<rect x="12" width="46" height="26" rx="11" class="agent"/>{dots}'))
    room = HEIGHT - HEADER - COMPOSER - 12
    while sum(height + 9 for height, _ in bubbles) > room:
        bubbles.pop(0)
    y = HEADER + 12.0
    for height, drawn in bubbles:
        yield f'<g transform="translate({X:g} {y:g})">{drawn}</g>'
        y += height + 9
    draft = textwrap.wrap(chat.draft, 36)[-1:]
    yield text_at(X + 16, HEIGHT - COMPOSER / 2 + 4, draft[0] if draft else "Message", "chat" if draft else "chat dim")


def _bubble(message: Bubble) -> tuple[float, str]:
    """Height and drawing, from (0, 0) on."""
    lines = [line for paragraph in message.text.split("\n") for line in textwrap.wrap(paragraph, 36) or [""]]
    width, height = max(map(_width, lines)) + 20, len(lines) * BUBBLE_LINE + 16
    left = CHAT - 12 - width if message.is_person else 12
    css = "person" if message.is_person else "agent"
    drawn = f'<rect x="{left:g}" width="{width:g}" height="{height:g}" rx="11" class="{css}"/>'
    for number, line in enumerate(lines):
        drawn += text_at(left + 10, 19.5 + number * BUBBLE_LINE, line, "chat", width=_width(line)) if line else ""
    if not message.buttons:
        return height, drawn
    wide = (CHAT - 24 - 6 * (len(message.buttons) - 1)) / len(message.buttons)
    for number, label in enumerate(message.buttons):
        x, look = 12 + number * (wide + 6), "pressed" if label == message.pressed else "button"
        drawn += f'<rect x="{x:g}" y="{height + 5:g}" width="{wide:g}" height="{BUTTON}" rx="8" class="{look}"/>'
        drawn += text_at(x + wide / 2, height + 5 + BUTTON / 2 + 4.5, label, "chat middle")
    return height + 5 + BUTTON, drawn


def _width(text: str) -> float:
    """The width in a usual sans-serif font of 12.5 px; the text is then stretched to just that."""
    return round(sum(3.8 if c in _NARROW else 10.4 if c in _WIDE else 7.0 for c in text), 1)


def text_at(x: float, y: float, text: str, css: str, width: float | None = None) -> str:
    fitted = f' textLength="{width:g}" lengthAdjust="spacingAndGlyphs"' if width else ""
    return f'<text x="{x:g}" y="{y:g}"{fitted} class="{css}">{escape(text)}</text>'


def _background() -> str:
    """Windows, bars and what else never changes."""
    middle = HEIGHT - COMPOSER / 2
    talk = HEIGHT - HEADER - COMPOSER
    return (
        window(LEFT, HEIGHT) + f'<rect x="{X:g}" width="{CHAT}" height="{HEIGHT:g}" rx="9" class="window"/>'
        f'<rect x="{X:g}" y="{HEADER}" width="{CHAT}" height="{talk:g}" class="talk"/>'
        f'<path d="{upper(X, CHAT, HEADER)}" class="bar"/>'
        f'<circle cx="{X + 30:g}" cy="{HEADER / 2:g}" r="15" class="avatar"/>'
        f'<path d="M{X + 23:g} {HEADER / 2 + 0.5:g}l15 -6.5l-3 13.5l-4.6 -3.6l-2.4 2.5l-.4 -3.9z" class="plane"/>'
        + text_at(X + 55, HEADER / 2 + 14, "Telegram", "chat small dim")
        + f'<circle cx="{X + CHAT - 27:g}" cy="{middle:g}" r="14" class="avatar"/>'
        f'<path d="M{X + CHAT - 32:g} {middle - 5:g}l11 5l-11 5l2 -5z" class="plane"/>'
        f'<rect width="{LEFT:g}" height="{HEIGHT:g}" rx="9" class="edge"/>'
        f'<rect x="{X:g}" width="{CHAT}" height="{HEIGHT:g}" rx="9" class="edge"/>'
        + text_at(4, HEIGHT + 20, story.CAPTION, "chat caption")
    )


def window(width: float, height: float) -> str:
    """An empty terminal."""
    lights = "".join(f'<circle cx="{18 + 18 * n}" cy="{BAR / 2:g}" r="5.5" class="light"/>' for n in range(3))
    return (
        f'<rect width="{width:g}" height="{height:g}" rx="9" class="window"/>'
        f'<path d="{upper(0, width, BAR)}" class="bar"/>{lights}'
    )


def upper(x: float, width: float, height: float) -> str:
    """An area with round upper corners."""
    return f"M{x:g} {height:g}V9a9 9 0 0 1 9 -9H{x + width - 9:g}a9 9 0 0 1 9 9V{height:g}z"
