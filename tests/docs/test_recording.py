"""The picture in the README: drawn from a tiny film made by hand, so that no service and no terminal is needed."""

import re
from pathlib import Path
from xml.etree.ElementTree import Element, fromstring

import pytest

from docs.recording.document import document
from docs.recording.emulator import Emulator
from docs.recording.frames import Chat, Film, Frame, Interval, Message, Shot, Span, Style, Take
from docs.recording.lettering import broken, newest, width_of
from docs.recording.pacing import KEY, PULSE, paced
from docs.recording.stable import StableIds, refuse_leaks
from docs.recording.terminal import Kept

SVG = "{http://www.w3.org/2000/svg}"
PICTURE = Path(__file__).resolve().parents[2] / "docs" / "handoff.svg"
TYPED = "if a < b && c > 'd': \"quoted\" </text><script>"
SAID = "<b>not bold</b> & so on"
FILM = Film(
    title="A <film>",
    description="One & only",
    caption="made by hand",
    takes=(
        Take(
            "first",
            (
                Shot(0, Frame(0, ((Span(0, "$ "),), ()), (0, 2))),
                Shot(500, Frame(0, ((Span(0, "$ "),), (Span(0, TYPED),)), (1, 0))),
                Shot(1000, Frame(0, ((Span(0, "$ "),), (Span(0, "over", Style("green", bold=True)),)), None)),
            ),
            end=1500,
        ),
        Take("second", (Shot(1500, Frame(1, ((Span(0, "█▀ ▄", Style("black", "brightwhite")),),), (1, 4))),), end=2000),
    ),
    chat=Chat("Forum", "Thread", opened=500, messages=(Message(750, "agent", SAID),), typing=(Interval(500, 750),)),
    owners=((0, "terminal"), (1000, "chat")),
    still=1200,
    end=2000,
)


@pytest.fixture(scope="module")
def picture() -> Element:
    return fromstring(document(FILM))  # noqa: S314  # our own text


def element_with(picture: Element, text: str) -> Element:
    """The innermost element that is animated and holds the text."""
    parents = {child: parent for parent in picture.iter() for child in parent}
    (element,) = (e for e in picture.iter(f"{SVG}text") if e.text == text)
    while not re.search(r"\bk\d+\b", element.get("class", "")):
        element = parents[element]
    return element


def seen(picture: Element, text: str) -> tuple[float, float]:
    """From when until when the text is seen, in milliseconds, as the style sheet has it."""
    name = re.findall(r"\bk\d+\b", element_with(picture, text).get("class", ""))[0]
    css = picture.findtext(f"{SVG}style") or ""
    (stops,) = re.findall(rf"@keyframes {name}\{{((?:[^{{}}]*\{{[^{{}}]*\}})*)\}}", css)
    shown = {float(at): "visible" in rule for at, rule in re.findall(r"([\d.]+)%\{([^}]*)\}", stops)}
    start = next(at for at, visible in shown.items() if visible)
    end = next((at for at, visible in shown.items() if at > start and not visible), 100.0)
    return start * FILM.end / 100, end * FILM.end / 100


def test_the_picture_is_named_and_described_for_those_who_do_not_see_it(picture: Element) -> None:
    assert (picture.findtext(f"{SVG}title"), picture.findtext(f"{SVG}desc")) == ("A <film>", "One & only")
    assert picture.get("aria-labelledby") == "title desc"


def test_what_was_typed_and_said_stays_text(picture: Element) -> None:
    texts = [element.text for element in picture.iter(f"{SVG}text")]
    assert TYPED in texts
    assert SAID in texts
    assert "</text><script>" not in document(FILM)


def test_nothing_runs_and_nothing_comes_from_elsewhere(picture: Element) -> None:
    assert {element.tag.removeprefix(SVG) for element in picture.iter()} <= {
        *("svg", "title", "desc", "style", "clipPath", "g", "rect", "circle", "line", "path", "text")
    }
    assert not re.search(r"href|@import|url\((?!#)|\son\w+=", document(FILM))


