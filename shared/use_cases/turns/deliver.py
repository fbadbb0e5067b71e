"""Deliver what the journal holds: each part once, in order, across crashes and rate limits."""

import contextlib
import logging
from collections.abc import Sequence

from shared.domain.routes import Place
from shared.errors import Ambiguous, Busy, NotSent, NotYet, RateLimited, Rejected
from shared.ports.outbox import OutPart
from shared.ports.platforms import Part, Platform
from shared.services import Services

log = logging.getLogger(__name__)
SEND_LIMIT = 30_000
"""How long one sender may take; every adapter's own time-outs end before it. With a shorter turn lease, that long."""
TRIES = 3
REPEATING = "↻ …"
"""Stands where a repeat is about to be written: if this is doubtful too, it is no further copy of the reply."""
MAX_PARTS = 60
REPEAT_MARK = "\n\n↻ Sent again: the first copy may have arrived too."


def deliver(services: Services, session_id: str, turn_id: str) -> None:
    """Send every part of a turn that is not sent yet. Safe to repeat.

    Raises NotYet to be called again later (rate limit, a platform that is down, another sender at work), Rejected where
    the platform refuses for good.
    """
    for part in services.store.outbox.journal(session_id, turn_id):
        if part.state == "rejected":
            raise Rejected(f"{part.place.platform} refused it earlier")
        if part.state != "sent" and not part.place.is_cli:
            _deliver_part(services, services.platforms.get(part.place.platform), part)


def say(services: Services, place: Place, markdown: str, *, key: str) -> None:
    """Post words of ours at a place, once per `key`, through the same journal. Raises as `deliver` does."""
    whose = f"at-{place.route}"
    services.store.outbox.post(parts_for(services, whose, key, place, markdown), now=services.clock.now())
    deliver(services, whose, key)


def parts_for(services: Services, session_id: str, turn_id: str, place: Place, markdown: str) -> list[OutPart]:
    """The journal rows of a text, rendered for its place; a terminal needs none, it reads the transcript.

    A commit holds only so many writes: of a reply without end the beginning is shown, and where the rest is.
    """
    if place.is_cli:
        return []
    platform = services.platforms.get(place.platform)
    rendered: Sequence[Part] = platform.render(markdown)
    if len(rendered) > MAX_PARTS:
        rendered = [
            *rendered[:MAX_PARTS],
            *platform.render(f"… The rest is in the terminal: `handoff history {session_id}`"),
        ]
    return [OutPart(session_id, turn_id, number, place, part) for number, part in enumerate(rendered)]


def _deliver_part(services: Services, platform: Platform, part: OutPart) -> None:
    now = services.clock.now()
    limit = min(SEND_LIMIT, services.settings.turn_lease)
    claimed = services.store.outbox.sending(part, now=now, until=now + limit)
    if claimed is None:
        raise Busy(max(1.0, (part.sending_until - now) / 1000))
    may_have_arrived = part.state == "sending"
    for _ in range(TRIES):
        try:
            message_id = _send(platform, claimed, may_have_arrived=may_have_arrived)
        except Ambiguous:
            may_have_arrived = True
            continue
        except (RateLimited, NotSent) as trouble:
            if not may_have_arrived:
                services.store.outbox.unsent(claimed)
            raise NotYet(trouble.after if isinstance(trouble, RateLimited) else 5.0) from trouble
        except Rejected:
            services.store.outbox.rejected(claimed)
            raise
        services.store.outbox.sent(claimed, message_id)
        return
    raise NotYet(limit / 1000)


def _send(platform: Platform, part: OutPart, *, may_have_arrived: bool) -> str:
    """Send, reconciling first what may have arrived: by key, by reading back, or by repeating it once, marked."""
    if not may_have_arrived:
        return platform.send(part.place, part.part, key=part.key)
    can = platform.capabilities
    if can.readback and (found := platform.find_message(part.place, key=part.key)):
        return found
    log.info("part %s: sent again (key=%s, readback=%s)", part.number, can.key, can.readback)
    if can.key or can.readback:
        return platform.send(part.place, part.part, key=part.key)
    return _repeat(platform, part)


def _repeat(platform: Platform, part: OutPart) -> str:
    """Repeat where nothing tells what arrived: a line first, and only when it surely is there the text, edited into it.

    An edit may be made again and again, so that however often answers are lost there is one repeat and not several.
    """
    message_id = platform.send(part.place, Part(REPEATING), key=part.key)
    for _ in range(TRIES - 1):
        with contextlib.suppress(Ambiguous):
            platform.edit(part.place, message_id, _marked(part.part))
            return message_id
    platform.edit(part.place, message_id, _marked(part.part))
    return message_id


def _marked(part: Part) -> Part:
    """The mark goes behind the text, so that formatting by position stays right; adapters leave room for it."""
    return Part(part.text + REPEAT_MARK, part.extra)
