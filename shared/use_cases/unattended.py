"""Agents that may run steps without asking, and threads that are shared with other people: never both."""

from dataclasses import replace

from shared.domain.offers import Offer
from shared.domain.runners import Runner
from shared.domain.sessions import Session
from shared.errors import NotShareable
from shared.ports.queue import Notice
from shared.services import Services
from shared.use_cases.offers import wake_place

NOT_SHARED_HERE = (
    "Your own agent is not made to ask before each step (`unattended` in `runner.toml` on its machine), so words of other "
    "people would run there at once. This thread cannot be shared."
)

UNATTENDED = "and is not made to ask before each step"


def is_unattended(runner: Runner | None, session: Session) -> bool:
    """Whether the session's own agent may run steps without asking."""
    return runner is not None and session.runs_on is not None and session.runs_on.agent in runner.unattended


def refuse_unattended(services: Services, session: Session) -> None:
    """Raise NotShareable if the session's own agent is unattended. Early, for people: each claim makes sure of it."""
    if session.runs_on is not None:
        runner = services.store.runners.get(session.user_id, session.runs_on.runner)
        if is_unattended(runner, session):
            raise NotShareable(session.runs_on.agent)


def set_shared(services: Services, session: Session, *, shared: bool) -> Session | None:
    """Write whether the session is shared; None if its agent is unattended and it stays unshared. Raises Conflict."""
    changed = replace(session, shared=shared, updated_at=services.clock.now())
    if not shared or session.runs_on is None:
        return services.store.sessions.replace(session, changed)
    runner = services.store.runners.get(session.user_id, session.runs_on.runner)
    if is_unattended(runner, session):
        return None
    return services.store.sessions.replace(session, changed, runner=runner)


def end_sharing(services: Services, session: Session, offer: Offer) -> None:
    """Unshare a thread whose agent has become unattended, and end the turn: its place leaves out what guests said.

    The thread is told first: after a crash in between the next claim does the same. Raises Conflict.
    """
    key = f"unshared-{offer.id}"
    notice = Notice(offer.place, key, f"{NOT_SHARED_HERE} It is not shared any more.")
    services.queue.send(notice, dedupe=key, line=f"notice {offer.place.route}")
    services.store.sessions.replace(session, replace(session, shared=False, turn=None, updated_at=services.clock.now()))
    wake_place(services, offer.place, session.id, why=f"unshared {offer.id}")
