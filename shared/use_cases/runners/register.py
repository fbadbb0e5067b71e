"""Runners of a user: register, list, revoke, and the turns that wait for one."""

from collections.abc import Mapping, Sequence

from shared.domain.runners import PROTOCOLS, SEEN_EVERY, Runner
from shared.errors import RunnerRevoked, RunnerTooOld, UnknownRunner
from shared.services import Services
from shared.store.runners import TurnPointer
from shared.use_cases.offers import wake_place


def register_runner(
    services: Services,
    user_id: str,
    runner_id: str,
    *,
    name: str,
    agents: Mapping[str, str],
    version: str,
    protocol: int,
) -> Runner:
    """Create the runner, or change what is known of it. Raises RunnerRevoked or RunnerTooOld."""
    if protocol not in PROTOCOLS:
        raise RunnerTooOld(protocol)
    before = services.store.runners.get(user_id, runner_id)
    runner = Runner(
        runner_id,
        user_id,
        name,
        agents=agents,
        version=version,
        seen_at=services.clock.now(),
        turn_at=before.turn_at if before else 0,
    )
    if not services.store.runners.register(runner):
        raise RunnerRevoked(runner_id)
    return runner


def own_runner(services: Services, user_id: str, runner_id: str) -> Runner:
    """The user's runner, which may run turns. Raises UnknownRunner or RunnerRevoked."""
    runner = services.store.runners.get(user_id, runner_id)
    if runner is None:
        raise UnknownRunner(runner_id)
    if runner.revoked:
        raise RunnerRevoked(runner_id)
    return runner


def poll_turns(services: Services, user_id: str, runner_id: str) -> tuple[Runner, Sequence[TurnPointer]]:
    """The runner and the turns that wait for it, without those that a process works on.

    Notes a sign of life, at most once in SEEN_EVERY. Raises UnknownRunner or RunnerRevoked.
    """
    runner = own_runner(services, user_id, runner_id)
    now = services.clock.now()
    if now - runner.seen_at >= SEEN_EVERY:
        services.store.runners.seen(runner, now=now)
    pointers = services.store.runners.pointers(user_id, runner_id)
    return runner, [pointer for pointer in pointers if _waits(services, pointer, now)]


def _waits(services: Services, pointer: TurnPointer, now: int) -> bool:
    """Whether the turn may be claimed; one that is over is shown too, so that a claim removes its pointer."""
    session = services.store.sessions.get(pointer.session_id)
    turn = session.turn if session else None
    return turn is None or turn.id != pointer.turn_id or turn.may_be_claimed(now)


def revoke_runner(services: Services, user_id: str, runner_id: str) -> None:
    """Let a runner claim nothing any more, and take its turns back. Safe to repeat. Raises UnknownRunner.

    Its process commits nothing from now on. Messages that it was working on are answered by the deployment's agent.
    """
    runner = services.store.runners.get(user_id, runner_id)
    if runner is None or not services.store.runners.revoke(runner):
        raise UnknownRunner(runner_id)
    for pointer in services.store.runners.pointers(user_id, runner_id):
        offer = services.store.turns.get(pointer.session_id, pointer.turn_id)
        session = services.store.sessions.get(pointer.session_id)
        if offer is None or session is None or session.turn is None or session.turn.id != pointer.turn_id:
            services.store.runners.remove_pointer(user_id, runner_id, pointer.turn_id)
        elif services.store.turns.end(session, now=services.clock.now()):
            wake_place(services, offer.place, session.id, why=f"revoked {offer.id}")
