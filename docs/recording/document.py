"""The whole picture: a film as one SVG that moves by CSS alone."""

from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element, indent, tostring

from docs.recording import draw_chat, draw_terminal
from docs.recording.animation import Animation
from docs.recording.elements import add
from docs.recording.frames import Film, Owner

_STYLE = Path(__file__).with_name("style.css")
_GAP, _CAPTION, _ROUND, _HALF = 14.0, 24.0, 9.0, 1.0
_WIDTH = draw_terminal.WIDTH + _GAP + draw_chat.WIDTH + 2 * _HALF
_HEIGHT = draw_terminal.HEIGHT
_LIGHTS = 3
_BADGE = "● session lives here"


def document(film: Film) -> str:
    """Well-formed, without scripts, without anything from elsewhere; the same film gives the same text."""
    animation = Animation(total=film.end, still=film.still)
    svg = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img", "aria-labelledby": "title desc"})
    svg.set("viewBox", f"0 0 {_WIDTH:g} {_HEIGHT + _CAPTION + 2 * _HALF:g}")
    add(svg, "title", film.title, id="title")
    add(svg, "desc", film.description, id="desc")
    style = add(svg, "style")
    _clips(svg)
    terminal = add(svg, "g", transform=f"translate({_HALF:g} {_HALF:g})")
    _draw_window(terminal, draw_terminal.WIDTH)
    for take in film.takes:
        draw_terminal.draw_terminal(terminal, take, animation)
    marks = _Marks(film, animation)
    marks.draw(terminal, "terminal", width=draw_terminal.WIDTH, baseline=draw_terminal.BAR / 2 + 4)
    chat = add(svg, "g", transform=f"translate({_HALF + draw_terminal.WIDTH + _GAP:g} {_HALF:g})")
    _draw_talk(chat)
    draw_chat.draw_chat(chat, film.chat, animation, height=_HEIGHT, end=film.end)
    marks.draw(chat, "chat", width=draw_chat.WIDTH, baseline=draw_chat.LOWER_LINE)
    add(svg, "text", film.caption, x=_HALF + 4, y=_HEIGHT + _CAPTION - 4, class_="chat caption")
    style.text = f"\n{_STYLE.read_text('utf-8')}{animation.css()}"
    indent(svg, space="")
    return tostring(svg, encoding="unicode") + "\n"


def _clips(svg: Element) -> None:
    bar, padding = draw_terminal.BAR, draw_terminal.PADDING - 3
    screen = add(add(svg, "clipPath", id="screen"), "rect", y=bar + padding, height=_HEIGHT - bar - padding)
    screen.set("width", f"{draw_terminal.WIDTH:g}")
    top, bottom = draw_chat.HEADER, draw_chat.COMPOSER
    talk = add(add(svg, "clipPath", id="talk"), "rect", y=top, height=_HEIGHT - top - bottom)
    talk.set("width", f"{draw_chat.WIDTH:g}")


def _draw_window(parent: Element, width: float) -> None:
    add(parent, "rect", width=width, height=_HEIGHT, rx=_ROUND, class_="window")
    add(parent, "path", d=_upper(width, draw_terminal.BAR), class_="bar")
    for number in range(_LIGHTS):
        add(parent, "circle", cx=18 + 18 * number, cy=draw_terminal.BAR / 2, r=5.5, class_="light")


def _draw_talk(parent: Element) -> None:
    add(parent, "rect", width=draw_chat.WIDTH, height=_HEIGHT, rx=_ROUND, class_="window")
    height = _HEIGHT - draw_chat.HEADER - draw_chat.COMPOSER
    add(parent, "rect", y=draw_chat.HEADER, width=draw_chat.WIDTH, height=height, class_="talk")
    add(parent, "path", d=_upper(draw_chat.WIDTH, draw_chat.HEADER), class_="bar")


def _upper(width: float, height: float) -> str:
    """An area with round upper corners."""
    r = f"{_ROUND:g}"
    corner = f"a{r} {r} 0 0 1 {r}"
    return f"M0 {height:g}V{r}{corner} -{r}H{width - _ROUND:g}{corner} {r}V{height:g}z"


@dataclass(frozen=True)
class _Marks:
    """The edges of the windows; the one where the session lives is marked, for as long as it does."""

    film: Film
    animation: Animation

    def draw(self, parent: Element, owner: Owner, *, width: float, baseline: float) -> None:
        add(parent, "rect", width=width, height=_HEIGHT, rx=_ROUND, class_="edge")
        ends = [at for at, _ in self.film.owners[1:]] + [self.film.end]
        for (start, who), end in zip(self.film.owners, ends, strict=True):
            if who == owner:
                seen = self.animation.seen(start, end)
                add(parent, "rect", width=width, height=_HEIGHT, rx=_ROUND, class_=f"live {seen}")
                add(parent, "text", _BADGE, x=width - 14, y=baseline, class_=f"chat badge {seen}")
