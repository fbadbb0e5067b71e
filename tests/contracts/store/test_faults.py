"""Lost answers, unsent calls, throttling and conflicts of DynamoDB."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError

from shared.aws.items import to_item
from shared.domain.handoffs import Handoff, State
from shared.errors import Conflict
from shared.ports.tables import InvalidOperation
from shared.store.bundle import store_on
from shared.store.session_items import item_of
from tests.contracts.store.faults import answer_lost, not_sent, refused
from tests.contracts.store.world import BROKEN, HOME, LEASE, NOW, RECEIPT, REPLY, THREAD, USER, Stage, World, sure
from tests.support.table_backends import FAILED_ITEM, DynamoServer, dynamo_tables, skip_without
from tests.support.tables import TableNames


def world_on(server: DynamoServer, names: TableNames, *, tries: int) -> tuple[World, Any]:
    """A world whose client attempts each call `tries` times; legacy mode waits only milliseconds between attempts."""
    client = server.other_client(retries={"mode": "legacy", "total_max_attempts": tries})
    return World(store_on(dynamo_tables(client, names))), client


@pytest.fixture
def retrying(server: DynamoServer, names: TableNames) -> tuple[World, Any]:
    """As on Lambda: botocore retries a call whose answer was lost."""
    return world_on(server, names, tries=3)


@pytest.fixture
def once(server: DynamoServer, names: TableNames) -> tuple[World, Any]:
    """Each call is made once, so that the fault reaches the caller."""
    return world_on(server, names, tries=1)


# --- botocore retries the call


def test_a_retried_claim_succeeds_after_a_lost_answer(retrying: tuple[World, Any], server: DynamoServer) -> None:
    skip_without(server.name, FAILED_ITEM)
    world, client = retrying
    pending = world.requested()
    with answer_lost(client, "UpdateItem") as lost:
        claimed = world.claim(pending)
    assert lost
    assert claimed == world.latest(pending)
    assert claimed.fence == 1


def test_a_retried_replacement_is_no_conflict(retrying: tuple[World, Any], server: DynamoServer) -> None:
    skip_without(server.name, FAILED_ITEM)
    world, client = retrying
    session = world.session()
    with answer_lost(client, "UpdateItem") as lost:
        renamed = world.store.sessions.replace(session, replace(session, title="new"))
    assert lost
    assert renamed == world.current()
    assert renamed.version == session.version + 1


def test_a_retried_creation_reports_success(retrying: tuple[World, Any], server: DynamoServer) -> None:
    skip_without(server.name, FAILED_ITEM)
    world, client = retrying
    with answer_lost(client, "PutItem") as lost:
        world.session()
    assert lost


def test_a_retried_request_is_one_handoff(retrying: tuple[World, Any]) -> None:
    world, client = retrying
    session = world.session()
    with answer_lost(client, "TransactWriteItems") as lost:
        handoff = world.requested(session)
    assert lost
    assert world.latest(handoff) == handoff
    assert world.current().version == session.version + 1


def test_a_retried_commit_is_done_once(retrying: tuple[World, Any]) -> None:
    world, client = retrying
    session = world.start_turn(world.session())
    with answer_lost(client, "TransactWriteItems") as lost:
        committed = world.store.turns.commit(world.turn_commit(session), now=NOW)
    assert lost
    assert committed == world.current()
    assert list(world.store.transcripts.load("s-1")) == [USER, REPLY]


def test_a_retried_rebind_moves_once(retrying: tuple[World, Any]) -> None:
    world, client = retrying
    opened = world.handoff(Stage.OPENED)
    with answer_lost(client, "TransactWriteItems") as lost:
        bound = sure(world.rebind(opened, now=NOW))
    assert lost
    assert bound == world.latest(opened)
    assert world.current().epoch == 1


def test_a_retried_offer_is_made_once(retrying: tuple[World, Any]) -> None:
    world, client = retrying
    session, row = world.session(), world.row()
    with answer_lost(client, "TransactWriteItems") as lost:
        offered = world.offer(session, rows=[row])
    assert lost
    assert offered == world.current()
    assert [offer.id for offer in world.store.turns.unsettled("s-1")] == ["t-1"]


def test_a_retried_claim_of_words_takes_one_fence(retrying: tuple[World, Any]) -> None:
    world, client = retrying
    row = world.row()
    offered = world.offer(world.session(), rows=[row])
    with answer_lost(client, "TransactWriteItems") as lost:
        claimed = world.claim_turn(offered, [row])
    assert lost
    assert claimed == world.current()
    assert sure(claimed.turn).fence == 1


def test_a_retried_claim_of_a_kickoff_takes_one_fence(retrying: tuple[World, Any], server: DynamoServer) -> None:
    """It is a single update, which DynamoDB does not recognise as a repeat: the claim id does."""
    skip_without(server.name, FAILED_ITEM)
    world, client = retrying
    world.handoff(Stage.BOUND)
    with answer_lost(client, "UpdateItem") as lost:
        claimed = world.claim_turn(world.current())
    assert lost
    assert claimed == world.current()
    assert (sure(claimed.turn).fence, sure(claimed.turn).begun) == (1, 1)
    world.store.turns.commit(world.turn_commit(claimed), now=NOW)


def test_a_call_that_was_not_sent_is_retried(retrying: tuple[World, Any]) -> None:
    world, client = retrying
    pending = world.requested()
    with not_sent(client, "UpdateItem") as seen:
        assert world.claim(pending).fence == 1
    assert seen


# --- the fault reaches the caller, which tries again later


def test_a_lost_claim_is_repeated_by_its_claimant(once: tuple[World, Any], server: DynamoServer) -> None:
    skip_without(server.name, FAILED_ITEM)
    world, client = once
    pending = world.requested()
    with answer_lost(client, "UpdateItem"), pytest.raises(ConnectionClosedError):
        world.claim(pending)
    assert world.latest(pending).state is State.RUNNING
    assert world.claim(pending).fence == 1


def test_a_lost_request_is_found_by_its_key(once: tuple[World, Any]) -> None:
    world, client = once
    asked = world.new_handoff(world.session())
    with answer_lost(client, "TransactWriteItems"), pytest.raises(ConnectionClosedError):
        world.store.handoffs.request(asked, now=NOW)
    assert world.store.handoffs.request(asked, now=NOW) == asked


def test_a_lost_commit_is_found_in_the_journal(once: tuple[World, Any]) -> None:
    world, client = once
    bound = world.handoff(Stage.BOUND)
    session = world.claim_turn(world.current())
    commit = world.turn_commit(session, handoff=bound, receipt=RECEIPT)
    with answer_lost(client, "TransactWriteItems"), pytest.raises(ConnectionClosedError):
        world.store.turns.commit(commit, now=NOW)

    with pytest.raises(Conflict):
        world.store.turns.commit(commit, now=NOW)
    assert world.store.outbox.journal("s-1", bound.kickoff_turn) == list(commit.parts)
    assert sure(world.store.handoffs.complete(world.latest(bound), now=NOW)).state is State.COMPLETED


def test_a_lost_rebind_shows_on_the_handoff(once: tuple[World, Any]) -> None:
    world, client = once
    opened = world.handoff(Stage.OPENED)
    with answer_lost(client, "TransactWriteItems"), pytest.raises(ConnectionClosedError):
        world.rebind(opened, now=NOW)
    assert world.latest(opened).is_bound
    assert world.rebind(opened, now=NOW) is None
    assert world.current().owner == THREAD.place


def test_a_lost_claim_of_a_turn_is_repeated_by_its_executor(once: tuple[World, Any], server: DynamoServer) -> None:
    skip_without(server.name, FAILED_ITEM)
    world, client = once
    world.handoff(Stage.BOUND)
    with answer_lost(client, "UpdateItem"), pytest.raises(ConnectionClosedError):
        world.claim_turn(world.current())
    again = world.claim_turn(world.current())  # it reads the session again
    assert again == world.current()
    assert sure(again.turn).fence == 1
    assert world.store.turns.renew(again, lease_until=NOW + 2 * LEASE)


def test_a_lost_claim_does_not_keep_the_turn_for_ever(once: tuple[World, Any]) -> None:
    world, client = once
    world.handoff(Stage.BOUND)
    with answer_lost(client, "UpdateItem"), pytest.raises(ConnectionClosedError):
        world.claim_turn(world.current())
    with pytest.raises(Conflict):
        world.claim_turn(world.current(), claim_id="c-2", now=NOW + LEASE - 1)
    assert sure(world.claim_turn(world.current(), claim_id="c-2", now=NOW + LEASE).turn).fence == 2


WRITES: dict[str, tuple[str, Stage, Callable[[World, Handoff], Any]]] = {
    "claim": ("UpdateItem", Stage.PENDING, lambda w, h: w.claim(h)),
    "rebind": ("TransactWriteItems", Stage.OPENED, lambda w, h: w.rebind(h, now=NOW)),
    "complete": ("TransactWriteItems", Stage.CONFIRMED, lambda w, h: w.store.handoffs.complete(h, now=NOW)),
    "fail": ("TransactWriteItems", Stage.BOUND, lambda w, h: w.store.handoffs.fail(h, BROKEN, now=NOW)),
    "cancel": ("TransactWriteItems", Stage.OPENED, lambda w, h: w.store.handoffs.cancel(h, BROKEN, now=NOW)),
    "expire": ("TransactWriteItems", Stage.BOUND, lambda w, h: w.store.handoffs.expire(h, BROKEN, now=h.deadline)),
    "resume": ("TransactWriteItems", Stage.BOUND, lambda w, _: w.store.moves.to_terminal(w.current(), now=NOW)),
    "bring": ("TransactWriteItems", Stage.BOUND, lambda w, _: w.store.moves.to_chat(w.current(), HOME, "x", now=NOW)),
    "claim of a turn": ("UpdateItem", Stage.BOUND, lambda w, _: w.claim_turn(w.current())),
    "end of a turn": ("UpdateItem", Stage.BOUND, lambda w, _: w.store.turns.end(w.current(), now=NOW) or None),
    "back_to_pending": (
        "UpdateItem",
        Stage.CLAIMED,
        lambda w, h: w.store.handoffs.back_to_pending(h, BROKEN, now=NOW, not_before=0, counts=True),
    ),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_write_that_was_not_sent_can_be_repeated(once: tuple[World, Any], name: str) -> None:
    world, client = once
    operation, stage, write = WRITES[name]
    handoff = world.handoff(stage)
    session = world.current()

    with not_sent(client, operation) as seen, pytest.raises(ConnectionClosedError):
        write(world, handoff)

    assert seen
    assert (world.latest(handoff), world.current()) == (handoff, session)
    assert write(world, handoff) is not None


@pytest.mark.parametrize("name", WRITES)
def test_a_throttled_write_is_not_a_failed_condition(once: tuple[World, Any], name: str) -> None:
    world, client = once
    operation, stage, write = WRITES[name]
    handoff = world.handoff(stage)
    with refused(client, operation, "ThrottlingException") as seen, pytest.raises(ClientError, match="Throttling"):
        write(world, handoff)
    assert seen
    assert write(world, handoff) is not None


@pytest.mark.parametrize("name", WRITES)
def test_a_write_during_a_transaction_is_a_conflict(once: tuple[World, Any], name: str) -> None:
    world, client = once
    operation, stage, write = WRITES[name]
    handoff = world.handoff(stage)
    with refused(client, operation, "TransactionConflictException") as seen, pytest.raises(Conflict):
        write(world, handoff)
    assert seen
    assert write(world, handoff) is not None


@pytest.mark.parametrize("reason", ["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"])
def test_a_transient_cancellation_is_a_conflict(once: tuple[World, Any], reason: str) -> None:
    world, client = once
    opened = world.handoff(Stage.OPENED)
    reasons = [{"Code": "None"}, {"Code": reason, "Message": "armed"}, {"Code": "None"}, {"Code": "None"}]
    with (
        refused(client, "TransactWriteItems", "TransactionCanceledException", reasons=reasons),
        pytest.raises(Conflict),
    ):
        world.rebind(opened, now=NOW)
    assert world.latest(opened) == opened


def test_an_invalid_transaction_is_an_invalid_operation(once: tuple[World, Any]) -> None:
    world, client = once
    opened = world.handoff(Stage.OPENED)
    reasons = [{"Code": "ValidationError", "Message": "armed"}, {"Code": "None"}, {"Code": "None"}, {"Code": "None"}]
    with (
        refused(client, "TransactWriteItems", "TransactionCanceledException", reasons=reasons),
        pytest.raises(InvalidOperation, match="armed"),
    ):
        world.rebind(opened, now=NOW)


def test_a_replay_during_its_first_write_is_a_conflict(once: tuple[World, Any]) -> None:
    """The handoff's item is being written, and its session is marked already: a conflict, not a handoff in flight."""
    world, client = once
    asked = world.requested()
    marked = {"Code": "ConditionalCheckFailed", "Item": to_item(item_of(world.current()))}
    reasons: list[dict[str, Any]] = [{"Code": "TransactionConflict"}, marked]
    with (
        refused(client, "TransactWriteItems", "TransactionCanceledException", reasons=reasons),
        pytest.raises(Conflict),
    ):
        world.store.handoffs.request(asked, now=NOW)
    assert world.store.handoffs.request(asked, now=NOW) == asked


def test_the_lease_of_a_lost_claim_ends(once: tuple[World, Any]) -> None:
    world, client = once
    pending = world.requested()
    with answer_lost(client, "UpdateItem"), pytest.raises(ConnectionClosedError):
        world.claim(pending)
    assert [h.id for h in world.store.handoffs.due(now=NOW + LEASE, limit=5)] == [pending.id]
