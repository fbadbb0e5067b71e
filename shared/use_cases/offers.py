"""The offer of a new turn, who is to run it, and what lets a turn go on: a run, a check, a wake-up for its place."""

from shared.domain.handoffs import Handoff
from shared.domain.offers import Offer
from shared.domain.routes import Place
from shared.domain.runners import Runner
from shared.domain.sessions import Executor, RunsOn, Session
from shared.ports.queue import Run, Show, WakeUp
from shared.services import Services

CHECK_MACHINE_AFTER = 13.0
"""Seconds until a turn is looked at that was offered to a machine: longer than the pause between two polls."""
KICKOFF_WAITS = 60.0
"""Seconds that a handoff waits for the user's machine to confirm it."""


def machine_for(services: Services, session: Session, *, is_kickoff: bool = False) -> Runner | None:
    """The runner that is to run the session's next turn in a chat; None if the deployment's agent is.

    A kickoff that its machine did not take up stays with the deployment's agent.
    """
    if session.runs_on is None or session.answers is Executor.CLOUD or (is_kickoff and session.cloud_kickoff):
        return None
    runner = services.store.runners.get(session.user_id, session.runs_on.runner)
    return runner if runner is not None and not runner.revoked else None


def rows_offer(services: Services, session: Session, rows: tuple[str, ...]) -> Offer:
    """The offer of a turn that answers rows at the place where the session lives. A terminal's is never a machine's."""
    machine = None if session.owner.is_cli else machine_for(services, session)
    return Offer(
        services.new_id(),
        session.id,
        session.user_id,
        session.owner,
        session.epoch,
        services.clock.now(),
        rows=rows,
        runs_on=session.runs_on if machine else None,
    )


def kickoff_offer(
    services: Services, handoff: Handoff, place: Place, *, epoch: int, runs_on: RunsOn | None = None
) -> Offer:
    """The offer of a handoff's kickoff turn, in its thread."""
    return Offer(
        services.new_id(),
        handoff.session_id,
        handoff.user_id,
        place,
        epoch,
        services.clock.now(),
        handoff_id=handoff.id,
        runs_on=runs_on,
    )


def send_turn(services: Services, offer: Offer) -> None:
    """Let the executor of a turn that was just offered take it. A runner polls; its turn is only looked at later."""
    if offer.runs_on is None:
        send_run(services, offer.session_id, offer.id)
        return
    again = None if offer.handoff_id is None else KICKOFF_WAITS
    services.runs.send(Run(offer.session_id, offer.id), delay=CHECK_MACHINE_AFTER, again=again)


def send_run(services: Services, session_id: str, turn_id: str) -> None:
    """Let an executor claim the turn: now, and once more when the lease of a first claim would be over.

    The second one finds the turn over, as a rule. If the first is lost, hidden, or its process dies, it claims the turn.
    """
    services.runs.send(Run(session_id, turn_id), again=services.settings.turn_lease / 1000)


def wake_place(services: Services, place: Place, session_id: str, *, why: str) -> None:
    """Let the place of a turn that is over be looked at. `why` tells repeats apart; if it is lost, the sweep sends it."""
    services.queue.send(WakeUp(place, session_id), dedupe=f"wake {session_id} {why}")


def send_show(services: Services, offer: Offer, *, why: str) -> None:
    """Let the progress and the questions of a turn be shown. Best effort: `why` tells repeats apart."""
    show = Show(offer.place, offer.session_id, offer.id)
    services.queue.send(show, dedupe=f"show {offer.id} {why}", line=f"show {offer.place.route}")
