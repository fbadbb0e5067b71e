"""Deliver what the outbox holds: each part once, in order, across crashes and rate limits."""

import contextlib
import logging
from collections.abc import Sequence
from dataclasses import replace

from shared.backoff import backoff
from shared.domain.files import OutFile, StoredFile
from shared.domain.offers import Offer
from shared.domain.routes import Place, notices_at
from shared.errors import (
    Ambiguous,
    Busy,
    FileMissing,
    NewerVersion,
    NotSent,
    NotYet,
    PlaceGone,
    PlatformError,
    RateLimited,
    Rejected,
)
from shared.ports.platforms import Part, Platform
from shared.services import Services
from shared.store.inbox import InboxRow
from shared.store.outbox import OutPart
from shared.use_cases.access import platform_of
from shared.use_cases.retry import on_conflict

log = logging.getLogger(__name__)
SEND_LIMIT = 30_000
"""Milliseconds that one sender may take, or the turn lease if that is shorter; adapters time out before it."""
FILE_LIMIT = 55_000
"""The same for a file: less than a function has."""
FIRST_PAUSE = 5.0
LONGEST_PAUSE = 180.0
"""Seconds between two deliveries to a platform that is down: a long outage must cost few runs, a short one little time."""
TRIES = 3
REPEATING = "↻ …"
"""Placeholder that is sent before a repeated text; if this send is ambiguous too, no second copy of the text exists."""
_BEGUN = "↻"
"""In place of a placeholder: the repeat of a file was begun."""
MAX_PARTS = 60
REPEAT_MARK = "\n\n↻ Sent again: the first copy may have arrived too."


def deliver(services: Services, session_id: str, turn_id: str, *, until: int | None = None) -> None:
    """Send every part of a turn that is not sent yet. Safe to repeat.

    Raises NotYet to be called again later (rate limit, platform down, another sender at work, no time left: no part is
    begun after `until`), and Rejected if the platform refuses for good.
    """
    for part in services.store.outbox.journal(session_id, turn_id):
        if part.state == "rejected":
            raise Rejected(f"{part.place.platform} refused it earlier")
        if part.state == "unknown":
            raise NewerVersion(f"part {part.key}")
        if part.state not in {"sent", "doubtful"} and not part.place.is_cli:
            if until is not None and services.clock.now() >= until:
                raise NotYet(0)
            _deliver_part(services, platform_of(services, part.place), part)


def deliver_reply(services: Services, offer: Offer, *, until: int) -> None:
    """Deliver the reply of a turn that is over. If its thread is gone, tell the user in the chat that held it."""
    session_id, place = offer.session_id, offer.place
    try:
        deliver(services, session_id, offer.journal, until=until)
    except PlaceGone:
        log.info("session %s: its thread is gone; the reply is in the transcript", session_id)
        # Where a thread is a separate channel, its place names no parent chat: use the user's home instead.
        home = place.home if place.thread else services.store.accounts.home(offer.user_id, place.platform)
        if home is not None and home != place:
            notice = f"A thread of yours is gone. Its session is saved: send `/resume {session_id}` to bring it here."
            with contextlib.suppress(Rejected):
                say(services, home, notice, key=f"gone-{offer.id}")
    except Rejected as rejected:
        log.info("session %s: a reply was rejected (%s); it is in the transcript", session_id, rejected)


def deliver_files(services: Services, offer: Offer, *, until: int) -> None:
    """Post the files that the agent of a turn has sent; one that the platform refuses holds up no other. Raises NotYet."""
    for journal in dict.fromkeys(part.turn_id for part in services.store.sends.of(offer.session_id, offer.id)):
        with contextlib.suppress(Rejected):
            deliver(services, offer.session_id, journal, until=until)


def withdraw_files(services: Services, offer: Offer) -> None:
    """Those that no sender has begun are not posted any more: the turn has ended without an answer."""
    for part in services.store.sends.of(offer.session_id, offer.id):
        services.store.outbox.withdrawn(part)


