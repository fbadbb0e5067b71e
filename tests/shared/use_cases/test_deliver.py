"""Delivery under faults: no reply is lost, and none is doubled without a mark."""

import pytest

from shared.domain.handoffs import State
from shared.domain.routes import Place, notices_at
from shared.errors import Ambiguous, NotSent, PlaceGone, PlatformError, RateLimited, Rejected
from shared.ports.inbound import WebhookRequest
from shared.ports.platforms import Button, Part
from shared.store.bundle import Store
from shared.store.outbox import OutPart, part_at
from shared.use_cases.chat.receive_message import receive_message
from shared.use_cases.deliver import REPEAT_MARK, REPEATING, SEND_LIMIT, deliver
from tests.support.fake_platform import Idempotency
from tests.support.use_case_world import HOME, World

WAYS: list[Idempotency] = ["key", "readback", "both", "none"]


@pytest.fixture(params=WAYS)
def any_world(store: Store, request: pytest.FixtureRequest) -> World:
    return World(store, idempotency=request.param)


def answered(world: World, place: Place) -> list[str]:
    return world.platform.said(place)[1:]


def reply_to(world: World, place: Place) -> None:
    """Say something and let the agent answer; the reply is not delivered yet."""
    world.say(place, "And?", "0001")
    world.turn()
    world.agents()


def test_a_long_retry_after_is_obeyed_through_the_queue(any_world: World) -> None:
    world = any_world
    _, place = world.moved()
    world.platform.next["send"].append(RateLimited(1800))
    reply_to(world, place)

    world.turn()
    (waiting,) = world.queue.waiting

    assert waiting.visible_at == world.clock.now() + 1_800_000
    assert answered(world, place) == []
    world.turns()
    assert answered(world, place) == ["reply to 5"]
    assert len(world.agent.given) == 2, "the kickoff, and the words once"


@pytest.mark.parametrize("trouble", [NotSent("down"), Ambiguous("reset")], ids=["not sent", "reset before acceptance"])
def test_a_reply_that_was_not_taken_arrives_once(any_world: World, trouble: PlatformError) -> None:
    world = any_world
    _, place = world.moved()
    world.platform.next["send"].extend([trouble, trouble])
    world.say(place, "And?", "0001")

    world.turns()

    (reply,) = answered(world, place)
    may_be_marked = world.idempotency == "none" and isinstance(trouble, Ambiguous)
    assert reply == "reply to 5" + (REPEAT_MARK if may_be_marked else "")


def test_a_lost_answer_doubles_no_reply_without_a_mark(any_world: World) -> None:
    world = any_world
    _, place = world.moved()
    world.platform.accepts_before_failing = True
    world.platform.next["send"].append(Ambiguous("reset after acceptance"))
    world.say(place, "And?", "0001")

    world.turns()

    repeat = ["reply to 5" + REPEAT_MARK] if world.idempotency == "none" else []
    assert answered(world, place) == ["reply to 5", *repeat]


def test_without_reconciliation_there_is_one_repeat_at_most(store: Store) -> None:
    """Each lost answer may leave a placeholder, but never another copy of the reply."""
    world = World(store, idempotency="none")
    _, place = world.moved()
    world.platform.accepts_before_failing = True
    world.platform.next["send"].extend([Ambiguous("reset after acceptance")] * 5)
    world.platform.next["edit"].extend([Ambiguous("reset after acceptance")] * 2)
    world.say(place, "And?", "0001")

    world.turns()

    said = answered(world, place)
    assert [text for text in said if text != REPEATING] == ["reply to 5", "reply to 5" + REPEAT_MARK]
    assert said.count(REPEATING) == 4


def test_a_question_keeps_its_buttons_through_a_lost_answer(any_world: World) -> None:
    world = any_world
    buttons = (Button("allow", "Allow", "primary"), Button("deny", "Deny", "danger"))
    owner = notices_at(HOME)
    asked = OutPart(owner, "ask-1", 0, HOME, Part("May I?", buttons=buttons))
    world.store.outbox.post([asked], now=world.clock.now())
    world.platform.accepts_before_failing = True
    world.platform.next["send"].append(Ambiguous("reset after acceptance"))

    deliver(world.services, owner, "ask-1")

    repeat = ["May I?" + REPEAT_MARK] if world.idempotency == "none" else []
    assert world.platform.said(HOME) == ["May I?", *repeat]
    assert {post.buttons for post in world.platform.posts[HOME]} == {buttons}


def test_an_interrupted_repeat_is_finished(store: Store) -> None:
    world = World(store, idempotency="none")
    _, place = world.moved()
    world.platform.next["send"].append(Ambiguous("reset"))
    world.platform.next["edit"].append(SystemError("the process dies here"))
    reply_to(world, place)
    with pytest.raises(SystemError):
        world.turn()
    assert answered(world, place) == [REPEATING]

    world.turns()

    assert answered(world, place) == ["reply to 5" + REPEAT_MARK]


def test_a_repeat_whose_edits_fail_leaves_one_placeholder(store: Store) -> None:
    world = World(store, idempotency="none")
    _, place = world.moved()
    world.platform.next["send"].append(Ambiguous("reset"))
    world.platform.next["edit"].extend([Ambiguous("reset")] * 7)
    world.say(place, "And?", "0001")

    world.turns()

    assert answered(world, place) == ["reply to 5" + REPEAT_MARK]


