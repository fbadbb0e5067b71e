"""Fitting a transcript to a window: the newest messages, whole calls, and a note on the rest."""

from shared.agents.transcript.conversation import Entry
from shared.agents.transcript.window import ENTRY_TOKENS, GO_ON, NOTES_TOKENS, OPENING, prepare, tokens_in
from shared.domain.messages import Message
from tests.contracts.agent.contract import assistant, long_transcript, tool_use, user


def test_without_a_window_nothing_is_left_out() -> None:
    given = prepare(long_transcript(400), note=None)
    assert (given.left_out, given.note) == (0, "")
    assert sum(entry.messages for entry in given.entries) == 399


def test_messages_of_one_side_in_a_row_become_one() -> None:
    given = prepare([user("one"), user("two"), assistant("three"), assistant("four"), user("five")], note=None)
    assert given.entries == (
        Entry("user", "one\n\ntwo", messages=2),
        Entry("assistant", "three\n\nfour", messages=2),
        Entry("user", "five"),
    )


def test_words_before_a_call_are_joined_to_it() -> None:
    given = prepare([user("go"), assistant("let me see"), *tool_use("search", a="found"), user("and?")], note=None)
    assert [(entry.role, entry.text, len(entry.calls)) for entry in given.entries] == [
        ("user", "go", 0),
        ("assistant", "let me see", 1),
        ("user", "and?", 0),
    ]


def test_the_user_begins_and_ends() -> None:
    given = prepare([assistant("hello")], note=None)
    assert [entry.text for entry in given.entries] == [OPENING, "hello", GO_ON]
    assert [entry.text for entry in prepare([], note=None).entries] == [OPENING]


def test_a_transcript_may_end_in_a_tools_result() -> None:
    assert prepare([user("go"), *tool_use("search", a="found")], note=None).entries[-1].calls


def test_the_newest_stay_whole_and_the_note_counts_the_others() -> None:
    messages = [user(f"question {n} " + "x" * 300) if n % 2 == 0 else assistant(f"answer {n}") for n in range(101)]
    given = prepare(messages, note="Mind the gap.", window=1_000)
    kept = 101 - given.left_out
    assert 5 < kept < 20
    assert given.entries[-1].text == messages[-1]["content"]
    assert f"The {given.left_out} oldest messages were left out to fit; the newest {kept} follow." in given.note
    assert given.note.endswith("Mind the gap.")


def test_one_message_left_out_is_one_message() -> None:
    given = prepare([user("x" * 3_000), assistant("hm"), user("and?")], note=None, window=600)
    assert "The 1 oldest message was left out" in given.note


def test_the_newest_message_stays_even_over_the_window() -> None:
    given = prepare([user("old"), assistant("hm"), user("y" * 9_000)], note=None, window=500)
    assert given.entries == (Entry("user", "y" * 9_000),)
    assert given.left_out == 2


def test_a_pair_that_does_not_fit_goes_as_a_pair() -> None:
    messages = [user("go"), *tool_use("search", a="r" * 6_000), assistant("found it"), user("and?")]
    given = prepare(messages, note=None, window=1_000)
    assert [entry.text for entry in given.entries] == [OPENING, "found it", "and?"]
    assert given.left_out == 3


def test_a_long_system_text_leaves_room_for_messages() -> None:
    messages: list[Message] = [{"role": "system", "content": "rule " * 10_000}, *long_transcript(40)[1:]]
    given = prepare(messages, note=None, window=4_000)
    assert tokens_in(given.system) <= 2_000
    assert "shortened" in given.note
    assert len(given.entries) > 10


def test_calls_in_words_keep_name_arguments_and_result() -> None:
    messages = [user("go"), *tool_use("search", a="found"), user("and?")]
    given = prepare(messages, note=None, calls_as_text=True)
    assert not given.has_calls
    assert [entry.role for entry in given.entries] == ["user", "assistant", "user"]
    assert given.entries[1].text == '[Called search with {"q": "a"}]'
    assert given.entries[2].text == "[Result of search]\nfound\n\nand?"
    assert sum(entry.messages for entry in given.entries) == 4


def test_a_foreign_script_counts_by_its_bytes() -> None:
    assert tokens_in("漢字") == 2
    assert tokens_in("") == 0


def test_the_room_is_used_to_the_last_token() -> None:
    messages = [user("x" * 300) if n % 2 == 0 else assistant("y" * 300) for n in range(21)]
    needed = NOTES_TOKENS + 10 * (ENTRY_TOKENS + 100)
    window = next(window for window in range(needed, 2 * needed) if window - window // 4 == needed)
    assert prepare(messages, note=None, window=window).left_out == 11
    assert prepare(messages, note=None, window=window - 1).left_out == 12
