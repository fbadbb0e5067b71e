"""The simulator's store and its faults, without HTTP."""

import pytest

from local.chats import CHATS
from local.chats.simulator.faults import Fault, Faults
from local.chats.simulator.store import Change, NotFound, Store


@pytest.fixture
def store() -> Store:
    return Store(CHATS, clock=lambda: 1000.0)


def test_listeners_get_changes_in_order_until_removed(store: Store) -> None:
    changes: list[Change] = []
    stop = store.listen(changes.append)
    chat = store.chat("telegram", "7001")
    thread = store.open_thread(chat, "2", "Tea", "bot")
    message = store.post(chat, thread, "3", "bot", "hello")
    store.edit(chat, thread, message, "there")
    store.typing(chat, "2", 5.0)
    store.remove_thread(chat, thread)
    stop()
    store.post(chat, None, "4", "owner", "later")
    assert [change.kind for change in changes] == ["thread", "message", "edit", "typing", "gone"]
    assert {change.thread_id for change in changes} == {"2"}


def test_a_message_ends_typing_only_in_its_place(store: Store) -> None:
    chat = store.chat("telegram", "7001")
    thread = store.open_thread(chat, "2", "Tea", "bot")
    store.typing(chat, None, 5.0)
    store.typing(chat, "2", 5.0)
    store.post(chat, thread, "3", "bot", "hello")
    assert store.typing_in(chat) == {None: 1005.0}


def test_unknown_chats_threads_and_messages_are_not_found(store: Store) -> None:
    chat = store.chat("slack", "C0HOME")
    with pytest.raises(NotFound, match="no chat C0NOPE"):
        store.chat("slack", "C0NOPE")
    with pytest.raises(NotFound, match="no thread 1"):
        store.thread(chat, "1")
    with pytest.raises(NotFound, match="no message 1"):
        store.find(chat, "1")


def test_writing_in_a_thread_makes_one_a_member(store: Store) -> None:
    chat = store.chat("discord", "6001000000000000001")
    thread = store.open_thread(chat, "2", "Tea", "bot")
    store.post(chat, thread, "3", "owner", "hello")
    assert thread.members == {"bot", "owner"}


def test_a_fault_is_consumed_only_by_matching_calls() -> None:
    faults = Faults()
    faults.arm(Fault("telegram", "reset", 2, 0.0))
    assert faults.take("slack", "send") is None
    assert faults.take("telegram", "typing") is None
    assert faults.take("telegram", "send") is not None
    assert faults.take("telegram", "open_thread") is not None
    assert faults.take("telegram", "send") is None
    assert faults.armed == ()


def test_a_fault_on_one_operation_skips_others() -> None:
    faults = Faults()
    faults.arm(Fault("discord", "slow", 1, 1.0, on="typing"))
    assert faults.take("discord", "send") is None
    assert faults.take("discord", "typing") is not None


def test_faults_apply_in_the_order_of_arming() -> None:
    faults = Faults()
    faults.arm(Fault("slack", "reset", 1, 0.0))
    faults.arm(Fault("slack", "forbidden", 1, 0.0))
    taken = [faults.take("slack", "send"), faults.take("slack", "edit")]
    assert [fault.kind for fault in taken if fault] == ["reset", "forbidden"]


def test_redelivery_does_not_apply_to_calls() -> None:
    faults = Faults()
    faults.arm(Fault("slack", "redeliver", 1, 0.0))
    assert faults.take("slack", "send") is None
    assert faults.take_redelivery("slack")
    assert not faults.take_redelivery("slack")
