"""What one whole handoff costs in requests and write units: a budget, so that a regression is seen."""

import math
from collections import Counter
from typing import Any

import pytest

from shared.aws.items import to_item
from shared.domain.handoffs import Reason, Step
from shared.store.bundle import store_on
from tests.contracts.store.world import BROKEN, LEASE, NOW, RECEIPT, THREAD, World, sure
from tests.support.table_backends import OTHER_MAKES, DynamoServer, dynamo_tables
from tests.support.tables import TableNames

WRITE_UNIT = 1024  # bytes; a write inside a transaction counts twice
WRITES = ("PutItem", "UpdateItem", "TransactWriteItems")
CONSUMED = {"dynoxide": 38, "amazon": 61}  # as each says itself; moto keeps no such account


class Meter:
    """Counts a client's requests and the write units of what they write, as DynamoDB's price list does."""

    def __init__(self, client: Any) -> None:
        self.requests: Counter[str] = Counter()
        self.writes = 0
        self.consumed = 0.0
        self.read_items = 0
        client.meta.events.register("provide-client-params.dynamodb", self._asked)
        client.meta.events.register("after-call.dynamodb", self._answered)

    def _asked(self, *, params: dict[str, Any], model: Any, **_: Any) -> None:
        self.requests[model.name] += 1
        if model.name in WRITES:
            params["ReturnConsumedCapacity"] = "TOTAL"
        for entry in params.get("TransactItems", ()):
            (write,) = entry.values()
            self.writes += 2 * _units(write.get("Item", {}))
        if model.name in ("PutItem", "UpdateItem"):
            self.writes += _units(params.get("Item", {}))

    def _answered(self, *, parsed: dict[str, Any], model: Any, **_: Any) -> None:
        self.read_items += parsed.get("ScannedCount", 0)
        consumed = parsed.get("ConsumedCapacity", []) if model.name in WRITES else []
        for table in consumed if isinstance(consumed, list) else [consumed]:
            self.consumed += table["CapacityUnits"]


def _units(item: Any) -> int:
    """An update is taken as one unit: our items are below 1 KB but for chunks, which are put."""
    return max(1, math.ceil(len(repr(item)) / WRITE_UNIT))


@pytest.fixture
def metered(server: DynamoServer, names: TableNames) -> tuple[World, Meter]:
    client = server.other_client()
    world = World(store_on(dynamo_tables(client, names)))
    world.session(messages=[{"role": "user", "content": f"message {number}"} for number in range(40)])
    return world, Meter(client)


def hand_over(world: World) -> None:
    """The calls that the use cases make for one handoff without trouble, in their order."""
    handoffs, now = world.store.handoffs, NOW
    pending = handoffs.request(world.new_handoff(world.current()), now=now)
    handoff = sure(handoffs.claim(pending.id, claimant="p-1", now=now, lease_until=now + LEASE))
    world.store.sessions.get(handoff.session_id)
    handoff = sure(handoffs.step(handoff, Step.OPENING_THREAD, now=now))
    handoff = sure(handoffs.step(handoff, Step.THREAD_OPENED, now=now, thread=THREAD))
    handoff = sure(world.store.moves.rebind(handoff, now=now))
    sure(handoffs.kickoff_sent(handoff, now=now))
    handoff = sure(handoffs.get(handoff.id))
    session = world.start_turn(world.current(), handoff.kickoff_turn)
    assert len(list(world.store.transcripts.load(session.id))) == 40
    world.store.turns.commit(world.turn_commit(session, handoff=handoff, receipt=RECEIPT), now=now)
    for part in world.store.outbox.journal(session.id, handoff.kickoff_turn):
        world.store.outbox.sent(sure(world.store.outbox.sending(part, now=now, until=now + 1)), "m-1")
    sure(handoffs.complete(handoff, now=now))


def test_one_handoff_stays_within_its_budget(metered: tuple[World, Meter]) -> None:
    world, meter = metered
    hand_over(world)
    assert meter.requests == {
        "TransactWriteItems": 4,  # request, rebind, commit, complete
        "UpdateItem": 7,  # claim, two steps, kickoff sent, the turn's start, sending, sent
        "GetItem": 5,  # the session three times, the handoff, the thread's route
        "Query": 2,  # transcript, journal
    }
    assert meter.writes == 31  # without the indexes


@pytest.mark.parametrize("server", OTHER_MAKES, indirect=True)
def test_one_handoff_consumes_what_was_measured_with_its_indexes(
    server: DynamoServer, metered: tuple[World, Meter]
) -> None:
    world, meter = metered
    hand_over(world)
    assert meter.consumed == CONSUMED[server.name]


def test_a_status_poll_reads_twice_and_writes_nothing(metered: tuple[World, Meter]) -> None:
    world, meter = metered
    handoff = world.requested(world.current())
    meter.requests.clear()
    world.store.handoffs.get(handoff.id)
    world.store.sessions.get(handoff.session_id)
    assert meter.requests == {"GetItem": 2}


def test_a_failure_with_roll_back_costs_one_transaction(metered: tuple[World, Meter]) -> None:
    world, meter = metered
    opened = world.claim(world.requested(world.current()))
    opened = sure(world.store.handoffs.step(opened, Step.THREAD_OPENED, now=NOW, thread=THREAD))
    bound = sure(world.store.moves.rebind(opened, now=NOW))
    meter.requests.clear()
    sure(world.store.handoffs.fail(bound, BROKEN, now=NOW))
    assert meter.requests == {"GetItem": 3, "TransactWriteItems": 1}


def test_an_idle_sweep_asks_each_shard_once(metered: tuple[World, Meter]) -> None:
    world, meter = metered
    meter.requests.clear()
    assert world.store.handoffs.due(now=NOW, limit=200) == []
    assert meter.requests == {"Query": 4}


def test_the_last_page_of_a_long_transcript_costs_two_queries(metered: tuple[World, Meter]) -> None:
    world, meter = metered
    meter.requests.clear()
    assert len(list(world.store.transcripts.load("s-1", after=39))) == 1
    assert meter.requests == {"Query": 2}


def test_a_cancelled_handoff_costs_four_writes(metered: tuple[World, Meter]) -> None:
    world, meter = metered
    handoff = world.requested(world.current())
    meter.requests.clear()
    meter.writes = 0
    sure(world.store.handoffs.cancel(handoff, Reason("cancelled", "x"), now=NOW))
    assert meter.writes == 4


def test_a_long_history_of_a_place_costs_an_inbox_no_more_than_a_page(
    metered: tuple[World, Meter], server: DynamoServer, names: TableNames
) -> None:
    world, meter = metered
    done = {"status": "done", "sender": "7", "text": "words", "user": "ada", "done_by": "s-1/t-0"}
    keys = [{"pk": f"INBOX#{THREAD.place.route}", "sk": f"{number:04}", "received_at": NOW} for number in range(250)]
    for start in range(0, len(keys), 25):
        puts = [{"PutRequest": {"Item": to_item({**key, **done})}} for key in keys[start : start + 25]]
        server.client.batch_write_item(RequestItems={names.sessions: puts})
    late, fresh = world.row("0200-late"), world.row("0900")
    meter.requests.clear()

    assert world.store.inbox.new(THREAD.place, limit=25) == [late, fresh]

    assert meter.requests["Query"] <= 2
    assert meter.read_items <= 200
