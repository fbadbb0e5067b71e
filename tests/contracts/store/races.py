"""One function per race: many threads write the same or opposing changes, and one of them succeeds."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from shared.domain.handoffs import Handoff, Reason, State, Thread
from shared.domain.routes import cli_place
from shared.domain.sessions import Session
from shared.errors import Conflict, HandoffInFlight, PlaceBusy
from shared.store.inbox import InboxRow
from shared.store.outbox import OutPart
from tests.contracts.store.racing import THREADS, insist, race, winners
from tests.contracts.store.world import BROKEN, HOME, LEASE, NOW, RECEIPT, THREAD, Stage, World

SAID_SO = Reason("cancelled", "You called it off.")
AT_HOME = Thread(HOME, "https://t.me/1001")
CROWD = range(THREADS)


def claims(world: World) -> None:
    """One claimant gets the only fence."""
    pending = world.requested()

    def claim(number: int) -> Callable[[], Handoff | None]:
        return lambda: world.store.handoffs.claim(pending.id, claimant=f"p-{number}", now=NOW, lease_until=NOW + LEASE)

    (winner,) = winners(race(*(claim(number) for number in CROWD)))
    assert winner == world.latest(pending)
    assert winner.fence == 1


def requests(world: World) -> None:
    """One of many different requests is written; the others are told its id."""
    session = world.session()
    asked = [world.new_handoff(session) for _ in CROWD]

    def request(handoff: Handoff) -> Callable[[], Handoff]:
        return insist(lambda: world.store.handoffs.request(handoff, now=NOW))

    outcomes = race(*(request(handoff) for handoff in asked))
    (winner,) = winners(outcomes)
    refusals = [outcome for outcome in outcomes if isinstance(outcome, HandoffInFlight)]
    assert len(refusals) == THREADS - 1
    assert {refusal.extra["handoff_id"] for refusal in refusals} == {winner.id}
    assert world.current().active_handoff == winner.id
    assert [handoff for handoff in asked if world.store.handoffs.get(handoff.id)] == [winner]


def replays(world: World) -> None:
    """The same request many times at once is one handoff, and every caller gets it."""
    asked = world.new_handoff(world.session())
    outcomes = race(*[insist(lambda: world.store.handoffs.request(asked, now=NOW))] * THREADS)
    assert outcomes == [asked] * THREADS
    assert world.current().version == 1


def creations(world: World) -> None:
    """One of many creates the session, and its title is stored."""
    fresh = replace(world.session("s-example"), id="s-new")

    def create(number: int) -> Callable[[], bool]:
        session = replace(fresh, title=str(number))
        return insist(lambda: world.store.sessions.create(session))

    outcomes = race(*(create(number) for number in CROWD))
    assert outcomes.count(True) == 1
    assert world.current("s-new").title == str(outcomes.index(True))


def replacements(world: World) -> None:
    """One of many writers that read the same version writes."""
    session = world.session()

    def rename(number: int) -> Callable[[], Session]:
        return lambda: world.store.sessions.replace(session, replace(session, title=str(number)))

    outcomes = race(*(rename(number) for number in CROWD))
    (winner,) = winners(outcomes)
    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == THREADS - 1
    assert world.current() == winner


def appends(world: World) -> None:
    """One of many appends to the same end of a transcript is stored."""
    session = world.session()

    def append(number: int) -> Callable[[], Session]:
        message = {"role": "user", "content": str(number)}
        return lambda: world.store.transcripts.append(session, [message], now=NOW)

    outcomes = race(*(append(number) for number in CROWD))
    (winner,) = winners(outcomes)
    (message,) = world.store.transcripts.load("s-1")
    assert message["content"] == str(outcomes.index(winner))
    assert world.current() == winner


def commits(world: World) -> None:
    """A turn that runs in many places at once is committed by one of them, whole."""
    handoff = world.handoff(Stage.BOUND)
    session = world.claim_turn(world.current())
    rows = [world.row("0001"), world.row("0002")]

    def commit(number: int) -> Callable[[], Session]:
        turn = world.turn_commit(session, parts=2, rows=rows, handoff=handoff, receipt=RECEIPT)
        said = replace(turn, messages=[{"role": "assistant", "content": str(number)}])
        return lambda: world.store.turns.commit(said, now=NOW)

    outcomes = race(*(commit(number) for number in CROWD))
    (winner,) = winners(outcomes)
    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == THREADS - 1
    (message,) = world.store.transcripts.load("s-1")
    assert message["content"] == str(outcomes.index(winner))
    assert world.current() == winner
    assert len(world.store.outbox.journal("s-1", handoff.kickoff_turn)) == 2
    assert world.store.inbox.new(THREAD.place, limit=5) == []


def completions_and_failures(world: World) -> None:
    """Delivered or rejected: the handoff ends once, and the session is where that end says."""
    confirmed = world.handoff(Stage.CONFIRMED)

    def complete() -> Handoff | None:
        return world.store.handoffs.complete(confirmed, now=NOW)

    def fail() -> Handoff | None:
        return world.store.handoffs.fail(confirmed, BROKEN, now=NOW, rejected_delivery=True)

    (winner,) = winners(race(*[insist(complete), insist(fail)] * (THREADS // 2)))
    assert winner == world.latest(confirmed)
    session = world.current()
    expected = (THREAD.place, 1) if winner.state is State.COMPLETED else (cli_place("s-1"), 2)
    assert (session.owner, session.epoch) == expected
    assert session.active_handoff is None


def cancellations_and_rebinds(world: World) -> None:
    """Cancelled or moved, never both."""
    opened = world.handoff(Stage.OPENED)

    def cancel() -> Handoff | None:
        return world.store.handoffs.cancel(opened, SAID_SO, now=NOW)

    def rebind() -> Handoff | None:
        return world.rebind(opened, now=NOW)

    (winner,) = winners(race(*[insist(cancel), insist(rebind)] * (THREADS // 2)))
    session = world.current()
    if winner.state is State.CANCELLED:
        assert (session.owner, session.epoch, session.active_handoff) == (cli_place("s-1"), 0, None)
    else:
        assert (session.owner, session.epoch, session.active_handoff) == (THREAD.place, 1, opened.id)
    assert (world.latest(opened).state is State.CANCELLED) is (winner.state is State.CANCELLED)


def resumes_and_rebinds(world: World) -> None:
    """After a successful resume the session is in its terminal and the handoff has ended, in either order."""
    opened = world.handoff(Stage.OPENED)

    def resume() -> Session:
        return world.store.moves.to_terminal(world.current(), now=NOW)

    def rebind() -> Handoff | None:
        return world.rebind(opened, now=NOW)

    outcomes = race(insist(resume), *[insist(rebind)] * (THREADS - 1))
    bound = [outcome for outcome in winners(outcomes) if isinstance(outcome, Handoff)]
    resumed = outcomes[0]
    assert isinstance(resumed, Session)
    assert len(bound) <= 1
    assert resumed == world.current()
    assert (resumed.owner, resumed.epoch, resumed.active_handoff) == (cli_place("s-1"), 1 + len(bound), None)
    assert world.latest(opened).state is State.CANCELLED


def tenants(world: World) -> None:
    """Of many sessions that move to one place, one arrives; the others raise PlaceBusy and stay where they are."""
    opened = [world.handoff(Stage.OPENED, world.session(f"s-{number}"), thread=AT_HOME) for number in range(6)]

    def rebind(handoff: Handoff) -> Callable[[], Handoff | None]:
        return insist(lambda: world.rebind(handoff, now=NOW))

    outcomes = race(*(rebind(handoff) for handoff in opened))
    (winner,) = winners(outcomes)
    assert sum(isinstance(outcome, PlaceBusy) for outcome in outcomes) == len(opened) - 1
    there = [h.session_id for h in opened if world.current(h.session_id).owner == HOME]
    assert there == [winner.session_id]
    assert world.store.sessions.at(HOME) == winner.session_id


def replacing_tenants(world: World) -> None:
    """With `replace` all arrive, one after the other, and the last one stays."""
    opened = [
        world.handoff(Stage.OPENED, world.session(f"s-{number}"), thread=AT_HOME, replace=True) for number in range(6)
    ]

    def rebind(handoff: Handoff) -> Callable[[], Handoff | None]:
        return insist(lambda: world.rebind(handoff, now=NOW))

    assert len(winners(race(*(rebind(handoff) for handoff in opened)))) == len(opened)
    sessions = [world.current(handoff.session_id) for handoff in opened]
    (resident,) = [session for session in sessions if session.owner == HOME]
    assert world.store.sessions.at(HOME) == resident.id
    assert resident.epoch == 1
    assert all((s.owner, s.epoch) == (cli_place(s.id), 2) for s in sessions if s is not resident)


def nudges(world: World) -> None:
    """One of many sweeps nudges."""
    pending = world.requested()
    outcomes = race(*[lambda: world.store.handoffs.nudge(pending, now=NOW)] * THREADS)
    assert outcomes.count(True) == 1
    assert world.latest(pending).nudges == 1


def drives(world: World) -> None:
    """One of many sweeps drives a confirmed handoff."""
    confirmed = world.handoff(Stage.CONFIRMED)
    outcomes = race(*[lambda: world.store.handoffs.drive(confirmed, now=NOW)] * THREADS)
    assert outcomes.count(True) == 1


def sweeps(world: World) -> None:
    """One of many sweeps leads an abandoned handoff back to pending."""
    claimed = world.handoff(Stage.CLAIMED)

    def back() -> Handoff | None:
        return world.store.handoffs.back_to_pending(claimed, BROKEN, now=NOW + LEASE, not_before=0, counts=True)

    assert len(winners(race(*[insist(back)] * THREADS))) == 1
    assert world.latest(claimed).attempt == 1


def expiries_and_claims(world: World) -> None:
    """At the deadline a handoff expires once and is not claimed."""
    pending = world.requested()

    def expire() -> Handoff | None:
        return world.store.handoffs.expire(pending, BROKEN, now=pending.deadline)

    def claim() -> Handoff | None:
        return world.store.handoffs.claim(pending.id, claimant="p", now=pending.deadline, lease_until=NOW * 2)

    (winner,) = winners(race(*[insist(expire), insist(claim)] * (THREADS // 2)))
    assert winner.state is State.FAILED
    assert world.latest(pending) == winner


def deliveries(world: World) -> None:
    """A hundred redeliveries of one message are one row."""
    row = InboxRow(THREAD.place, "0001", "7", "words", NOW, user_id="ada")
    outcomes = race(*[lambda: world.store.inbox.put(row)] * THREADS)
    assert outcomes.count(True) == 1
    assert world.store.inbox.new(THREAD.place, limit=5) == [row]


def senders(world: World) -> None:
    """One of many sends a part."""
    (waiting,) = world.committed()

    def send(number: int) -> Callable[[], OutPart | None]:
        return lambda: world.store.outbox.sending(waiting, now=NOW, until=NOW + 1 + number)

    (winner,) = winners(race(*(send(number) for number in CROWD)))
    assert world.store.outbox.journal("s-1", "t-1") == [winner]


RACES: Mapping[str, Callable[[World], None]] = {
    run.__name__: run
    for run in (
        claims,
        requests,
        replays,
        creations,
        replacements,
        appends,
        commits,
        completions_and_failures,
        cancellations_and_rebinds,
        resumes_and_rebinds,
        tenants,
        replacing_tenants,
        nudges,
        drives,
        sweeps,
        expiries_and_claims,
        deliveries,
        senders,
    )
}
