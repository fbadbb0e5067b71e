"""The turn that a runner works on, as long as it may."""

from dataclasses import dataclass

from shared.domain.offers import Offer
from shared.domain.sessions import Session
from shared.errors import TurnEnded, TurnSuperseded, UnknownTurn
from shared.services import Services
from shared.use_cases.access import own_session
from shared.use_cases.runners.register import own_runner


@dataclass(frozen=True)
class TurnName:
    """A turn as its runner names it; `fence` is that of its claim."""

    user_id: str
    runner_id: str
    session_id: str
    turn_id: str
    fence: int = 0


def offered_turn(services: Services, name: TurnName) -> tuple[Session, Offer]:
    """The session and the offer that a runner names; the turn may be over.

    Raises UnknownRunner, RunnerRevoked, UnknownSession, and UnknownTurn for a turn that was never this runner's.
    """
    own_runner(services, name.user_id, name.runner_id)
    offer = services.store.turns.get(name.session_id, name.turn_id)  # before the session: see `Turns.unsettled`
    session = own_session(services, name.user_id, name.session_id)
    if offer is None or offer.runs_on is None or offer.runs_on.runner != name.runner_id:
        raise UnknownTurn(name.turn_id)
    return session, offer


def refuse_over(session: Session, offer: Offer) -> None:
    """Raise TurnEnded unless the session's turn is this one, where it was offered."""
    if (
        session.turn is None
        or session.turn.id != offer.id
        or session.epoch != offer.epoch
        or session.owner != offer.place
    ):
        raise TurnEnded(offer.id)


def live_turn(services: Services, name: TurnName) -> tuple[Session, Offer]:
    """The session and the offer of a turn that the runner may work on.

    Raises as `offered_turn`, TurnEnded and TurnSuperseded.
    """
    session, offer = offered_turn(services, name)
    refuse_over(session, offer)
    if session.turn is None or not session.turn.is_claimed or session.turn.fence != name.fence:
        raise TurnSuperseded(offer.id)
    return session, offer
