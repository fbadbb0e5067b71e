"""Take in what a chat platform posts: verify, write down once, wake a turn. Never runs the agent."""

import logging

from shared.domain.commands import is_stop
from shared.errors import Rejected, Unauthenticated
from shared.ports.inbound import Answer, Inbound, Invited, WebhookRequest
from shared.ports.inbox import InboxRow
from shared.ports.platforms import Platform
from shared.ports.queue import InboxEvent
from shared.services import Services

log = logging.getLogger(__name__)
RECEIVED = Answer({"ok": True})


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
    for event in parsed.events:
        _handle(services, platform, event, now)
    return parsed.answer or RECEIVED


def _handle(services: Services, platform: Platform, event: Inbound | Invited, now: int) -> None:
    user_id = services.store.accounts.user_of(event.place.platform, event.sender)
    if user_id is None:
        log.info("%s: ignored, %s is not allowed here", event.place.platform, event.sender)
    elif isinstance(event, Invited):
        _join(platform, event)
    elif event.addressee is not None and not platform.is_me(event.addressee):
        log.info("%s: ignored, a command for another bot", event.place.platform)
    else:
        _take_in(services, event, user_id, now)


def _join(platform: Platform, invited: Invited) -> None:
    """A refusal is only logged: failing the webhook would make the platform repeat it, and hold back later ones."""
    try:
        platform.join(invited.place)
    except Rejected as error:
        log.warning("%s: an invitation could not be accepted: %s", invited.place.platform, error)


def _take_in(services: Services, inbound: Inbound, user_id: str, now: int) -> None:
    place = inbound.place
    if is_stop(inbound.text):
        _stop(services, inbound, user_id)
    row = InboxRow(place, inbound.event_id, inbound.sender, inbound.text, now, user_id, private=inbound.private)
    if not services.store.inbox.put(row):
        known = services.store.inbox.get(place, inbound.event_id)
        if known is not None and known.done_by is not None:
            return
    services.queue.send(
        InboxEvent(place, inbound.event_id),
        dedupe=f"said {place.route} {inbound.event_id}",
        line=f"stop {place.route}" if is_stop(inbound.text) else None,
    )


def _stop(services: Services, inbound: Inbound, user_id: str) -> None:
    """Close the sender's earlier rows at once, because `/stop` cannot wait behind the turn that it stops.

    That turn then fails to commit. `/stop` itself is answered in another line of the queue.
    """
    waiting = services.store.inbox.new(inbound.place, limit=100)
    earlier = [row for row in waiting if row.event_id < inbound.event_id and row.user_id == user_id]
    services.store.inbox.close(earlier, by="stopped")
