"""The fast part of a handoff: claim it, open its thread, move the session there, offer the kickoff turn.

Each step is journalled, so that another attempt continues where this one stopped:

    claim ──> open_thread ──> rebind and offer the kickoff turn        (seconds; no agent runs here)
"""

import logging

from shared.backoff import backoff
from shared.domain.handoffs import MAX_ATTEMPTS, Handoff, Reason, State, Step, Thread
from shared.domain.routes import Place
from shared.domain.sessions import Executor
from shared.errors import (
    Conflict,
    PlaceGone,
    PlatformError,
    RateLimited,
    Rejected,
    RequestRefused,
    ThreadRefused,
)
from shared.ports.platforms import Platform
from shared.ports.queue import Kickoff
from shared.services import Services
from shared.use_cases.access import evict_other_users, open_to
from shared.use_cases.handoffs.tell_origin import tell_origin
from shared.use_cases.offers import kickoff_offer, machine_for, send_run, send_turn, wake_place
from shared.use_cases.retry import on_conflict

log = logging.getLogger(__name__)
TITLE = "Handoff — {}"


class _FenceLost(Exception):
    """Another process has claimed the handoff, or it has ended: stop at once, there is nothing to undo."""


def process_handoff(services: Services, handoff_id: str) -> None:
    """Take a pending handoff as far as the queue. Safe to run twice: the second claim fails.

    A temporary error leads back to pending, a permanent one fails the handoff and moves the session back. Raises
    unexpected errors only; then the lease expires and another attempt takes over.
    """
    now = services.clock.now()
    handoff = services.store.handoffs.claim(
        handoff_id, claimant=services.new_id(), now=now, lease_until=now + services.settings.lease
    )
    if handoff is None:
        _check_later(services, handoff_id)
        return
    log.info("handoff %s: claimed (fence %d)", handoff.id, handoff.fence)
    try:
        handoff = open_thread(services, handoff)
        rebind(services, handoff)
    except _FenceLost:
        log.info("handoff %s: another process continues it", handoff.id)
    except RateLimited as limited:
        try_later(services, handoff, Reason("rate_limited", str(limited)), after=limited.after, counts=False)
    except (Rejected, RequestRefused) as refusal:
        _fail(services, handoff, _reason_of(refusal))
    except (PlatformError, Conflict) as trouble:
        try_later(services, handoff, Reason("platform_unavailable", str(trouble)), after=None, counts=True)


def _check_later(services: Services, handoff_id: str) -> None:
    """The stream repeats a record when its process has died: do what that one may have left undone.

    Before the move that is a check at the end of the lease, after it the run of the kickoff.
    """
    handoff = services.store.handoffs.get(handoff_id)
    if handoff is None or handoff.state is not State.RUNNING or handoff.confirmed:
        return
    if not handoff.is_bound:
        _wake(services, handoff, "watch")
        return
    session = services.store.sessions.get(handoff.session_id)
    if session is None or session.turn is None or session.turn.is_claimed:
        return
    if session.turn.by is Executor.CLOUD:
        send_run(services, session.id, session.turn.id)


def open_thread(services: Services, handoff: Handoff) -> Handoff:
    """Open a thread in the target chat, or adopt the one that an earlier attempt opened.

    Where no thread can be opened, the chat itself is used, with a notice; with `require_thread` the handoff fails.
    Raises PlaceBusy for a private chat of other people.
    """
    if handoff.thread is not None:
        return handoff
    platform = services.platforms.get(handoff.platform)
    chat = open_to(services, handoff.user_id, handoff.target)
    session = services.store.sessions.get(handoff.session_id)
    title = TITLE.format(session.shown_title if session else handoff.session_id[:8])
    was_interrupted = handoff.has_done(Step.OPENING_THREAD)
    handoff = _step(services, handoff, Step.OPENING_THREAD)
    notice = None
    try:
        place = _find_or_open(services, platform, handoff, chat.place, title, look_first=was_interrupted)
    except ThreadRefused as refused:
        if handoff.require_thread:
            raise
        place = chat.place
        if chat.private:
            evict_other_users(services, handoff.user_id, place)
        notice = f"No thread was opened: {str(refused).rstrip('.')}. The session continues in the chat itself."
    return _step(services, handoff, Step.THREAD_OPENED, thread=Thread(place, platform.link(place)), notice=notice)


