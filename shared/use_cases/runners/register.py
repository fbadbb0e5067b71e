"""Runners of a user: register, list, revoke, and the turns that wait for one."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from shared.domain.orders import Order, Void
from shared.domain.runners import PROTOCOLS, SEEN_EVERY, Runner
from shared.domain.sessions import Executor
from shared.errors import RunnerRevoked, RunnerTooOld, UnknownRunner
from shared.services import Services
from shared.store.runners import TurnPointer
from shared.use_cases.offers import wake_place
from shared.use_cases.orders import void_order


def register_runner(
    services: Services,
    user_id: str,
    runner_id: str,
    *,
    name: str,
    agents: Mapping[str, str],
    version: str,
    protocol: int,
    unattended: Collection[str] = (),
    orders: Collection[str] = (),
    projects: Sequence[str] = (),
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
        unattended=frozenset(unattended),
        orders=frozenset(orders),
        projects=tuple(projects),
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


def is_sign_due(services: Services, runner: Runner) -> bool:
    """Whether a sign of life should be noted: at most once in SEEN_EVERY."""
    return services.clock.now() - runner.seen_at >= SEEN_EVERY


def note_sign(services: Services, runner: Runner) -> None:
    """Note that the runner was seen now."""
    services.store.runners.seen(runner, now=services.clock.now())


class Polled(NamedTuple):
    """A runner, and what waits for it: hints, a claim or a take decides."""

    runner: Runner
    turns: Sequence[TurnPointer]
    orders: Sequence[Order]


def poll(services: Services, user_id: str, runner_id: str) -> Polled:
    """The turns and orders that wait for a runner, without those that a process works on. Writes nothing.

    Raises UnknownRunner or RunnerRevoked.
    """
    runner = own_runner(services, user_id, runner_id)
    now = services.clock.now()
    pointers, orders = services.store.runners.waiting(user_id, runner_id)
    turns = [pointer for pointer in pointers if _waits(services, pointer, now)]
    return Polled(runner, turns, [order for order in orders if order.may_be_taken(now)])


def released_sessions(services: Services, user_id: str, runner_id: str, kept: Iterable[str]) -> list[str]:
    """Those of the sessions that a runner keeps open which are not its to answer any more.

    They were moved or deleted, or the user has chosen another agent. A session on its way to a chat is still its own.
    """
    return [session_id for session_id in kept if not _answers(services, user_id, runner_id, session_id)]


def _answers(services: Services, user_id: str, runner_id: str, session_id: str) -> bool:
    session = services.store.sessions.get(session_id)
    if session is None or session.user_id != user_id or session.runs_on is None:
        return False
    lives_in_chat = not session.owner.is_cli or session.active_handoff is not None
    return lives_in_chat and session.runs_on.runner == runner_id and session.answers is Executor.MACHINE


def _waits(services: Services, pointer: TurnPointer, now: int) -> bool:
    """Whether the turn may be claimed; one that is over is shown too, so that a claim removes its pointer."""
    session = services.store.sessions.get(pointer.session_id)
    turn = session.turn if session else None
    return turn is None or turn.id != pointer.turn_id or turn.may_be_claimed(now)


def revoke_runner(services: Services, user_id: str, runner_id: str) -> None:
    """Let a runner claim nothing any more, and take its turns back. Safe to repeat. Raises UnknownRunner.

    Its process commits nothing from now on, and its orders are void.
    Messages that it was working on are answered by the deployment's agent.
    """
    runner = services.store.runners.get(user_id, runner_id)
    if runner is None or not services.store.runners.revoke(runner):
        raise UnknownRunner(runner_id)
    pointers, orders = services.store.runners.waiting(user_id, runner_id)
    for order in orders:
        if order.is_open:
            void_order(services, order, Void.REVOKED)
    for pointer in pointers:
        offer = services.store.turns.get(pointer.session_id, pointer.turn_id)
        session = services.store.sessions.get(pointer.session_id)
        if offer is None or session is None or session.turn is None or session.turn.id != pointer.turn_id:
            services.store.runners.remove_pointer(user_id, runner_id, pointer.turn_id)
        elif services.store.turns.end(session, now=services.clock.now()):
            wake_place(services, offer.place, session.id, why=f"revoked {offer.id}")
