"""Simulated chats that continue where an earlier simulator with the same file ended."""

from pathlib import Path

from local.chats import CHATS
from local.chats.simulator.journal import Journal
from local.chats.simulator.store import Store
from local.chats.telegram.wire.methods import _last_number


def opened(path: Path) -> tuple[Store, Journal]:
    store = Store(CHATS, lambda: 1000.0)
    return store, Journal(path, store)


def test_chats_are_as_they_were(tmp_path: Path) -> None:
    before, first = opened(tmp_path / "chats")
    chat = before.chat("telegram", "7001")
    thread = before.open_thread(chat, "2", "Handoff", "bot", private=True, first_title="Handoff")
    said = before.post(chat, thread, "3", "owner", "hello — ✓", entities=[{"type": "bold"}])
    before.post(chat, None, "4", "bot", "in the chat")
    dropped = before.post(chat, thread, "5", "bot", "dropped")
    before.edit(chat, thread, said, "edited", buttons=[{"id": "a", "label": "Allow", "style": "primary"}])
    before.acknowledge(chat, thread, said, "owner", "Allowed")
    before.remove_message(chat, thread, dropped)
    before.remove_thread(chat, before.open_thread(chat, "6", "Gone", "bot"))
    thread.title = "Renamed"
    before.thread_changed(chat, thread)

    after, second = opened(tmp_path / "chats")  # the first one is not closed: a process that is killed closes nothing
    again, third = opened(tmp_path / "chats")

    for store in (after, again):
        assert store.chat("telegram", "7001") == chat
        assert [found.id for found in store.all_chats()] == [found.id for found in before.all_chats()]
    for journal in (first, second, third):
        journal.close()


def test_a_line_that_was_cut_off_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "chats"
    before, first = opened(path)
    before.post(before.chat("telegram", "7001"), None, "2", "owner", "whole")
    first.close()
    path.write_text(path.read_text() + '{"kind":"message","platf')

    after, second = opened(path)

    assert [message.text for message in after.chat("telegram", "7001").messages] == ["whole"]
    second.close()


def test_new_ids_follow_those_of_the_earlier_run(tmp_path: Path) -> None:
    before, journal = opened(tmp_path / "chats")
    chat = before.chat("telegram", "7001")
    thread = before.open_thread(chat, "2", "Handoff", "bot", first_title="Handoff")
    before.post(chat, thread, "17", "owner", "hello")
    journal.close()

    after, second = opened(tmp_path / "chats")

    assert _last_number(after.chat("telegram", "7001")) == 17
    second.close()