@pytest.mark.parametrize(("text", "start", "end"), [(TYPED, 500, 1000), ("over", 1000, 1500), ("$", 0, 1500)])
def test_a_line_is_seen_for_as_long_as_it_stood_there(picture: Element, text: str, start: int, end: int) -> None:
    assert seen(picture, text) == (start, end)


def test_all_moves_on_one_clock_of_the_films_length(picture: Element) -> None:
    clocks = re.findall(r"animation:([\d.]+s) \S+ infinite", picture.findtext(f"{SVG}style") or "")
    assert set(clocks) == {"2s"}


def test_where_nothing_may_move_the_still_is_shown(picture: Element) -> None:
    css = picture.findtext(f"{SVG}style") or ""
    names = {text: element_with(picture, text).get("class", "").split()[-1] for text in ("over", TYPED)}
    assert f".{names['over']}{{visibility:visible;" in css
    assert f".{names[TYPED]}{{visibility:hidden;" in css
    assert "prefers-reduced-motion" in css


def test_the_terminal_shows_colours_dim_text_and_what_was_erased_no_more() -> None:
    emulator = Emulator(columns=20, rows=2)
    emulator.feed("\x1b[2mwait\x1b[0m\r\x1b[K\x1b[1;32m✓\x1b[0m done\r\n\x1b[2m(later)\x1b[0m")
    frame = emulator.frame()
    assert frame.lines[0] == (Span(0, "✓", Style("green", bold=True)), Span(1, f"{' done':<19}"))
    assert frame.lines[1][0] == Span(0, "(later)", Style("brightblack"))
    assert frame.cursor == (1, 7)


def test_lines_that_scrolled_away_are_counted() -> None:
    emulator = Emulator(columns=10, rows=2)
    emulator.feed("one\r\ntwo\r\nthree")
    assert emulator.frame().top == 1


@pytest.mark.parametrize("glyphs", ["⠋", "⠋⠹⠸⠴⠦⠧⠇⠏⠋⠙⠹"])
def test_a_spinner_turns_equally_often_however_long_the_wait_was(glyphs: str) -> None:
    kept = [Kept(Frame(0, ((Span(0, f"{glyph} thinking, 0 s"),),)), "pulse") for glyph in glyphs]
    answer = Kept(Frame(0, ((Span(0, "agent:"),),)), "key", rest=1000)
    times = [time for time, _ in paced([*kept, answer])]
    assert times == [PULSE] * 8 + [KEY + 1000]


def test_other_signs_of_life_are_cut() -> None:
    assert not list(paced([Kept(Frame(0, ((Span(0, "  … 2 s"),),)), "pulse")]))


def test_random_ids_become_the_same_ones_each_time_even_where_a_line_broke() -> None:
    frames = []
    for random in ("3b1f" * 8, "9c0d" * 8):
        lines = ((Span(0, f"resume {random[:13]}"),), (Span(0, random[13:]),), (Span(0, f"go on {random[:12]}"),))
        frames.append(StableIds().frame(Frame(0, lines)))
    assert frames[0] == frames[1]
    whole, rest, beginning = (line[0].text.split()[-1] for line in frames[0].lines)
    assert (whole + rest)[:12] == beginning
    assert len(whole + rest) == 32


def test_details_of_the_machine_are_refused_without_repeating_them() -> None:
    with pytest.raises(ValueError, match="1 of this machine's details") as refused:
        refuse_leaks("<svg>sesame</svg>", ["sesame", "", "other"])
    assert "sesame" not in str(refused.value)


def test_messages_are_broken_into_lines_that_fit() -> None:
    lines = broken("several words and oneverylongwordwithoutanyspaceatall\n\nend", 90, 12)
    assert all(width_of(line, 12) <= 90 for line in lines)
    assert "".join("".join(lines).split()) == "severalwordsandoneverylongwordwithoutanyspaceatallend"
    assert "" in lines


def test_of_a_long_draft_the_newest_words_are_seen() -> None:
    assert newest("one two three", width_of("two three", 12), 12) == "two three"
    assert newest("short", 200, 12) == "short"


def test_the_picture_in_the_readme_is_small_and_whole() -> None:
    assert PICTURE.stat().st_size < 300 * 1024
    fromstring(PICTURE.read_text("utf-8"))  # noqa: S314  # see above
