"""The delivery journal: one sender at a time, nothing sent twice."""

from dataclasses import replace
from typing import Any

import pytest

from shared.domain.routes import Place
from shared.ports.platforms import Button, Part
from shared.store.outbox import OutPart, part_at
from tests.contracts.store.world import NOW, THREAD, Ending, World, sure


def part(turn_id: str, number: int = 0, **changes: Any) -> OutPart:
    return replace(
        OutPart("s-1", turn_id, number, THREAD.place, Part("words", {"entities": [{"offset": 0}]})), **changes
    )


def test_parts_are_read_back_in_order_with_all_that_they_hold(world: World) -> None:
    world.session()
    parts = [
        part("t-1", number, part=Part(f"🚀 {number}", {"n": number, "deep": {"x": [None, 1, "y"]}}))
        for number in range(12)
    ]
    world.store.outbox.post(parts, now=NOW)
    assert world.store.outbox.journal("s-1", "t-1") == parts


def test_the_buttons_of_a_part_are_read_back(world: World) -> None:
    buttons = (Button("allow:1", "Allow ✅", "primary"), Button("deny:1", "Deny", "danger"), Button("x", "Später"))
    asked = part("n-1", part=Part("May I?", buttons=buttons))
    world.store.outbox.post([asked], now=NOW)
    assert world.store.outbox.journal("s-1", "n-1") == [asked]
    assert sure(world.store.outbox.sending(asked, now=NOW, until=NOW + 9)).part == asked.part

    world.store.outbox.sent(asked, "m-1")

    (sent,) = world.store.outbox.journal("s-1", "n-1")
    assert sent.part == Part("")


def test_posting_again_keeps_the_parts(world: World) -> None:
    world.store.outbox.post([part("n-1")], now=NOW)
    sending = world.store.outbox.sending(part("n-1"), now=NOW, until=NOW + 9)
    world.store.outbox.post([part("n-1"), part("n-1", 1)], now=NOW)
    assert world.store.outbox.journal("s-1", "n-1") == [sending, part("n-1", 1)]


@pytest.mark.parametrize("other", ["t-10", "t-1#0001", "t-1#x", "t"])
def test_a_journal_has_no_parts_of_a_similar_turn_id(world: World, other: str) -> None:
    world.store.outbox.post([part("t-1"), part(other)], now=NOW)
    assert world.store.outbox.journal("s-1", "t-1") == [part("t-1")]
    assert world.store.outbox.journal("s-1", other) == [part(other)]


def test_a_part_has_one_sender_at_a_time(world: World) -> None:
    (waiting,) = world.committed()
    mine = world.store.outbox.sending(waiting, now=NOW, until=NOW + 100)
    assert mine is not None
    assert (mine.state, mine.sending_until) == ("sending", NOW + 100)
    assert world.store.outbox.sending(waiting, now=NOW + 99, until=NOW + 200) is None
    assert world.store.outbox.sending(mine, now=NOW + 99, until=NOW + 200) is None


def test_a_sender_that_went_away_without_a_word_is_succeeded(world: World) -> None:
    (waiting,) = world.committed()
    world.store.outbox.sending(waiting, now=NOW, until=NOW + 100)
    successor = world.store.outbox.sending(waiting, now=NOW + 100, until=NOW + 200)
    assert successor is not None
    assert successor.sending_until == NOW + 200


def test_a_part_that_was_sent_is_never_sent_again(world: World) -> None:
    (waiting,) = world.committed()
    mine = world.store.outbox.sending(waiting, now=NOW, until=NOW + 100)
    assert mine is not None
    world.store.outbox.sent(mine, "m-1")
    assert world.store.outbox.sending(waiting, now=NOW + 999, until=NOW + 9999) is None
    (sent,) = world.store.outbox.journal("s-1", "t-1")
    assert (sent.state, sent.message_id, sent.sending_until) == ("sent", "m-1", 0)


def test_an_intent_that_was_taken_back_lets_the_next_one_send_at_once(world: World) -> None:
    (waiting,) = world.committed()
    mine = world.store.outbox.sending(waiting, now=NOW, until=NOW + 100)
    assert mine is not None
    world.store.outbox.unsent(mine)
    assert world.store.outbox.journal("s-1", "t-1") == [replace(waiting, tries=1)]
    assert world.store.outbox.sending(waiting, now=NOW, until=NOW + 100) is not None


def test_a_slow_sender_cannot_take_back_the_intent_of_its_successor(world: World) -> None:
    (waiting,) = world.committed()
    slow = world.store.outbox.sending(waiting, now=NOW, until=NOW + 100)
    successor = world.store.outbox.sending(waiting, now=NOW + 100, until=NOW + 200)
    assert slow is not None
    world.store.outbox.unsent(slow)
    assert world.store.outbox.journal("s-1", "t-1") == [successor]


