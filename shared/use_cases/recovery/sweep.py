"""Runs each minute: expired leases, deadlines, turns that do not start or are not settled, untold news, dead letters.

Safe to run concurrently: every write checks on the item what the index said, so one of two sweeps wins.
"""

import logging
from collections.abc import Callable

from shared.errors import Busy, Conflict, DataFileError
from shared.ports.queue import DeadTurn, InboxEvent, Kickoff, Notice, Ready, Show, WakeUp
from shared.services import Services
from shared.store.inbox import DEAD, InboxRow
from shared.use_cases.chat.locate_session import Found, Located, NotAddressed, locate_session
from shared.use_cases.deliver import is_told
from shared.use_cases.files.remove_files import check_file
from shared.use_cases.people.tell_chats import tell_linked
from shared.use_cases.recovery.abandoned_handoffs import check_handoff
from shared.use_cases.recovery.unsettled_turns import check_offer

log = logging.getLogger(__name__)
LIMIT = 200
DEAD_LIMIT = 50


def sweep(services: Services) -> int:
    """Look at everything that is due, at most `LIMIT` handoffs and turns and `DEAD_LIMIT` dead letters; returns how many."""
    now = services.clock.now()
    handoffs = services.store.handoffs.due(now=now, limit=LIMIT)
    for handoff in handoffs:
        _guarded(f"handoff {handoff.id}", lambda: check_handoff(services, handoff))  # noqa: B023  # called at once
    offers = services.store.turns.due(now=now, limit=LIMIT)
    for offer in offers:
        _guarded(f"session {offer.session_id}", lambda: check_offer(services, offer))  # noqa: B023  # likewise
    untold = services.store.links.untold()
    for news in untold:
        _guarded(f"link {news.id}", lambda: tell_linked(services, news))  # noqa: B023  # likewise
    files = services.store.files.due(now=now, limit=LIMIT)
    for file in files:
        _guarded(f"file of session {file.session_id}", lambda: check_file(services, file))  # noqa: B023  # likewise
    return len(files) + len(handoffs) + len(offers) + len(untold) + _handle_dead_letters(services)


def _guarded(name: str, check: Callable[[], None]) -> None:
    """One broken item must not block the others. Raises DataFileError: no other item could be written either."""
    try:
        check()
    except DataFileError:
        raise
    except Conflict:
        log.info("%s: left to the next sweep", name)
    except Exception:
        log.exception("%s: left to the next sweep", name)


def _handle_dead_letters(services: Services) -> int:
    """Committed turn: deliver again. Unanswered message: tell the user. Wake-ups are sent again by what is due."""
    answered = 0
    while answered < DEAD_LIMIT and (letters := services.dead_turns.receive(limit=10)):
        for dead in letters:
            answered += 1
            try:
                _handle_dead(services, dead)
            except DataFileError:
                raise
            except Exception:  # it becomes visible again, for the next sweep
                log.exception("a dead letter is left to the next sweep")
                continue
            services.dead_turns.delete(dead)
    return answered


def _handle_dead(services: Services, dead: DeadTurn) -> None:
    match dead.message:
        case InboxEvent(event_id=event_id) | Ready(event_id=event_id):
            _handle_dead_event(services, dead, event_id)
        case Notice():
            log.info("a notice could not be posted and is dropped")
        case Kickoff() | WakeUp() | Show():
            log.info("a wake-up is dropped: what it was sent for is due for the sweep")


def _handle_dead_event(services: Services, dead: DeadTurn, event_id: str) -> None:
    place = dead.message.place
    row = services.store.inbox.get(place, event_id)
    if row is None:
        return
    line = f"again {place.route} {event_id}"  # what waits in the place's own line must not wait behind a dead letter
    if row.done_by is not None or is_told(services, row):  # it only waits for a delivery, or for the end of a handoff
        services.queue.send(dead.message, dedupe=f"dead {dead.handle[-64:]}", line=line)
        return
    located, is_command = _located(services, row), row.command is not None
    if isinstance(located, Found) and located.session.turn is not None and not is_command:
        return  # the end of that turn looks at the inbox
    if not isinstance(located, NotAddressed):
        text = "I could not answer your last message: every attempt failed. Please send it again."
        # The notice goes first: if the sweep dies here it is sent again (once, by its key), but never lost.
        notice = Notice(place, f"dead-{event_id}", text)
        services.queue.send(notice, dedupe=f"dead {place.route} {event_id}", line=line)
    services.store.inbox.close([row], by=DEAD)
    if is_command or isinstance(dead.message, Ready):  # messages may wait behind it
        services.queue.send(dead.message, dedupe=f"dead {dead.handle[-64:]}", line=line)


def _located(services: Services, row: InboxRow) -> Located:
    """Where a message belongs. At a place where the sender has no session and no home nothing is written.

    No platform is asked: one that hangs would hold up what the sweep does for all others.
    """
    try:
        return locate_session(services, row, asks_platform=False)
    except Busy:
        return NotAddressed()