def deliver_done_row(services: Services, row: InboxRow, *, until: int) -> None:
    """Finish the delivery of the turn that has answered a row, if there is one."""
    session_id, _, turn_id = (row.done_by or "").partition("/")
    if turn_id:
        session = services.store.sessions.get(
            session_id
        )  # its user, not a guest who wrote, gets the notice of a lost thread
        owner = session.user_id if session else row.user_id
        deliver_reply(services, Offer(turn_id, session_id, owner, row.place, 0, row.received_at), until=until)


def say(services: Services, place: Place, markdown: str, *, key: str) -> None:
    """Post a text of the service at a place, once per `key`, through the outbox. Raises as `deliver` does.

    Terminals only poll the transcript, so theirs is appended to it.
    """
    if place.is_cli:
        _append_notice(services, place.chat, markdown, key)
        return
    owner = notices_at(place)
    services.store.outbox.post(parts_for(services, owner, key, place, markdown), now=services.clock.now())
    deliver(services, owner, key)


def _append_notice(services: Services, session_id: str, text: str, key: str) -> None:
    """Append a notice to the transcript of a session that lives in its terminal. Raises Busy while it has a turn."""
    notice = {"role": "assistant", "content": text, "id": key}

    def append() -> None:
        session = services.store.sessions.get(session_id)
        if session is None or not session.owner.is_cli:
            return
        now = services.clock.now()
        if session.turn is not None:
            raise Busy(services.settings.turn_lease / 1000)  # its commit would fail on a longer transcript
        last = services.store.transcripts.load(session_id, after=max(0, session.message_count - 1))
        if notice not in last:
            services.store.transcripts.append(session, [notice], now=now)

    on_conflict(append)


def answer_with_notice(services: Services, row: InboxRow, notice: str, *, key: str = "told") -> None:
    """Answer a row with a notice of the service; one that the platform rejects is dropped. Raises NotYet."""
    try:
        say(services, row.place, notice, key=f"{key}-{row.event_id}")
    except Rejected:
        log.info("a notice on %s was rejected", row.place.platform)
        _tell_refused_file(services, row, f"{key}-{row.event_id}")


def _tell_refused_file(services: Services, row: InboxRow, journal: str) -> None:
    parts = services.store.outbox.journal(notices_at(row.place), journal)
    for reason in (part.reason for part in parts if part.state == "rejected" and part.reason):
        with contextlib.suppress(Rejected):
            say(services, row.place, f"The file was not sent: {reason}.", key=f"file-{journal}")


def is_told(services: Services, row: InboxRow) -> bool:
    """Whether a notice answers the row, posted or not: the journal keeps the first one."""
    return bool(services.store.outbox.journal(notices_at(row.place), f"told-{row.event_id}"))


def parts_for(services: Services, session_id: str, turn_id: str, place: Place, markdown: str) -> list[OutPart]:
    """The outbox parts of a text, rendered for its place; a terminal gets none, because it reads the transcript.

    A commit has a limited number of writes, so a very long reply ends with a pointer to the rest.
    """
    if place.is_cli:
        return []
    platform = platform_of(services, place)
    rendered: Sequence[Part] = platform.render(markdown)
    if len(rendered) > MAX_PARTS:
        rendered = [
            *rendered[:MAX_PARTS],
            *platform.render(f"… The rest is in the terminal: `handoff history {session_id}`"),
        ]
    return [OutPart(session_id, turn_id, number, place, part) for number, part in enumerate(rendered)]


def _deliver_part(services: Services, platform: Platform, part: OutPart) -> None:
    now = services.clock.now()
    limit = min(FILE_LIMIT if part.file else SEND_LIMIT, services.settings.turn_lease)
    claimed = services.store.outbox.sending(part, now=now, until=now + limit)
    if claimed is None:
        raise Busy(max(1.0, (part.sending_until - now) / 1000))
    may_have_arrived = part.state == "sending"
    for _ in range(TRIES):
        try:
            if may_have_arrived and not _knows(platform):
                if claimed.file and claimed.placeholder is not None:
                    services.store.outbox.doubtful(claimed)
                    return
                claimed = _with_repeat_begun(services, platform, claimed)
            message_id = _send(services, platform, claimed, may_have_arrived=may_have_arrived)
        except Ambiguous:
            if platform.capabilities.receipts:
                # A receipt may decide this part before the claim ends.
                raise Busy(max(limit / 1000, _pause(claimed, None))) from None
            may_have_arrived = True
            continue
        except (RateLimited, NotSent) as trouble:
            _not_sent(services, claimed, may_have_arrived=may_have_arrived)
            raise NotYet(_pause(claimed, trouble)) from trouble
        except Rejected as rejected:
            services.store.outbox.rejected(claimed, reason=str(rejected) if claimed.file else "")
            raise
        services.store.outbox.sent(claimed, message_id)
        return
    raise NotYet(max(limit / 1000, _pause(claimed, None)))


