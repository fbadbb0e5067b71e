"""Request a handoff: check without writing, then write it in one transaction."""

import hashlib
import json
from dataclasses import asdict, dataclass

from shared.domain.handoffs import Handoff, State, Step
from shared.domain.orders import Order
from shared.domain.routes import Place, place_of
from shared.domain.sessions import Session
from shared.errors import Conflict, IdempotencyKeyReused, Moved, NoHome, RequestRefused
from shared.services import Services
from shared.use_cases.access import id_for, own_session, refuse_early, refuse_silent, refuse_unusable_platform
from shared.use_cases.retry import on_conflict
from shared.use_cases.unattended import refuse_unattended


@dataclass(frozen=True)
class HandoffRequest:
    """A client's request. `target` is a chat on the platform; without it, the user's home.

    `content` identifies a transcript that came with the request, so that another transcript is another request. `command`
    is the event of the chat command that asks, `asked_at` the route of the place where it was typed, if the session is not
    there. `begins`: the session is new, and `message` its first words.
    """

    session_id: str
    platform: str
    epoch: int
    target: str | None = None
    message: str | None = None
    require_thread: bool = False
    replace: bool = False
    content: str | None = None
    share: bool = False
    command: str | None = None
    asked_at: str | None = None
    begins: bool = False

    @property
    def body_hash(self) -> str:
        """Tells requests apart. Fields that came later count only if they are set: a repeat may cross an upgrade."""
        later = ("share", "command", "asked_at", "begins")
        body = {name: value for name, value in asdict(self).items() if value or name not in later}
        return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Accepted:
    """The handoff that a request led to, and its session as it was read for that."""

    handoff: Handoff
    session: Session | None


def request_handoff(
    services: Services, user_id: str, asked: HandoffRequest, *, idempotency_key: str | None
) -> Accepted:
    """Write a pending handoff, which the table's stream hands to `process`. The same key and body give the same handoff.

    Raises a RequestRefused; IdempotencyKeyReused is checked first.
    """
    handoff_id = id_for(user_id, idempotency_key) if idempotency_key else services.new_id()
    earlier = services.store.handoffs.get(handoff_id) if idempotency_key else None
    if earlier is not None:
        return accepted_before(services, earlier, asked)
    target = destination(services, user_id, asked.platform, asked.target)
    session = own_session(services, user_id, asked.session_id)
    return write_request(services, handoff_id, session, asked, target)


def accepted_before(services: Services, earlier: Handoff, asked: HandoffRequest) -> Accepted:
    """The handoff of an earlier request with the same key. Raises IdempotencyKeyReused if that request was different."""
    if earlier.body_hash != asked.body_hash:
        raise IdempotencyKeyReused
    return Accepted(earlier, services.store.sessions.get(earlier.session_id))


def write_request(
    services: Services,
    handoff_id: str,
    session: Session,
    asked: HandoffRequest,
    target: Place,
    *,
    order: Order | None = None,
) -> Accepted:
    """Write the handoff in one transaction, which fails unless the session still has the epoch that was read.

    An `order` that asks for it is done with it, in the same transaction.

    Raises Moved for another epoch than the requested one, unless the same request was accepted before.
    """
    if session.epoch != asked.epoch:
        earlier = services.store.handoffs.get(handoff_id)
        if earlier is None:
            raise Moved(session)
        return accepted_before(services, earlier, asked)
    if asked.share:
        refuse_unattended(services, session)

    def request() -> Accepted:
        now = services.clock.now()
        handoff = Handoff(
            id=handoff_id,
            session_id=session.id,
            user_id=session.user_id,
            platform=asked.platform,
            target=target,
            origin=session.owner,
            request_epoch=asked.epoch,
            body_hash=asked.body_hash,
            state=State.PENDING,
            deadline=now + services.settings.deadline,
            created_at=now,
            updated_at=now,
            message=asked.message,
            require_thread=asked.require_thread,
            replace=asked.replace,
            share=asked.share,
            command=asked.command,
            asked_at=place_of(asked.asked_at) if asked.asked_at else None,
            begins=asked.begins,
            steps={Step.REQUESTED.value: now},
        )
        accepted = services.store.handoffs.request(handoff, now=now, order=order)
        is_another = accepted != handoff  # a concurrent repeat of this request was written first, and may have moved on
        return Accepted(accepted, services.store.sessions.get(session.id) if is_another else session)

    usage = services.store.usage
    taken = usage.take_handoff(session.user_id, handoff_id, now=services.clock.now())
    try:
        return on_conflict(request)
    except (RequestRefused, Conflict):
        if taken:
            usage.give_back_handoff(session.user_id, handoff_id)
        raise


def destination(services: Services, user_id: str, platform: str, target: str | None) -> Place:
    """The chat that was named, or the user's home. Raises NoHome and the refusals of access.py.

    Whether the chat is open to the user is decided when its platform is asked to open the thread.
    """
    refuse_unusable_platform(services.platforms, platform)
    if target:
        chat = Place(platform, target)
        refuse_early(services, user_id, chat)
    else:
        home = services.store.accounts.home(user_id, platform)
        if home is None:
            raise NoHome(platform)
        chat = home
    refuse_silent(services, chat)
    return chat
