"""Take in what a chat platform posts: verify, write down once, wake a turn. Never runs the agent."""

import logging

from shared.domain.commands import is_order, parse_command
from shared.errors import PlatformError, Rejected, Unauthenticated
from shared.ports.inbound import Announced, Answer, Event, Heard, Inbound, Invited, Pressed, Receipt, WebhookRequest
from shared.ports.platforms import Platform
from shared.ports.queue import InboxEvent
from shared.services import Services
from shared.store.inbox import STOPPED, InboxRow
from shared.use_cases.access import session_at
from shared.use_cases.chat.pair import pair
from shared.use_cases.chat.tell_unreadable import readable_files, unreadable_of
from shared.use_cases.offers import wake_place
from shared.use_cases.presses import press

log = logging.getLogger(__name__)
RECEIVED = Answer({"ok": True})
AT_ONCE = frozenset(
    {
        "stop",
        "status",
        "help",
        "start",
        "cloud",
        "machine",
        "approve",
        "deny",
        "answer",
        "skip",
        "usage",
        "budget",
        "title",
        "link",
    }
)
"""Commands that wait for nothing that was said before them: they have a line of their own."""
ALONE = frozenset({"handoff"})
"""Commands that last for a while, beside those that ask a machine: each has a line of its own, and nothing waits behind it."""


def receive_message(services: Services, platform_name: str, request: WebhookRequest) -> Answer:
    """Returns the answer once all messages are durable. Raises Unauthenticated, or a refusal for an unknown platform.

    Redelivery is harmless: the row's key is the platform's message id, and a row that is done wakes no turn.
    """
    platform = services.platforms.get(platform_name)
    now = services.clock.now()
    if not platform.verify(request, now=now):
        raise Unauthenticated
    parsed = platform.parse(request)
    if parsed.ignored:
        log.info("%s: ignored (%s)", platform_name, parsed.ignored)
    answers = [_handle(services, platform, event, now) for event in parsed.events]
    return next(filter(None, answers), None) or parsed.answer or RECEIVED


def _handle(services: Services, platform: Platform, event: Event, now: int) -> Answer | None:
    """Returns the platform's own form of answer to a press, if it has one."""
    match event:
        case Receipt():
            services.store.outbox.reported(event.key, event.place, event.message_id)
        case Announced():
            fetched = _fetch(services, platform, event, now)
            if fetched is not None and not isinstance(fetched, Announced):
                return _handle(services, platform, fetched, now)
        case _:
            return _handle_person(services, platform, event, now)
    return None


def _handle_person(
    services: Services, platform: Platform, event: Inbound | Invited | Pressed | Heard, now: int
) -> Answer | None:
    """Handle an event that a person caused, if the person is known here."""
    user_id = services.store.accounts.user_of(event.place.platform, event.sender)
    if isinstance(event, Inbound):
        event, user_id = pair(services, platform, event, user_id)
    if isinstance(event, Invited):
        _invited(services, platform, event, user_id, now)
    elif user_id is None:
        log.info("%s: ignored, %s is not allowed here", event.place.platform, event.sender)
    elif isinstance(event, Heard):
        services.store.accounts.heard(event.place.platform, event.sender, min(event.at, now))
    elif isinstance(event, Pressed):
        return platform.acknowledge(event, press(services, user_id, event))
    elif event.addressee is not None and not platform.is_me(event.addressee):
        log.info("%s: ignored, meant for another bot", event.place.platform)
    else:
        _take_in(services, event, user_id, now)
    return None


def _is_pairing(services: Services, platform: Platform, now: int) -> bool:
    """A person who is not known yet must be able to send a code: then invitations and announced messages are looked at."""
    return services.store.links.is_pairing(platform.name, now=now)


def _fetch(services: Services, platform: Platform, announced: Announced, now: int) -> Event | None:
    """Read a message of a person who may be known. Raises PlatformErrors after which the platform announces it again."""
    name, sender = announced.place.platform, announced.sender
    is_stranger = sender is not None and services.store.accounts.user_of(name, sender) is None
    if is_stranger and not _is_pairing(services, platform, now):
        log.info("%s: ignored, %s is not allowed here", name, sender)
        return None
    try:
        return platform.fetch(announced)
    except Rejected as error:
        log.warning("%s: a message could not be read: %s", name, error)
        return None


def _invited(services: Services, platform: Platform, invited: Invited, user_id: str | None, now: int) -> None:
    """A failure is only logged: the person can invite again, and failing the webhook would hold back later events."""
    if user_id is None and not _is_pairing(services, platform, now):
        log.info("%s: ignored, %s is not allowed here", platform.name, invited.sender)
    elif invited.addressee is not None and not platform.is_me(invited.addressee):
        log.info("%s: ignored, meant for another bot", platform.name)
    else:
        try:
            platform.join(invited.place)
        except PlatformError as error:
            log.warning("%s: an invitation could not be accepted: %s", platform.name, error)


def _take_in(services: Services, inbound: Inbound, user_id: str, now: int) -> None:
    place, command = inbound.place, parse_command(inbound.text)
    if command and command[0] == "stop":
        _stop(services, inbound, user_id)
    files = readable_files(services, inbound)
    is_queued = command is not None and command[0] == "queue" and bool(command[1])
    row = InboxRow(
        place,
        inbound.event_id,
        inbound.sender,
        command[1] if is_queued and command else inbound.text,
        now,
        user_id,
        private=inbound.private,
        written_at=inbound.written_at,
        forwarded=inbound.forwarded,
        attachments=unreadable_of(inbound, files),
        album=inbound.album,
        queued=is_queued,
        files=files,
    )
    if not services.store.inbox.put(row):
        known = services.store.inbox.get(place, inbound.event_id)
        if known is not None and known.done_by is not None:
            return
    services.queue.send(
        InboxEvent(place, inbound.event_id),
        dedupe=f"said {place.route} {inbound.event_id}",
        line=_line(inbound, command) if command and not is_queued else None,
    )


def _line(inbound: Inbound, command: tuple[str, str]) -> str | None:
    """The line in which a command runs; None: that of the place."""
    name = command[0]
    if name in ALONE or is_order(command):
        return f"{name} {inbound.place.route} {inbound.event_id}"
    return f"command {inbound.place.route}" if name in AT_ONCE else None


def _stop(services: Services, inbound: Inbound, user_id: str) -> None:
    """Close what was said before `/stop`, then end the turn that answers any of it. A kickoff is not stopped.

    A late copy of `/stop` stops nothing that was said after it. In a shared thread the owner's stops guests too, and a
    guest's does nothing: their messages may be part of a turn. Orders to a machine are no part of one, and end soon.
    """
    place, event_id = inbound.place, inbound.event_id
    here = session_at(services, place)
    if here is not None and here.user_id != user_id:
        return
    stopped = [
        row
        for row in services.store.inbox.new(place, limit=100)
        if row.event_id < event_id and (here is not None or row.user_id == user_id) and not is_order(row.command)
    ]
    services.store.inbox.close(stopped, by=STOPPED)
    session_id = services.store.sessions.at(place)  # again: a turn may have been offered for them
    session = services.store.sessions.get(session_id) if session_id else None
    if session is None or session.turn is None or session.user_id != user_id:
        return
    offer = services.store.turns.get(session.id, session.turn.id)
    if offer is None or offer.place != place or not any(row < event_id for row in offer.rows):
        return
    if services.store.turns.end(session, now=services.clock.now()):
        log.info("session %s: its turn was stopped", session.id)
        wake_place(services, place, session.id, why=f"stopped {offer.id}")