def _pause(part: OutPart, trouble: PlatformError | None) -> float:
    """Seconds until the next try: longer with each, and never shorter than the platform asks for."""
    if isinstance(trouble, RateLimited):
        return max(trouble.after, backoff(part.tries, first=1.0, longest=LONGEST_PAUSE))
    return backoff(part.tries, first=FIRST_PAUSE, longest=LONGEST_PAUSE)


def _send(services: Services, platform: Platform, part: OutPart, *, may_have_arrived: bool) -> str:
    """Send a part. If it may have arrived already: by the same key, by reading back, or by one marked repeat."""
    if part.file is not None:
        return _send_file(services, platform, part, part.file, may_have_arrived=may_have_arrived)
    can = platform.capabilities
    key = part.address if can.receipts else part.key
    if not may_have_arrived:
        return platform.send(part.place, part.part, key=key)
    if can.readback and (found := platform.find_message(part.place, key=part.key)):
        return found
    log.info("part %s: sent again (key=%s, readback=%s)", part.number, can.key, can.readback)
    if part.placeholder is None:
        is_safe = can.key or can.readback
        return platform.send(part.place, part.part if is_safe else _marked(part.part), key=key)
    platform.edit(part.place, part.placeholder, _marked(part.part))
    return part.placeholder


def _send_file(
    services: Services, platform: Platform, part: OutPart, file: StoredFile, *, may_have_arrived: bool
) -> str:
    """The same for a file. A marked repeat has the mark in its caption."""
    can = platform.capabilities
    if may_have_arrived and can.readback and (found := platform.find_message(part.place, key=part.key)):
        return found
    item = services.store.files.get(part.file_of or part.session_id, file.id)
    if item is None or services.files.size(item.key) is None:
        raise Rejected("the file is not stored any more")
    key = item.key
    out = OutFile(file.name, file.media_type, file.size, lambda: services.files.get(key))
    caption = part.part if part.part.text else None
    if may_have_arrived and not _knows(platform):
        log.info("file %s: sent again", part.number)
        caption = _marked(part.part) if caption else Part(REPEAT_MARK.strip())
    try:
        return platform.send_file(part.place, out, caption, key=part.address if can.receipts else part.key)
    except FileMissing as gone:
        raise Rejected("the file is not stored any more") from gone


def _knows(platform: Platform) -> bool:
    """Whether a repeat is safe: the platform drops it, or can say what arrived."""
    return platform.capabilities.key or platform.capabilities.readback


def _with_repeat_begun(services: Services, platform: Platform, part: OutPart) -> OutPart:
    """Journal a repeat before it is sent, where nobody can know what arrived.

    A file is repeated once. A text becomes a placeholder, if the platform edits, into which it is edited: edits are
    idempotent, so lost answers lead to one repeat at most, and an interrupted one is finished and not left behind.
    """
    if part.file:
        return services.store.outbox.placed(part, _BEGUN)
    if part.placeholder is None and platform.capabilities.edits:
        return services.store.outbox.placed(part, platform.send(part.place, Part(REPEATING), key=part.key))
    return part


def _not_sent(services: Services, part: OutPart, *, may_have_arrived: bool) -> None:
    """Withdraw what was journalled before a send that has certainly not happened."""
    if not may_have_arrived:
        services.store.outbox.unsent(part)
    elif part.file:
        services.store.outbox.placed(part, None)


def _marked(part: Part) -> Part:
    """The mark follows the text, so that formatting offsets stay valid; adapters leave room for it."""
    return replace(part, text=part.text + REPEAT_MARK)
