"""Turns of machines: offered with a pointer, claimed by one process of one runner, begun, steered, withdrawn."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from shared.domain.offers import Offer, Result
from shared.domain.progress import Progress, Summary
from shared.domain.sessions import Executor, Interruption, ResumePending, RunsOn, Session, Turn
from shared.errors import Conflict
from shared.ports.tables import Table
from shared.store.inbox import InboxRow
from shared.store.runners import TurnPointer
from tests.contracts.store.world import LEASE, NOW, RECEIPT, REPLY, RUNS_ON, THREAD, USER, Stage, World, sure
from tests.support.table_backends import FAILED_ITEM, LARGE_TRANSACTIONS, Backend

FAR = NOW + 10**9
POINTER = TurnPointer("s-1", "t-1", "claude-code", "n-1")


def turn_of(session: Session) -> Turn:
    return sure(session.turn)


def pointers(world: World) -> list[TurnPointer]:
    return list(world.store.runners.waiting("ada", RUNS_ON.runner)[0])


def due(world: World, now: int = FAR) -> list[str]:
    return [offer.id for offer in world.store.turns.due(now=now, limit=20)]


# --- offer


def test_an_offer_to_a_machine_is_found_by_its_runner(world: World) -> None:
    session, rows = world.on_machine(), [world.row("0001"), world.row("0002")]

    offered = world.machine_offer(session, rows=rows)

    assert offered == world.current()
    assert offered.turn == Turn("t-1", by=Executor.MACHINE)
    assert world.offer_of() == Offer(
        "t-1", "s-1", "ada", THREAD.place, session.epoch, NOW, rows=("0001", "0002"), runs_on=RUNS_ON
    )
    assert pointers(world) == [POINTER]
    assert world.store.runners.waiting("ada", "another")[0] == []
    assert world.store.runners.waiting("eve", RUNS_ON.runner)[0] == []


def test_an_offer_that_is_refused_leaves_no_pointer(world: World) -> None:
    session, row = world.on_machine(), world.row()
    world.store.inbox.close([row], by="stopped")
    with pytest.raises(Conflict):
        world.machine_offer(session, rows=[row])
    assert pointers(world) == []


def test_an_offer_to_the_deployment_has_no_pointer(world: World) -> None:
    world.offer(world.on_machine())
    assert (pointers(world), world.offer_of().executor) == ([], Executor.CLOUD)


def test_a_machines_turn_is_not_claimed_by_the_deployment(world: World) -> None:
    row = world.row()
    offered = world.machine_offer(world.on_machine(), rows=[row])
    for rows in ([], [row]):
        with pytest.raises(Conflict):
            world.claim_turn(offered, rows)
    assert world.current() == offered


def test_the_deployments_turn_is_not_claimed_by_a_machine(world: World) -> None:
    offered = world.offer(world.on_machine())
    with pytest.raises(Conflict):
        world.machine_claim(offered)
    assert world.current() == offered


# --- rebind


@pytest.mark.parametrize("on_machine", [False, True])
def test_a_session_moves_with_a_kickoff_for_its_machine_or_marked_for_the_deployment(
    world: World, on_machine: bool
) -> None:
    world.runner()
    opened = world.handoff(Stage.OPENED, world.session(runs_on=RUNS_ON))
    kickoff = replace(world.kickoff(opened), id="t-1", runs_on=RUNS_ON if on_machine else None)
    sure(world.store.moves.rebind(opened, kickoff, now=NOW, machine_is_away=not on_machine))
    session = world.current()
    assert session.turn == Turn("t-1", by=Executor.MACHINE if on_machine else Executor.CLOUD)
    assert session.cloud_kickoff is not on_machine
    assert pointers(world) == ([replace(POINTER, is_kickoff=True)] if on_machine else [])
    assert world.offer_of() == kickoff


def test_a_machine_confirms_a_handoff(world: World) -> None:
    world.runner()
    opened = world.handoff(Stage.OPENED, world.session(runs_on=RUNS_ON, messages=[USER]))
    bound = sure(world.store.moves.rebind(opened, replace(world.kickoff(opened), id="t-1", runs_on=RUNS_ON), now=NOW))
    claimed = world.machine_claim(world.current())
    commit = world.turn_commit(claimed, handoff=bound, receipt=RECEIPT, result=Result(1, "d"))
    committed = world.store.turns.commit(commit, now=NOW)
    assert world.latest(bound).confirmed
    assert (committed.native_seen, committed.turn) == (3, None)
    assert committed == world.current()


# --- claim


def test_a_machines_claim_takes_a_fence_and_a_lease_and_begins_nothing(world: World) -> None:
    rows = [world.row("0001"), world.row("0002")]
    offered = world.machine_offer(world.on_machine(), rows=rows)

    claimed = world.machine_claim(offered, rows, now=NOW + 5)

    turn = Turn(
        "t-1",
        by=Executor.MACHINE,
        fence=1,
        is_claimed=True,
        lease_until=NOW + 5 + LEASE,
        claim_id="c-1",
        words=2,
    )
    assert claimed == replace(offered, turn=turn, version=offered.version + 1)
    assert claimed == world.current()
    assert not claimed.native_dirty


def not_claimed(
    world: World,
    session: Session,
    rows: list[InboxRow] | None = None,
    *,
    now: int = NOW,
    previous_fence: int | None = None,
) -> None:
    before = world.store.sessions.get(session.id)
    with pytest.raises(Conflict):
        world.machine_claim(session, rows or [], claim_id="c-9", now=now, previous_fence=previous_fence)
    assert world.store.sessions.get(session.id) == before


def test_a_turn_is_claimed_by_one_process(world: World) -> None:
    row = world.row()
    offered = world.machine_offer(world.on_machine(), rows=[row])
    claimed = world.machine_claim(offered, [row])
    not_claimed(world, offered, [row])
    not_claimed(world, claimed, [row])


@pytest.mark.parametrize(("after", "wins"), [(-1, False), (0, True)])
def test_a_turn_is_claimed_again_when_the_lease_is_over(world: World, after: int, wins: bool) -> None:
    first = world.machine_turn(world.on_machine())
    if not wins:
        not_claimed(world, first, now=NOW + LEASE + after)
        return
    second = world.machine_claim(first, claim_id="c-2", now=NOW + LEASE + after)
    assert (turn_of(second).fence, turn_of(second).claim_id, second.resume_pending) == (2, "c-2", None)
    assert second == world.current()
    not_claimed(world, first, now=FAR)


def test_a_runner_that_was_restarted_claims_its_turn_before_the_lease_is_over(world: World) -> None:
    first = world.machine_turn(world.on_machine())
    assert world.store.machine_turns.begin(first, lease_until=NOW + LEASE)
    second = world.machine_claim(world.current(), claim_id="c-2", previous_fence=1)
    turn = turn_of(second)
    assert (turn.fence, turn.begun, turn.begun_fence, turn.claim_id) == (2, 1, 1, "c-2")
    assert (second.native_dirty, second) == (True, world.current())


@pytest.mark.parametrize("previous", [0, 1, 3])
def test_another_fence_than_the_present_one_does_not_shorten_a_lease(world: World, previous: int) -> None:
    first = world.machine_turn(world.on_machine())
    second = world.machine_claim(first, claim_id="c-2", previous_fence=1)
    not_claimed(world, second, previous_fence=previous)


def test_a_process_that_was_overtaken_does_not_claim_with_its_fence(world: World) -> None:
    """It read the turn before the other claim."""
    first = world.machine_turn(world.on_machine())
    world.machine_claim(first, claim_id="c-3", previous_fence=1)
    not_claimed(world, first, previous_fence=1)


def test_the_same_claim_again_has_the_same_fence(world: World, backend: Backend) -> None:
    backend.needs(FAILED_ITEM)
    row = world.row()
    offered = world.machine_offer(world.on_machine(), rows=[row])
    claimed = world.machine_claim(offered, [row])
    assert world.machine_claim(offered, [row], now=NOW + 5) == claimed
    assert world.machine_claim(claimed, [row], now=NOW + 5) == claimed
    assert world.current() == claimed


def test_a_revoked_runner_claims_nothing(world: World) -> None:
    offered = world.machine_offer(world.on_machine())
    assert world.store.runners.revoke(sure(world.store.runners.get("ada", RUNS_ON.runner)))
    not_claimed(world, offered)


def test_an_unattended_agent_claims_nothing_in_a_shared_thread(world: World) -> None:
    offered = world.machine_offer(world.on_machine())
    shared = world.store.sessions.replace(offered, replace(offered, shared=True))
    with pytest.raises(Conflict):
        world.machine_claim(offered, is_unattended=True)
    assert world.current() == shared
    assert world.machine_claim(shared).turn != shared.turn, "one that asks may"


@pytest.mark.parametrize(("before", "after"), [((), ("acp",)), (("acp",), ()), (("acp",), ("acp", "mine"))])
def test_sharing_and_claims_need_the_unattended_agents_as_they_were_read(
    world: World, before: tuple[str, ...], after: tuple[str, ...]
) -> None:
    offered = world.machine_offer(world.on_machine())
    read = world.runner(unattended=frozenset(before))
    now = world.runner(unattended=frozenset(after))
    with pytest.raises(Conflict):
        world.store.sessions.replace(offered, replace(offered, shared=True), runner=read)
    with pytest.raises(Conflict):
        world.machine_claim(offered, runner=read)
    assert world.current() == offered

    shared = world.store.sessions.replace(offered, replace(offered, shared=True), runner=now)
    assert world.current() == shared
    world.machine_claim(shared, runner=now)


def test_a_runner_that_is_not_known_claims_nothing(world: World) -> None:
    session = world.store.moves.to_chat(world.session(runs_on=RUNS_ON), THREAD.place, "https://t.me/1", now=NOW)
    not_claimed(world, world.machine_offer(session))


def test_a_turn_of_a_session_that_runs_elsewhere_now_is_not_claimed(world: World) -> None:
    offered = world.machine_offer(world.on_machine())
    world.runner("desktop")
    other = RunsOn("desktop", "claude-code", "n-1")
    world.store.sessions.replace(offered, replace(offered, runs_on=other))
    not_claimed(world, offered)
    not_claimed(world, replace(offered, runs_on=None))


@pytest.mark.parametrize("closed", [0, 1])
def test_a_turn_whose_words_were_closed_is_not_claimed(world: World, closed: int) -> None:
    rows = [world.row("0001"), world.row("0002")]
    offered = world.machine_offer(world.on_machine(), rows=rows)
    world.store.inbox.close([rows[closed]], by="stopped")
    not_claimed(world, offered, rows)


def test_closed_words_are_not_claimed_by_a_restarted_runner(world: World) -> None:
    row = world.row()
    claimed = world.machine_turn(world.on_machine(), rows=[row])
    world.store.inbox.close([row], by="stopped")
    not_claimed(world, claimed, [row], previous_fence=1)


ENDS: dict[str, Callable[[World, Session], object]] = {
    "ended": lambda world, session: world.store.turns.end(session, now=NOW),
    "withdrawn": lambda world, session: world.store.machine_turns.withdraw(session, now=FAR),
    "moved away": lambda world, _: world.store.moves.to_terminal(world.current(), now=NOW),
    "deleted": lambda world, _: world.store.sessions.delete(world.current()),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_turn_that_is_over_is_not_claimed(world: World, end: str) -> None:
    offered = world.machine_offer(world.on_machine())
    ENDS[end](world, offered)
    not_claimed(world, offered, previous_fence=0)


# --- begin


def test_a_run_begins_once_per_fence(world: World, backend: Backend) -> None:
    backend.needs(FAILED_ITEM)
    claimed = world.machine_turn(world.on_machine())
    begin = world.store.machine_turns.begin

    assert begin(claimed, lease_until=NOW + 2 * LEASE)
    begun = world.current()
    assert (turn_of(begun).begun, turn_of(begun).begun_fence, begun.native_dirty) == (1, 1, True)
    assert turn_of(begun).lease_until == NOW + 2 * LEASE

    assert begin(begun, lease_until=NOW + 3 * LEASE), "its answer was lost"
    assert (turn_of(world.current()).begun, turn_of(world.current()).lease_until) == (1, NOW + 3 * LEASE)
    assert begin(claimed, lease_until=NOW), "the client has repeated the write, whose answer was lost"
    assert turn_of(world.current()).begun == 1


def test_each_fence_counts_a_run(world: World) -> None:
    session = world.machine_turn(world.on_machine(), lease=0)
    for run in (1, 2, 3):
        assert world.store.machine_turns.begin(session, lease_until=NOW)
        assert turn_of(world.current()).begun == run
        session = world.machine_claim(world.current(), claim_id=f"c-{run + 1}", lease=0)


@pytest.mark.parametrize("end", ENDS)
def test_a_turn_that_is_over_does_not_begin(world: World, end: str) -> None:
    claimed = world.machine_turn(world.on_machine())
    ENDS[end](world, claimed)
    before = world.store.sessions.get("s-1")
    assert not world.store.machine_turns.begin(claimed, lease_until=FAR)
    assert world.store.sessions.get("s-1") == before


def test_an_older_fence_does_not_begin(world: World) -> None:
    first = world.machine_turn(world.on_machine(), lease=0)
    second = world.machine_claim(first, claim_id="c-2")
    assert not world.store.machine_turns.begin(first, lease_until=FAR)
    assert world.current() == second


def test_an_offered_turn_does_not_begin(world: World) -> None:
    offered = world.machine_offer(world.on_machine())
    assert not world.store.machine_turns.begin(offered, lease_until=FAR)
    assert world.current() == offered


# --- commit, settled


def test_a_machines_result_is_kept_with_what_its_agent_has_seen(world: World) -> None:
    rows = [world.row("0001"), world.row("0002")]
    claimed = world.machine_turn(world.on_machine(), rows=rows)
    assert world.store.machine_turns.begin(claimed, lease_until=NOW + LEASE)
    result = Result(1, "digest", Summary(3, 2, 48))

    commit = world.turn_commit(world.current(), rows=rows[:1], result=result)
    committed = world.store.turns.commit(commit, now=NOW + 7)

    assert committed == world.current()
    assert (committed.turn, committed.native_seen, committed.native_dirty) == (None, 2, False)
    assert world.offer_of().result == result
    assert world.store.inbox.new(THREAD.place, limit=5) == rows[1:], "a row that was not given stays new"
    assert list(world.store.transcripts.load("s-1")) == [USER, REPLY]


def test_a_commit_of_the_deployment_leaves_what_the_machine_has_seen(world: World) -> None:
    session = world.machine_turn(world.on_machine())
    assert world.store.machine_turns.begin(session, lease_until=NOW)
    assert world.store.machine_turns.withdraw(world.current(), now=NOW + LEASE)
    cloud = world.start_turn(world.current(), "t-2")
    committed = world.store.turns.commit(world.turn_commit(cloud), now=NOW)
    assert (committed.native_seen, committed.native_dirty, committed.message_count) == (0, True, 2)
    assert committed == world.current()


def test_a_machines_result_clears_the_mark_of_an_interrupted_run_of_the_deployment(world: World) -> None:
    session = world.on_machine()
    marked = world.store.sessions.replace(
        session, replace(session, resume_pending=ResumePending(Interruption.KILLED, NOW))
    )
    claimed = world.machine_turn(marked)
    assert claimed.resume_pending is not None, "a claim of a machine neither sets nor clears it"
    committed = world.store.turns.commit(world.turn_commit(claimed, result=Result(1, "d")), now=NOW)
    assert (committed.resume_pending, world.current().resume_pending) == (None, None)


def test_a_settled_turn_of_a_machine_is_kept_for_repeated_results_and_is_not_due(
    world: World, backend: Backend
) -> None:
    claimed = world.machine_turn(world.on_machine(), rows=[world.row()])
    world.store.turns.commit(world.turn_commit(claimed, result=Result(1, "d", Summary(steps=2))), now=NOW)
    for _ in range(2):
        world.store.turns.settled(world.offer_of())

    kept = world.offer_of()
    assert (kept.is_settled, kept.result, kept.runs_on) == (True, Result(1, "d", Summary(steps=2)), RUNS_ON)
    assert world.store.turns.unsettled("s-1") == []
    assert (due(world), pointers(world)) == ([], [])
    (item,) = [item for item in backend.scan(Table.SESSIONS) if item["sk"] == "RT#t-1"]
    assert item["expires_at"] == NOW // 1000 + 3 * 24 * 3600, "longer than a runner repeats its result"
    assert not item.keys() & {"rows", "progress", "due_shard", "due_at"}


def test_the_id_of_a_settled_turn_is_not_used_again(world: World) -> None:
    claimed = world.machine_turn(world.on_machine())
    session = world.store.turns.commit(world.turn_commit(claimed, result=Result(1, "d")), now=NOW)
    world.store.turns.settled(world.offer_of())
    with pytest.raises(Conflict):
        world.machine_offer(session, "t-1")
    world.machine_offer(session, "t-2")
    assert [offer.id for offer in world.store.turns.unsettled("s-1")] == ["t-2"]


def test_a_deleted_session_leaves_no_pointers_offers_or_questions(world: World, backend: Backend) -> None:
    claimed = world.machine_turn(world.on_machine())
    session = world.store.turns.commit(world.turn_commit(claimed, result=Result(1, "d")), now=NOW)
    world.store.turns.settled(world.offer_of())
    world.machine_offer(session, "t-2")
    world.store.sessions.delete(world.current())
    assert pointers(world) == []
    assert [item["sk"] for item in backend.scan(Table.SESSIONS)] == ["RUNNER#laptop"]


# --- steer


def test_words_are_given_to_a_turn_at_work(world: World) -> None:
    first, second = world.row("0001"), world.row("0002")
    claimed = world.machine_turn(world.on_machine(), rows=[first])
    assert world.store.machine_turns.steer(claimed, second)
    assert world.offer_of().rows == ("0001", "0002")
    assert world.store.machine_turns.steer(claimed, second), "a repeat"
    assert world.offer_of().rows == ("0001", "0002")
    assert world.current() == claimed
    commit = world.turn_commit(claimed, rows=[first, second], result=Result(1, "d"))
    world.store.turns.commit(commit, now=NOW)
    assert world.store.inbox.new(THREAD.place, limit=5) == []


def test_words_that_come_before_the_claim_are_claimed_or_given_later(world: World) -> None:
    first, second = world.row("0001"), world.row("0002")
    offered = world.machine_offer(world.on_machine(), rows=[first])
    assert world.store.machine_turns.steer(offered, second)
    claimed = world.machine_claim(offered, [first])  # it read the offer before
    assert (turn_of(claimed).words, world.offer_of().rows) == (1, ("0001", "0002"))


def test_a_turn_that_was_claimed_since_it_was_read_takes_no_words(world: World) -> None:
    offered = world.machine_offer(world.on_machine(), rows=[world.row("0001")])
    world.machine_claim(offered)
    assert not world.store.machine_turns.steer(offered, world.row("0002"))
    assert world.offer_of().rows == ("0001",)


@pytest.mark.parametrize("end", ENDS)
def test_a_turn_that_is_over_takes_no_words(world: World, end: str) -> None:
    claimed = world.machine_turn(world.on_machine(), rows=[world.row("0001")])
    late = world.row("0002")
    ENDS[end](world, claimed)
    assert not world.store.machine_turns.steer(claimed, late)
    if end != "deleted":
        assert world.offer_of().rows == ("0001",)


def test_closed_words_are_not_given(world: World) -> None:
    claimed = world.machine_turn(world.on_machine(), rows=[world.row("0001")])
    late = world.row("0002")
    world.store.inbox.close([late], by="stopped")
    assert not world.store.machine_turns.steer(claimed, late)


def test_a_kickoff_takes_no_words(world: World) -> None:
    world.runner()
    opened = world.handoff(Stage.OPENED, world.session(runs_on=RUNS_ON))
    sure(world.store.moves.rebind(opened, replace(world.kickoff(opened), id="t-1", runs_on=RUNS_ON), now=NOW))
    assert not world.store.machine_turns.steer(world.machine_claim(world.current()), world.row())


def test_a_turn_takes_twenty_five_words_at_most(world: World, backend: Backend) -> None:
    backend.needs(LARGE_TRANSACTIONS)
    rows = [world.row(f"{number:04}") for number in range(26)]
    claimed = world.machine_turn(world.on_machine(), rows=rows[:24])
    assert [world.store.machine_turns.steer(claimed, row) for row in rows[24:]] == [True, False]
    assert len(world.offer_of().rows) == 25


# --- reports


def test_given_words_are_noted_once(world: World) -> None:
    rows = [world.row("0001"), world.row("0002")]
    world.machine_turn(world.on_machine(), rows=rows)
    for _ in range(2):
        world.store.machine_turns.acknowledge(world.offer_of(), ["0002", "9999"])
    world.store.machine_turns.acknowledge(world.offer_of(), ["0001"])
    assert world.offer_of().acknowledged == ("0002", "0001")


def test_a_report_replaces_older_ones_only(world: World) -> None:
    world.machine_turn(world.on_machine())
    report = world.store.turns.report
    newest = Progress(2, 1, NOW, "said", "tool", Summary(1, 2, 3))
    reports = [
        (Progress(1, 5, NOW), True),
        (Progress(1, 5, NOW), False),
        (Progress(1, 4, NOW), False),
        (Progress(1, 6, NOW), True),
        (newest, True),
        (Progress(1, 7, NOW), False),
        (Progress(2, 1, NOW), False),
    ]
    assert [report(world.offer_of(), progress) for progress, _ in reports] == [stored for _, stored in reports]
    assert world.offer_of().progress == newest


def test_a_settled_turn_takes_no_report(world: World) -> None:
    claimed = world.machine_turn(world.on_machine())
    offer = world.offer_of()
    assert world.store.turns.end(claimed, now=NOW)
    world.store.turns.settled(offer)
    assert not world.store.turns.report(offer, Progress(1, 1, NOW))
    assert not world.store.machine_turns.told_away(offer)
    world.store.machine_turns.acknowledge(replace(offer, rows=("0001",)), ["0001"])
    kept = world.offer_of()
    assert (kept.progress, kept.told_away, kept.acknowledged) == (None, False, ())


def test_a_user_is_told_once_that_the_machine_is_away(world: World) -> None:
    world.machine_offer(world.on_machine())
    offer = world.offer_of()
    assert [world.store.machine_turns.told_away(offer) for _ in range(2)] == [True, False]
    assert world.offer_of().told_away


def test_nothing_is_noted_of_a_turn_that_is_gone(world: World, backend: Backend) -> None:
    world.machine_offer(world.on_machine())
    offer = world.offer_of()
    world.store.sessions.delete(world.current())
    assert not world.store.turns.report(offer, Progress(1, 1, NOW))
    assert not world.store.machine_turns.told_away(offer)
    world.store.turns.settled(offer)
    assert [item["sk"] for item in backend.scan(Table.SESSIONS)] == ["RUNNER#laptop"]


# --- choose


OF_MACHINE: dict[str, Callable[[World, Session], Session]] = {
    "offered": lambda world, session: world.machine_offer(session),
    "at work": lambda world, session: world.machine_turn(session),
    "lease over": lambda world, session: world.machine_turn(session, lease=0),
}
OF_CLOUD: dict[str, Callable[[World, Session], Session]] = {
    "offered": lambda world, session: world.offer(session),
    "at work": lambda world, session: world.start_turn(session),
    "lease over": lambda world, session: world.start_turn(session, lease=0),
}


@pytest.mark.parametrize("state", OF_MACHINE)
@pytest.mark.parametrize("chosen", Executor)
@pytest.mark.parametrize("by", Executor)
def test_the_other_one_is_chosen_and_takes_what_no_process_works_on(
    world: World, state: str, chosen: Executor, by: Executor
) -> None:
    row = world.row()
    before = (OF_MACHINE if by is Executor.MACHINE else OF_CLOUD)[state](world, world.on_machine())

    after = world.store.machine_turns.choose(before, chosen, now=NOW)

    assert after == world.current()
    assert (after.answers, after.version) == (chosen, before.version + 1)
    is_withdrawn = by is not chosen and state != "at work"
    assert after.turn == (None if is_withdrawn else before.turn)
    assert world.store.inbox.new(THREAD.place, limit=5) == [row]


def test_nothing_is_chosen_for_a_session_that_changed(world: World) -> None:
    read = world.machine_offer(world.on_machine())
    claimed = world.machine_claim(read)
    with pytest.raises(Conflict):
        world.store.machine_turns.choose(read, Executor.CLOUD, now=NOW)
    assert world.current() == claimed


def test_the_machine_is_chosen_for_the_kickoff_too(world: World) -> None:
    session = world.machine_offer(world.on_machine())
    assert world.store.machine_turns.withdraw(session, now=NOW, marks_kickoff=True)
    assert world.current().cloud_kickoff
    cloud = world.store.machine_turns.choose(world.current(), Executor.CLOUD, now=NOW)
    assert (cloud.cloud_kickoff, cloud.answers) == (True, Executor.CLOUD)
    machine = world.store.machine_turns.choose(cloud, Executor.MACHINE, now=NOW)
    assert (machine.cloud_kickoff, machine.answers) == (False, Executor.MACHINE)
    assert machine == world.current()


# --- withdraw


@pytest.mark.parametrize("by", Executor)
@pytest.mark.parametrize("state", OF_MACHINE)
def test_a_turn_is_withdrawn_unless_a_process_works_on_it(world: World, state: str, by: Executor) -> None:
    row = world.row()
    session = (OF_MACHINE if by is Executor.MACHINE else OF_CLOUD)[state](world, world.on_machine())
    is_withdrawn = state != "at work"
    assert world.store.machine_turns.withdraw(session, now=NOW) is is_withdrawn
    assert (world.current().turn is None) is is_withdrawn
    assert not world.current().cloud_kickoff
    assert world.store.inbox.new(THREAD.place, limit=5) == [row], "its words stay new"
    assert [offer.id for offer in world.store.turns.unsettled("s-1")] == ["t-1"], "until it is settled"


def test_a_turn_that_was_claimed_since_it_was_read_is_not_withdrawn(world: World) -> None:
    offered = world.machine_offer(world.on_machine())
    claimed = world.machine_claim(offered, lease=0)
    assert not world.store.machine_turns.withdraw(offered, now=FAR)
    assert world.current() == claimed


def test_a_turn_that_was_renewed_is_not_withdrawn(world: World) -> None:
    session = world.machine_turn(world.on_machine(), lease=0)
    assert world.store.turns.renew(session, lease_until=NOW + LEASE)
    assert not world.store.machine_turns.withdraw(session, now=NOW)


# --- what the machine's agent has seen


def test_what_a_terminal_uploads_was_seen_by_its_agent(world: World) -> None:
    session = world.session(runs_on=RUNS_ON, messages=[USER, REPLY])
    assert (session.native_seen, world.current().native_seen) == (2, 2)
    grown = world.store.transcripts.append(session, [USER], now=NOW)
    assert (grown.native_seen, world.current()) == (3, grown)


def test_what_is_appended_in_a_chat_or_without_a_machine_was_not_seen(world: World) -> None:
    session = world.on_machine()
    assert world.store.transcripts.append(session, [USER], now=NOW).native_seen == 0
    assert world.current().native_seen == 0
    world.session("s-2", messages=[USER])
    assert world.current("s-2").native_seen == 0
