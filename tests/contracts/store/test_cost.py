"""What one whole handoff costs in requests and write units: a budget, so that a regression is seen."""

import math
from collections import Counter
from typing import Any

import pytest

from local.operate.deploy import cost
from shared.aws.items import to_item
from shared.domain.handoffs import Reason, State, Step
from shared.domain.sessions import Session
from shared.store.bundle import store_on
from shared.use_cases.runners.register import is_sign_due, note_sign, poll
from tests.contracts.store.world import BROKEN, LEASE, NOW, RECEIPT, THREAD, World, sure
from tests.support.machine import Machine
from tests.support.table_backends import OTHER_MAKES, DynamoServer, dynamo_tables
from tests.support.tables import TableNames
from tests.support.use_case_world import World as UseCaseWorld

WRITE_UNIT = 1024  # bytes; a write inside a transaction counts twice
WRITES = ("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems")
# Capacity units with the indexes, as each server reports them; moto does not.
CONSUMED = {"dynoxide": cost.HANDOFF_WRITE_UNITS}
CONSUMED_BY_MESSAGE = {"dynoxide": cost.MESSAGE_WRITE_UNITS}
LIMITS = {"dynoxide": 47.5, "amazon": 76.25}  # 1.25 times what a handoff cost before its turn was offered to executors


class Meter:
    """Counts a client's requests and the write units of what they write, as DynamoDB's price list does."""

    def __init__(self, client: Any) -> None:
        self.requests: Counter[str] = Counter()
        self.writes = 0
        self.consumed = 0.0
        self.read_items = 0
        client.meta.events.register("provide-client-params.dynamodb", self._asked)
        client.meta.events.register("after-call.dynamodb", self._answered)

    def reset(self) -> None:
        self.requests.clear()
        self.writes, self.consumed, self.read_items = 0, 0.0, 0

    def _asked(self, *, params: dict[str, Any], model: Any, **_: Any) -> None:
        self.requests[model.name] += 1
        if model.name in WRITES:
            params["ReturnConsumedCapacity"] = "TOTAL"
        for entry in params.get("TransactItems", ()):
            (write,) = entry.values()
            self.writes += 2 * _units(write.get("Item", {}))
        if model.name in ("PutItem", "UpdateItem", "DeleteItem"):
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
    kickoff = world.kickoff(handoff)
    sure(world.store.moves.rebind(handoff, kickoff, now=now))
    # the agent
    offer = sure(world.store.turns.get(handoff.session_id, kickoff.id))
    session, handoff = world.current(), sure(handoffs.get(handoff.id))
    session = world.claim_turn(session)
    assert len(list(world.store.transcripts.load(session.id))) == 40
    world.store.turns.commit(world.turn_commit(session, handoff=handoff, receipt=RECEIPT), now=now)
    # the wake-up of the place
    (offer,) = world.store.turns.unsettled(session.id)
    world.current()
    handoff = sure(handoffs.get(sure(offer.handoff_id)))
    deliver(world, session.id, offer.journal)
    sure(handoffs.complete(handoff, now=now))
    world.store.turns.settled(offer)


def deliver(world: World, session_id: str, journal: str) -> None:
    for part in world.store.outbox.journal(session_id, journal):
        world.store.outbox.sent(sure(world.store.outbox.sending(part, now=NOW, until=NOW + 1)), "m-1")


def answer(world: World, session: Session) -> None:
    """The calls for one message of a person in a chat, from its row to the settled turn."""
    row = world.row()
    # the wake-up of the place
    (row,) = world.store.inbox.new(row.place, limit=25)
    world.store.turns.unsettled(session.id)
    world.offer(world.current(), rows=[row])
    # the agent
    offer = sure(world.store.turns.get(session.id, "t-1"))
    session = world.current()
    row = sure(world.store.inbox.get(offer.place, offer.rows[0]))
    session = world.claim_turn(session, [row])
    assert len(list(world.store.transcripts.load(session.id))) == 40
    world.store.turns.commit(world.turn_commit(session, rows=[row]), now=NOW)
    # the wake-up of the place
    (offer,) = world.store.turns.unsettled(session.id)
    world.current()
    deliver(world, session.id, offer.journal)
    world.store.turns.settled(offer)
    assert world.store.inbox.new(row.place, limit=25) == []


def test_one_handoff_stays_within_its_budget(metered: tuple[World, Meter]) -> None:
    world, meter = metered
    hand_over(world)
    assert meter.requests == {
        "TransactWriteItems": 4,  # request, rebind with the offer, commit, complete
        "UpdateItem": 6,  # claim, two steps, the agent's claim, sending, sent
        "DeleteItem": 1,  # settled
        "GetItem": 8,  # the session four times, the handoff twice, the offer, the thread's route
        "Query": 3,  # transcript, offers, journal
    }
    assert meter.writes == 33  # without the indexes
    assert meter.requests["GetItem"] + meter.requests["Query"] == cost.HANDOFF_READS