def _find_or_open(
    services: Services, platform: Platform, handoff: Handoff, chat: Place, title: str, *, look_first: bool
) -> Place:
    if not platform.capabilities.threads:
        raise ThreadRefused(f"{platform.name} has no threads")
    if look_first and (found := platform.find_thread(chat, key=handoff.id)):
        return found
    people = services.store.accounts.identities(handoff.user_id, handoff.platform)
    return platform.open_thread(chat, title, key=handoff.id, people=people)


def rebind(services: Services, handoff: Handoff) -> None:
    """Move the session and offer its kickoff turn, in one write: from now on the thread owns it.

    The executors are sent the turn at once. In a chat that the session leaves, messages that wait are answered so.
    """
    if handoff.thread is None:
        raise _FenceLost
    place = handoff.thread.place
    session = services.store.sessions.get(handoff.session_id)
    runner = machine_for(services, session) if session else None
    # A handoff that waits for a machine that is away would be confirmed too late.
    is_away = runner is not None and not runner.is_online(services.clock.now())
    runs_on = session.runs_on if session and runner and not is_away else None
    kickoff = kickoff_offer(services, handoff, place, epoch=handoff.request_epoch + 1, runs_on=runs_on)

    def move() -> Handoff | None:
        return services.store.moves.rebind(handoff, kickoff, now=services.clock.now(), machine_is_away=is_away)

    if on_conflict(move) is None:
        raise _FenceLost
    log.info("handoff %s: session moved", handoff.id)
    send_turn(services, kickoff)
    if not handoff.origin.is_cli:
        wake_place(services, handoff.origin, handoff.session_id, why=f"left {handoff.id}")


def try_later(services: Services, handoff: Handoff, reason: Reason, *, after: float | None, counts: bool) -> None:
    """Back to pending for another attempt after a pause; fail once attempts or time are used up."""
    now = services.clock.now()
    if counts and handoff.attempt + 1 >= MAX_ATTEMPTS:
        _fail(services, handoff, reason)
        return
    pause = _pause_before(handoff.attempt + 1) if after is None else after
    if now + pause * 1000 >= handoff.deadline:
        _fail(services, handoff, reason)
        return
    log.info("handoff %s: %s, again in %.0f s", handoff.id, reason.code, pause)
    waiting = services.store.handoffs.back_to_pending(
        handoff, reason, now=now, not_before=now + int(pause * 1000), counts=counts
    )
    if waiting is not None and pause > 0:
        _wake(services, handoff, "wake")


def _pause_before(attempt: int) -> float:
    """The first repeat follows at once, the next ones after 5, 20 and 60 seconds."""
    return backoff(attempt - 1, first=5.0, factor=4.0, longest=60.0) if attempt > 1 else 0.0


def _wake(services: Services, handoff: Handoff, why: str) -> None:
    """Queue a check of the handoff; if that message is lost, the sweep checks within a minute."""
    services.queue.send(
        Kickoff(handoff.target, handoff.id), dedupe=f"{why} {handoff.id} {handoff.fence}", line=f"wake {handoff.id}"
    )


def _step(
    services: Services, handoff: Handoff, step: Step, *, thread: Thread | None = None, notice: str | None = None
) -> Handoff:
    noted = services.store.handoffs.step(handoff, step, now=services.clock.now(), thread=thread, notice=notice)
    if noted is None:
        raise _FenceLost
    return noted


def _fail(services: Services, handoff: Handoff, reason: Reason) -> None:
    now = services.clock.now()
    ended = on_conflict(lambda: services.store.handoffs.fail(handoff, reason, now=now))
    log.info("handoff %s: %s", handoff.id, f"failed ({reason.code})" if ended else "ended elsewhere")
    tell_origin(services, handoff)


def _reason_of(refusal: Rejected | RequestRefused) -> Reason:
    if isinstance(refusal, RequestRefused):
        return Reason(refusal.code, refusal.message)
    code = {ThreadRefused: "thread_refused", PlaceGone: "chat_not_found"}.get(type(refusal), "platform_refused")
    return Reason(code, str(refusal))