def test_a_late_report_of_a_sent_part_is_accepted(world: World) -> None:
    (waiting,) = world.committed()
    slow = world.store.outbox.sending(waiting, now=NOW, until=NOW + 100)
    world.store.outbox.sending(waiting, now=NOW + 100, until=NOW + 200)
    assert slow is not None
    world.store.outbox.sent(slow, "m-1")
    (sent,) = world.store.outbox.journal("s-1", "t-1")
    assert (sent.state, sent.message_id) == ("sent", "m-1")


def test_the_first_word_on_a_part_is_the_last(world: World) -> None:
    first, second = world.committed(parts=2)
    world.store.outbox.sent(first, "m-1")
    world.store.outbox.rejected(first)
    world.store.outbox.sent(first, "m-2")
    world.store.outbox.unsent(first)
    world.store.outbox.rejected(second)
    world.store.outbox.sent(second, "m-3")
    states = [(part.state, part.message_id) for part in world.store.outbox.journal("s-1", "t-1")]
    assert states == [("sent", "m-1"), ("rejected", None)]
    assert world.store.outbox.sending(second, now=NOW + 999, until=NOW + 9999) is None


def test_a_word_on_a_part_that_is_gone_does_not_bring_it_back(world: World) -> None:
    (waiting,) = world.committed()
    world.store.sessions.delete(world.current())
    world.store.outbox.sent(waiting, "m-1")
    assert world.store.outbox.sending(waiting, now=NOW, until=NOW + 1) is None
    assert world.store.outbox.journal("s-1", "t-1") == []


def test_a_turn_that_was_never_committed_has_no_journal(world: World) -> None:
    world.ended(Ending.COMPLETED)
    assert world.store.outbox.journal("s-1", "t-404") == []


def test_each_part_has_a_key_of_its_own(world: World) -> None:
    assert len({part.key for part in world.committed(parts=8)}) == 8


def test_a_part_counts_its_senders(world: World) -> None:
    (part,) = world.committed()
    for tries in (1, 2, 3):
        claimed = sure(world.store.outbox.sending(part, now=NOW, until=NOW + 1))
        assert claimed.tries == tries
        world.store.outbox.unsent(claimed)


def test_the_next_sender_finds_the_placeholder(world: World) -> None:
    (part,) = world.committed()
    claimed = sure(world.store.outbox.sending(part, now=NOW, until=NOW + 1))

    placed = world.store.outbox.placed(claimed, "m-7")

    assert placed.placeholder == "m-7"
    assert sure(world.store.outbox.sending(part, now=NOW + 1, until=NOW + 2)).placeholder == "m-7"


def test_the_platform_decides_an_open_part_by_its_address(world: World) -> None:
    first, second, third = world.committed(parts=3)
    sure(world.store.outbox.sending(first, now=NOW, until=NOW + 1))
    for _ in range(2):
        world.store.outbox.reported(first.address, first.place, "m-1")
    world.store.outbox.reported(second.address, second.place, None)
    states = [(part.state, part.message_id, part.part.text) for part in world.store.outbox.journal("s-1", "t-1")]
    assert states[:2] == [("sent", "m-1", ""), ("rejected", None, "")]
    assert states[2][0] == "waiting"
    assert world.store.outbox.sending(first, now=NOW + 9, until=NOW + 10) is None
    assert part_at(third.address) == ("s-1", "t-1", 2)


def test_a_report_changes_no_decided_part_and_none_of_another_place(world: World) -> None:
    first, second = world.committed(parts=2)
    world.store.outbox.sent(first, "m-1")
    world.store.outbox.reported(first.address, first.place, "m-2")
    world.store.outbox.reported(first.address, first.place, None)
    world.store.outbox.reported(second.address, Place("chat", "another"), "m-3")
    for address in ("", "x", "s-1/t-1/7", "s-1/t-1/x", "s-2/t-1/0", "/".join("abcd"), "%/%/1"):
        world.store.outbox.reported(address, first.place, "m-4")
    assert [(p.state, p.message_id) for p in world.store.outbox.journal("s-1", "t-1")] == [
        ("sent", "m-1"),
        ("waiting", None),
    ]


@pytest.mark.parametrize("session_id", ["s-1", "at-chat:home", "a/b#c", "ünï"])
def test_an_address_leads_back_to_its_part(session_id: str) -> None:
    there = OutPart(session_id, "t#1/2", 7, THREAD.place, Part("x"))
    assert part_at(there.address) == (session_id, "t#1/2", 7)
    assert there.address.isascii()