def test_a_dead_sender_is_replaced_after_its_time(any_world: World) -> None:
    world = any_world
    _, place = world.moved()
    reply_to(world, place)
    world.platform.next["send"].append(SystemError("the process dies here"))
    with pytest.raises(SystemError):
        world.turn()
    world.queue.waiting[0].visible_at = world.clock.now()

    world.turn()
    assert answered(world, place) == []
    world.turns()

    (reply,) = answered(world, place)
    assert (REPEAT_MARK in reply) == (world.idempotency == "none")


def test_parts_keep_their_order_across_a_fault(any_world: World) -> None:
    world = any_world
    _, place = world.moved()
    text = "".join(f"{number:04}" for number in range(600))
    world.agent.next.append(lambda: text)
    world.platform.next["send"].extend([lambda: None, RateLimited(60)])
    world.say(place, "And?", "0001")

    world.turns()

    assert "".join(answered(world, place)) == text


@pytest.mark.parametrize("refusal", [Rejected("forbidden"), PlaceGone("deleted")], ids=["forbidden", "thread gone"])
def test_a_rejected_confirmation_fails_the_handoff(any_world: World, refusal: Rejected) -> None:
    world = any_world
    world.session()
    handoff = world.ask()
    world.platform.next["send"].append(refusal)

    world.process(handoff)
    world.turns()

    failed, session = world.latest(handoff), world.current()
    assert failed.state == State.FAILED
    assert failed.error is not None
    assert failed.error.code == "delivery_rejected"
    assert str(refusal) in failed.error.message
    assert (session.owner, session.epoch, session.active_handoff) == (session.cli, 2, None)


def test_a_rejected_reply_is_kept_in_the_transcript(world: World) -> None:
    _, place = world.moved()
    world.platform.next["send"].append(Rejected("forbidden"))
    world.say(place, "And?", "0001")
    world.turns()
    world.say(place, "Still there?", "0002")
    world.turns()

    assert [message["content"] for message in world.transcript()][4:6] == ["And?", "reply to 5"]
    assert answered(world, place) == ["reply to 7"]


def test_where_the_thread_is_gone_the_chat_that_held_it_is_told(world: World) -> None:
    _, place = world.moved()
    world.platform.next["send"].append(PlaceGone("thread not found"))
    world.say(place, "And?", "0001")

    world.turns()

    (told,) = world.platform.said(HOME)
    assert "/resume s-1" in told
    assert world.transcript()[-1]["content"] == "reply to 5"


def test_a_reply_survives_the_loss_of_thread_and_chat(world: World) -> None:
    _, place = world.moved()
    world.platform.next["send"].extend([PlaceGone("thread not found"), PlaceGone("chat not found")])
    world.say(place, "And?", "0001")

    world.turns()

    assert world.queue.waiting == []
    assert world.transcript()[-1]["content"] == "reply to 5"


@pytest.fixture
def reporting(store: Store) -> World:
    """A platform without edits that reports what it accepted to the webhook."""
    return World(store, idempotency="receipts")


def report(world: World, place: Place, *, refused: bool = False) -> None:
    """The platform reports its last message at the place."""
    post = world.platform.posts[place][-1]
    line = f"receipt|{place.thread}|{post.key}|{'' if refused else post.id}"
    receive_message(world.services, "chat", WebhookRequest(line.encode(), {"signature": "good"}))


def states(world: World, place: Place) -> list[str]:
    (_, turn_id, _) = part_at(world.platform.posts[place][-1].key)
    return [part.state for part in world.store.outbox.journal("s-1", turn_id)]


def test_a_receipt_decides_a_doubtful_send(reporting: World) -> None:
    world = reporting
    _, place = world.moved()
    world.platform.accepts_before_failing = True
    world.platform.next["send"].append(Ambiguous("reset after acceptance"))
    reply_to(world, place)
    world.turn()
    assert states(world, place) == ["sending"]

    report(world, place)
    report(world, place)
    began = world.clock.now()
    world.turns()

    assert answered(world, place) == ["reply to 5"]
    assert states(world, place) == ["sent"]
    assert world.clock.now() - began < 5_000, "the claim is not waited for"


def test_without_a_receipt_the_repeat_is_marked(reporting: World) -> None:
    world = reporting
    _, place = world.moved()
    world.platform.accepts_before_failing = True
    world.platform.next["send"].append(Ambiguous("reset after acceptance"))
    began = world.clock.now()
    world.say(place, "And?", "0001")

    world.turns()

    assert answered(world, place) == ["reply to 5", "reply to 5" + REPEAT_MARK]
    assert world.clock.now() - began >= SEND_LIMIT, "a report has had its time"


def test_a_receipt_of_a_refusal_ends_a_doubtful_send(reporting: World) -> None:
    world = reporting
    _, place = world.moved()
    world.platform.accepts_before_failing = True
    world.platform.next["send"].append(Ambiguous("reset after acceptance"))
    reply_to(world, place)
    world.turn()

    report(world, place, refused=True)
    world.turns()

    assert answered(world, place) == ["reply to 5"]
    assert states(world, place) == ["rejected"]
    assert world.queue.waiting == []


def test_a_late_receipt_changes_nothing(reporting: World) -> None:
    world = reporting
    _, place = world.moved()
    world.say(place, "And?", "0001")
    world.turns()
    assert states(world, place) == ["sent"]

    report(world, place, refused=True)

    assert states(world, place) == ["sent"]
