"""Take in a file that a user's own agent sends while it works, and say what became of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from shared.domain.files import StoredFile, size_text
from shared.domain.offers import Offer
from shared.domain.question_text import as_code, pieces
from shared.domain.questions import Question, QuestionState
from shared.domain.sessions import Session
from shared.ports.platforms import Part, Platform
from shared.services import Services
from shared.store.outbox import OutPart
from shared.store.sends import journal_of
from shared.use_cases.access import platform_of
from shared.use_cases.deliver import REPEAT_MARK
from shared.use_cases.files.keep_file import is_there

_LEAST_ROOM = 20

Became = Literal["waiting", "ask", "sent", "rejected", "doubtful"]


@dataclass(frozen=True)
class Send:
    """A stored file to post, under a number that is new at this fence.

    `path` is where the user finds it on the machine. `asked` is the question that allowed it, if one was asked.
    """

    number: int
    file: str
    caption: str = ""
    path: str = ""
    asked: int | None = None


@dataclass(frozen=True)
class Sent:
    """`waiting`: not decided yet. `ask`: others read along, so the user has to allow it first."""

    number: int
    state: Became
    reason: str = ""
    is_new: bool = False


def send_file(services: Services, session: Session, offer: Offer, send: Send) -> Sent:
    """Put a file into the outbox once, as long as its turn is alive. Safe to repeat, and repeated until it is decided.

    Raises Conflict if the session has changed since it was read.
    """
    fence = session.turn.fence if session.turn else 0
    journal = journal_of(offer.id, fence, send.number)
    if known := services.store.outbox.journal(session.id, journal):
        return _became(send.number, known)
    allowed = _allowed_by(services, session, offer, send)
    if session.shared and allowed is None:
        return Sent(send.number, "ask")
    item = services.store.files.get(session.id, send.file)
    if item is None or not is_there(services, item):
        return Sent(send.number, "rejected", "the service does not have its bytes")
    parts = _parts(platform_of(services, offer.place), item.file, send)
    out = [
        OutPart(session.id, journal, number, offer.place, part, file=file, reason=reason)
        for number, (part, file, reason) in enumerate(parts)
    ]
    services.store.sends.enter(session, out, allowed=allowed, now=services.clock.now())
    return Sent(send.number, "waiting", is_new=True)


def _became(number: int, parts: Sequence[OutPart]) -> Sent:
    """The first part decides: it is the file, or says why there is none."""
    first = parts[0]
    if first.state in {"rejected", "doubtful"}:
        return Sent(number, "rejected" if first.state == "rejected" else "doubtful", first.reason)
    if first.state != "sent":
        return Sent(number, "waiting")
    return Sent(number, "rejected", first.reason) if first.reason else Sent(number, "sent")


def _allowed_by(services: Services, session: Session, offer: Offer, send: Send) -> Question | None:
    """The question of this turn that the user has answered so that it may be sent."""
    if send.asked is None or session.turn is None:
        return None
    question = services.store.questions.get(session.id, offer.id, session.turn.fence, send.asked)
    if question is None or question.state is not QuestionState.ANSWERED:
        return None
    allows = {option.id for option in question.options if option.kind == "allow_once"}
    return question if question.option in allows else None


def _parts(platform: Platform, file: StoredFile, send: Send) -> list[tuple[Part, StoredFile | None, str]]:
    """The file with as much of its caption as fits below it, then the rest; or where it is, if it is too large."""
    most = too_large(platform, file)
    if not most:
        caption, rest = captioned(platform, send.caption)
        return [(caption, file, ""), *((part, None, "") for part in rest)]
    where = f" It is on your machine: {as_code(send.path)}" if send.path else ""
    text = f"{as_code(file.name)} ({size_text(file.size)}) is not sent: {most}.{where}"
    told = "\n\n".join(filter(None, [send.caption, text]))
    reason = f"{most}; the chat says where it is"
    return [(part, None, reason) for part in platform.render(told)]


def too_large(platform: Platform, file: StoredFile) -> str:
    """Why a platform does not take a file of this size, as a clause; empty if it does."""
    limit = platform.capabilities.file_limit
    if file.size <= limit:
        return ""
    return f"at most {size_text(limit)} can be sent here" if limit else "files cannot be sent here"


def captioned(platform: Platform, text: str) -> tuple[Part, list[Part]]:
    """A text as a caption, with room for the mark of a repeat, and what does not fit as messages."""
    can = platform.capabilities
    text = text.strip()
    longest = room = can.caption_limit - can.length(REPEAT_MARK)
    while text and room >= _LEAST_ROOM:
        first = next(pieces(text, room, can.length))
        shown, rest = platform.render(first), text[len(first) :].strip()
        if len(shown) == 1 and can.length(shown[0].text) <= longest:
            return shown[0], list(platform.render(rest)) if rest else []
        room = room * 3 // 4  # the platform's own marks take room, too
    return Part(""), list(platform.render(text)) if text else []
