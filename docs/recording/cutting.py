"""Cuts what was played into a film: the thread's part is set beside the lines of the terminal that tell of it."""

from collections.abc import Iterable

from docs.recording import story
from docs.recording.acting import Played
from docs.recording.frames import Author, Chat, Film, Frame, Interval, Message, Shot, Take
from docs.recording.pacing import paced
from docs.recording.stable import StableIds
from docs.recording.terminal import Kept

LOOK_AT_LINK = 2200
WRITE_WORD, SEND = 170, 420
NOTICED, ANSWERING, READ_ANSWER = 400, 1300, 3200
TOLD, LAST_LOOK = 900, 5200
AUTHORS: tuple[Author, ...] = ("agent", "person", "agent", "agent")


def cut(played: Played, *, forum: str) -> Film:
    """Times are from the beginning of the film."""
    ids = StableIds()
    messages = [ids.text(message["text"]) for message in played.thread["messages"]]
    leaving = _shots(0, played.first, ids)
    written = leaving.end + LOOK_AT_LINK
    drafts = _drafts(written, messages[1])
    sent = drafts[-1].end
    answered = sent + NOTICED + ANSWERING
    left = answered + READ_ANSWER
    coming = _shots(left, played.second, ids)
    back = coming.moment("is back in the terminal")
    end = max(coming.end, back + TOLD) + LAST_LOOK
    opened, moved = leaving.moment("thread opened"), leaving.moment("session moved")
    asked, confirmed = leaving.moment("agent asked"), leaving.moment("agent confirmed")
    at = (confirmed, sent, answered, back + TOLD)
    said = zip(at, AUTHORS, messages, strict=True)
    return Film(
        title=story.FILM_TITLE,
        description=story.DESCRIPTION,
        caption=story.CAPTION,
        takes=(
            Take(story.FIRST_TERMINAL, tuple(leaving.shots), left),
            Take(story.SECOND_TERMINAL, tuple(coming.shots), end),
        ),
        chat=Chat(
            place=forum,
            title=played.thread["title"],
            opened=opened,
            messages=tuple(Message(when, who, text) for when, who, text in said),
            typing=(Interval(asked, confirmed), Interval(sent + NOTICED, answered))[: played.typing_shown],
            drafts=tuple(drafts),
        ),
        owners=((0, "terminal"), (moved, "chat"), (back, "terminal")),
        still=left - 1,
        end=end,
    )


class _Shots:
    """The shots of one terminal, and when the last of them is over."""

    def __init__(self, start: int, frames: Iterable[tuple[int, Frame]]) -> None:
        self.shots: list[Shot] = []
        self.end = start
        for lasts, frame in frames:
            self.shots.append(Shot(self.end, frame))
            self.end += lasts

    def moment(self, words: str) -> int:
        """When these words are first seen."""
        return next(shot.at for shot in self.shots if shot.frame.says(words))


def _shots(start: int, kept: list[Kept], ids: StableIds) -> _Shots:
    return _Shots(start, ((lasts, ids.frame(frame)) for lasts, frame in paced(kept)))


def _drafts(start: int, text: str) -> list[Interval]:
    """The person's message as it is written, word by word."""
    words = text.split()
    drafts = [
        Interval(start + WRITE_WORD * number, start + WRITE_WORD * (number + 1), " ".join(words[: number + 1]))
        for number in range(len(words))
    ]
    last = drafts[-1]
    return [*drafts[:-1], Interval(last.start, last.end + SEND, last.text)]