@pytest.mark.parametrize("server", OTHER_MAKES, indirect=True)
def test_one_handoff_consumes_what_was_measured_with_its_indexes(
    server: DynamoServer, metered: tuple[World, Meter]
) -> None:
    world, meter = metered
    hand_over(world)
    assert meter.consumed == CONSUMED.get(server.name, meter.consumed)
    assert meter.consumed <= LIMITS[server.name]


@pytest.mark.parametrize("server", OTHER_MAKES, indirect=True)
def test_the_use_cases_consume_what_was_measured(server: DynamoServer, names: TableNames) -> None:
    """`hand_over` and `answer` name their calls by hand: this runs them."""
    client = server.other_client()
    world = UseCaseWorld(store_on(dynamo_tables(client, names)))
    world.session(messages=[{"role": "user", "content": f"message {number}"} for number in range(40)])
    meter = Meter(client)

    handoff = world.ask()
    world.process(handoff)
    world.turns()
    assert world.latest(handoff).state is State.COMPLETED
    assert meter.consumed == CONSUMED.get(server.name, meter.consumed)

    meter.reset()
    world.say(world.current().owner, "And?", "0001")
    world.turns()
    assert len(world.transcript()) == 40 + 2 + 2
    assert meter.consumed == CONSUMED_BY_MESSAGE.get(server.name, meter.consumed)


@pytest.fixture
def in_chat(metered: tuple[World, Meter]) -> tuple[World, Meter]:
    """The session lives in a chat, and nothing is counted yet."""
    world, meter = metered
    world.store.moves.to_chat(world.current(), THREAD.place, THREAD.url, now=NOW)
    meter.reset()
    return world, meter


def test_a_message_stays_within_its_budget(in_chat: tuple[World, Meter]) -> None:
    world, meter = in_chat
    answer(world, world.current())
    assert meter.requests == {
        "PutItem": 1,  # the row
        "TransactWriteItems": 3,  # offer, claim, commit
        "UpdateItem": 2,  # sending, sent
        "DeleteItem": 1,  # settled
        "GetItem": 6,
        "Query": 6,
    }
    assert meter.writes == 22  # without the indexes


@pytest.mark.parametrize("server", OTHER_MAKES, indirect=True)
def test_a_message_consumes_what_was_measured_with_its_indexes(
    server: DynamoServer, in_chat: tuple[World, Meter]
) -> None:
    world, meter = in_chat
    answer(world, world.current())
    assert meter.consumed == CONSUMED_BY_MESSAGE.get(server.name, meter.consumed)


def test_a_renewed_lease_costs_one_write(metered: tuple[World, Meter]) -> None:
    world, meter = metered
    session = world.start_turn(world.current())
    meter.reset()
    assert world.store.turns.renew(session, lease_until=NOW + 2 * LEASE)
    assert (meter.requests, meter.writes) == ({"UpdateItem": 1}, 1)


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
    bound = sure(world.rebind(opened, now=NOW))
    meter.requests.clear()
    sure(world.store.handoffs.fail(bound, BROKEN, now=NOW))
    assert meter.requests == {"GetItem": 3, "TransactWriteItems": 1}


def test_an_idle_sweep_asks_each_shard_once(metered: tuple[World, Meter]) -> None:
    world, meter = metered
    meter.requests.clear()
    assert world.store.handoffs.due(now=NOW, limit=200) == []
    assert world.store.turns.due(now=NOW, limit=200) == []
    assert meter.requests == {"Query": cost.IDLE_SWEEP_QUERIES}


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


# --- a machine that waits


POLLED_SECONDS = 600
"""A sixth of an hour: an hour has the same rhythm, and takes a slow server long."""
IN_A_MONTH = 6 * 730


@pytest.fixture
def waiting(server: DynamoServer, names: TableNames) -> tuple[Machine, Meter]:
    """A machine at rest, whose runner polls."""
    client = server.other_client()
    machine = Machine(UseCaseWorld(store_on(dynamo_tables(client, names))))
    meter = Meter(client)
    meter.reset()
    return machine, meter


def poll_for_a_while(machine: Machine) -> int:
    """Poll as the service asks; returns how often. Each poll has a token, which costs one read."""
    services, clock = machine.world.services, machine.world.clock
    end, polls = clock.now() + POLLED_SECONDS * 1000, 0
    while clock.now() < end:
        services.store.accounts.token(machine.user, "hash")
        runner, *waiting = poll(services, machine.user, machine.id)
        assert waiting == [[], []]
        if is_sign_due(services, runner):
            note_sign(services, runner)
        clock.time += runner.poll_after_ms(clock.now())
        polls += 1
    return polls


def test_an_idle_machine_costs_little(waiting: tuple[Machine, Meter]) -> None:
    """In an hour 360 requests with 1,080 reads of one unit each, and 90 writes: a request every 10 seconds."""
    machine, meter = waiting
    polls = poll_for_a_while(machine)
    assert polls == 60
    assert polls * IN_A_MONTH == pytest.approx(260_000, rel=0.02)
    assert meter.requests == {
        "GetItem": 2 * polls,  # the token and the runner
        "Query": polls,  # the turns and the orders
        "UpdateItem": 14,  # a sign of life every 40 seconds
    }
    assert meter.writes == 14
    assert meter.read_items == 0
