"""The inbox: one row per event, in the order of speaking, closed once."""

from dataclasses import replace
from functools import partial

import pytest

from shared.domain.attachments import Attachment
from shared.domain.routes import Place
from shared.store.inbox import UNREADABLE_EVERY, InboxRow
from tests.contracts.store.racing import insist, race
from tests.contracts.store.world import NOW, THREAD, World

ELSEWHERE = Place("telegram", "1001", "18")


def new(world: World, place: Place = THREAD.place, limit: int = 50) -> list[str]:
    return [row.event_id for row in world.store.inbox.new(place, limit=limit)]


def test_a_row_is_read_back_as_it_was_written(world: World) -> None:
    row = world.row(text="Zoë said 🚀\n\x07", sender="U:1#2")
    assert world.store.inbox.get(row.place, row.event_id) == row
    assert world.store.inbox.new(row.place, limit=5) == [row]


def test_attachments_and_forwarded_words_are_read_back(world: World) -> None:
    beside = {"attachments": (Attachment("picture", 2), Attachment("voice")), "forwarded": "said Zoë", "album": "7"}
    row = InboxRow(THREAD.place, "0001", "7", "", NOW, "ada", **beside)  # type: ignore[arg-type]  # of several types
    assert world.store.inbox.put(row)
    assert world.store.inbox.get(row.place, row.event_id) == row
    world.store.inbox.close([row], by="told")
    closed = world.store.inbox.get(row.place, row.event_id)
    assert closed == replace(row, done_by="told", forwarded="")


def test_a_place_is_told_of_one_unreadable_message_a_minute(world: World) -> None:
    def taken(subject: str, after: int, place: Place = THREAD.place) -> bool:
        return world.store.inbox.take_unreadable(place, subject, now=NOW + after)

    assert taken("0001", 0)
    assert taken("0001", 10), "a repeat"
    assert not taken("0002", UNREADABLE_EVERY - 1)
    assert taken("0001", UNREADABLE_EVERY), "a late repeat"
    assert taken("0003", UNREADABLE_EVERY), "which has moved nothing"
    assert not taken("0001", UNREADABLE_EVERY + 1)
    assert taken("0001", 0, ELSEWHERE)


def test_of_unreadable_messages_at_once_one_is_taken(world: World) -> None:
    take = world.store.inbox.take_unreadable
    each = [partial(take, THREAD.place, f"{number % 6}", now=NOW) for number in range(12)]
    assert sum(race(*map(insist, each))) == 2, "one subject, for both who have it"


def test_a_redelivered_event_changes_nothing(world: World) -> None:
    row = world.row()
    assert not world.store.inbox.put(replace(row, text="edited", received_at=NOW + 9))
    assert world.store.inbox.new(row.place, limit=5) == [row]


def test_a_redelivery_of_an_answered_event_does_not_open_it_again(world: World) -> None:
    row = world.row()
    world.store.inbox.close([row], by="told")
    assert not world.store.inbox.put(row)
    assert new(world) == []


def test_rows_are_ordered_by_event_and_not_by_arrival(world: World) -> None:
    for event_id in ("0003", "0001", "0004", "0002"):
        world.row(event_id)
    assert new(world) == ["0001", "0002", "0003", "0004"]
    assert new(world, limit=2) == ["0001", "0002"]


def test_places_have_inboxes_of_their_own(world: World) -> None:
    world.row("0001")
    world.row("0001", place=ELSEWHERE)
    world.row("0001", place=THREAD.place.home)
    assert new(world) == new(world, ELSEWHERE) == new(world, THREAD.place.home) == ["0001"]
    world.store.inbox.close([world.row("0002")], by="told")
    assert new(world, ELSEWHERE) == ["0001"]


def test_closing_a_row_keeps_the_first_answer_and_drops_the_text(
    world: World,
) -> None:
    row = world.row()
    world.store.inbox.close([row], by="told")
    world.store.inbox.close([row], by="another")
    assert world.store.inbox.get(row.place, row.event_id) == replace(row, done_by="told", text="")


def test_closing_what_is_not_there_writes_nothing(world: World) -> None:
    ghost = InboxRow(THREAD.place, "0404", "7", "?", NOW, user_id="ada")
    world.store.inbox.close([ghost], by="told")
    assert world.store.inbox.get(ghost.place, ghost.event_id) is None


def test_closing_some_rows_leaves_the_others_new(world: World) -> None:
    rows = [world.row(f"{number:04}") for number in range(5)]
    world.store.inbox.close([rows[1], rows[3]], by="told")
    assert new(world) == ["0000", "0002", "0004"]


def test_an_old_row_that_arrives_late_is_found_behind_answered_ones(world: World) -> None:
    rows = [world.row(f"{number:04}") for number in range(10, 40)]
    world.store.inbox.close(rows, by="told")
    world.row("0009")
    assert new(world) == ["0009"]


@pytest.mark.parametrize("event_id", ["!", "~", "1718000000.000100", "🚀", "0" * 200])
def test_any_platforms_event_id_is_found(world: World, event_id: str) -> None:
    row = world.row(event_id)
    assert world.store.inbox.new(row.place, limit=5) == [row]


def test_an_unknown_place_has_an_empty_inbox(world: World) -> None:
    assert world.store.inbox.new(Place("slack", "C404"), limit=5) == []
    assert world.store.inbox.get(Place("slack", "C404"), "1") is None


def test_a_row_keeps_the_epoch_at_which_it_was_accepted(world: World) -> None:
    row = world.row(epoch=7)
    assert world.store.inbox.get(row.place, row.event_id) == row
