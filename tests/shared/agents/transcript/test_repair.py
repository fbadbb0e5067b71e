"""Stored messages become entries that a model accepts."""

from typing import Any

import pytest

from shared.agents.transcript.conversation import Call, Entry
from shared.agents.transcript.repair import NO_OUTPUT, NO_RESULT, plain_text, repair
from shared.domain.messages import Message
from tests.contracts.agent.contract import assistant, tool_use, user


def test_system_messages_at_the_start_become_one_text() -> None:
    system, entries = repair([{"role": "system", "content": "one"}, {"role": "system", "content": "two"}, user("hi")])
    assert (system, entries) == ("one\n\ntwo", [Entry("user", "hi")])


def test_a_later_system_message_becomes_user_text() -> None:
    _, entries = repair([user("hi"), {"role": "system", "content": "be kind"}, assistant("hello")])
    assert entries == [Entry("user", "hi"), Entry("user", "[System] be kind"), Entry("assistant", "hello")]


def test_empty_messages_go() -> None:
    _, entries = repair([user(""), assistant(" \n"), user("hi"), {"role": "user", "content": []}])
    assert entries == [Entry("user", "hi")]


def test_a_call_and_its_result_become_one() -> None:
    _, entries = repair(tool_use("search", abc="found"))
    assert entries == [Entry("assistant", "", (Call("call00001", "search", {"q": "abc"}, "found"),), messages=2)]


def test_a_result_finds_its_call_past_whatever_stands_between() -> None:
    call, result = tool_use("search", abc="found")
    _, entries = repair([call, user("hurry"), {"role": "system", "content": "rule"}, result])
    assert [entry.role for entry in entries] == ["assistant", "user", "user"]
    assert entries[0].calls[0].result == "found"


def test_results_in_another_order_reach_their_own_calls() -> None:
    call, a, b = tool_use("search", a="result a", b="result b")
    _, entries = repair([call, b, a])
    assert [(c.arguments["q"], c.result) for c in entries[0].calls] == [("a", "result a"), ("b", "result b")]


def test_a_call_without_a_result_says_so() -> None:
    call, a, _ = tool_use("search", a="result a", b="lost")
    _, entries = repair([call, a, user("and?")])
    assert [c.result for c in entries[0].calls] == ["result a", NO_RESULT]


def test_a_result_without_words_says_so() -> None:
    assert repair(tool_use("search", a=""))[1][0].calls[0].result == NO_OUTPUT


def test_a_result_without_a_call_is_kept_as_words() -> None:
    _, entries = repair([{"role": "tool", "tool_call_id": "gone", "content": "42 files"}])
    assert entries[0].role == "user"
    assert "42 files" in entries[0].text


def test_a_second_result_of_one_call_is_kept_as_words() -> None:
    call, result = tool_use("search", a="first")
    _, entries = repair([call, result, {**result, "content": "second"}])
    assert entries[0].calls[0].result == "first"
    assert "second" in entries[1].text


def test_ids_that_a_terminal_repeats_are_told_apart() -> None:
    _, entries = repair([*tool_use("search", call_0="one"), *tool_use("search", call_0="two")])
    assert [(c.id, c.result) for entry in entries for c in entry.calls] == [("call00001", "one"), ("call00002", "two")]


@pytest.mark.parametrize(
    ("call", "name", "arguments"),
    [
        ({"id": "1", "function": {"name": "read file", "arguments": '{"a": 1}'}}, "read_file", {"a": 1}),
        ({"id": "1", "name": "read", "input": {"a": 1}}, "read", {"a": 1}),
        ({"id": "1", "function": {"name": "read", "arguments": '{"a": '}}, "read", {"arguments": '{"a": '}),
        ({"id": "1", "function": {"name": "read", "arguments": "[1]"}}, "read", {"arguments": "[1]"}),
        ({"id": "1", "function": {"name": "read", "arguments": '{"a": 1e999}'}}, "read", {"arguments": '{"a": 1e999}'}),
        ({"id": "1", "function": {"name": "read", "arguments": ""}}, "read", {}),
        ({"id": "1", "function": {"arguments": None}}, "tool", {}),
        ({"id": "1"}, "tool", {}),
        ({"id": "1", "function": {"name": "n" * 99, "arguments": '{"a": "\\ud800"}'}}, "n" * 64, {"a": "\ufffd"}),
    ],
)
def test_a_call_is_read_in_every_known_shape(call: dict[str, Any], name: str, arguments: dict[str, Any]) -> None:
    _, (entry,) = repair([{"role": "assistant", "content": None, "tool_calls": [call]}])
    assert (entry.calls[0].name, entry.calls[0].arguments) == (name, arguments)


def test_tool_calls_that_are_none_are_no_calls() -> None:
    odd: Message = {"role": "assistant", "content": "hi", "tool_calls": ["what", 3, None]}
    assert repair([odd])[1] == [Entry("assistant", "hi")]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        (None, ""),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
        ([{"type": "image_url", "image_url": {"url": "data:"}}, "bare"], "[image_url]\nbare"),
        ([{"type": "tool_result", "content": [{"type": "text", "text": "inner"}]}], "inner"),
        ("a\x00b\ud83d\ude00\ud800", "a\ufffdb😀\ufffd"),
    ],
)
def test_words_are_found_in_every_kind_of_content(content: object, text: str) -> None:
    assert plain_text(content) == text


def test_content_nested_without_end_ends() -> None:
    nested: list[Any] = []
    for _ in range(5_000):
        nested = [nested]
    assert plain_text(nested) == ""
