"""What is kept of an agent's turn: messages in order, within the limits."""

from typing import Any

import acp
from acp import schema

from handoff_cli.runner.acp.record import Record
from handoff_cli.runner.excerpt import Excerpt, arguments_of
from handoff_cli.runner.results import result_body


def _record(*updates: Any) -> Record:
    record = Record()
    for update in updates:
        record.add(update)
    return record


def _started(call: str, title: str = "ls", **more: Any) -> schema.ToolCallStart:
    return schema.ToolCallStart(session_update="tool_call", tool_call_id=call, title=title, **more)


def _ended(call: str, **more: Any) -> schema.ToolCallProgress:
    return schema.ToolCallProgress(session_update="tool_call_update", tool_call_id=call, status="completed", **more)


def test_words_and_steps_are_in_order() -> None:
    said = acp.update_agent_message_text
    record = _record(said("I look."), _started("a"), _ended("a"), _started("b"), _ended("b"), said("Fo"), said("und."))
    messages = record.messages(record.reply)
    assert [message["role"] for message in messages] == ["assistant", "tool", "tool", "assistant"]
    assert messages[0]["content"] == "I look."
    assert [call["id"] for call in messages[0]["tool_calls"]] == ["a", "b"]
    assert messages[-1] == {"role": "assistant", "content": "Found."}


def test_a_step_that_never_ended_is_still_told() -> None:
    record = _record(_started("a", kind="execute", status="in_progress", raw_input={"command": "make"}))
    assert record.is_amid_step
    call, result, reply = record.messages("Stopped.")
    assert call["tool_calls"][0]["function"] == {"name": "execute", "arguments": '{"command": "make"}'}
    assert (result["content"], reply["content"]) == ("", "Stopped.")


def test_output_that_comes_in_pieces_beside_the_content_is_kept() -> None:
    piece: dict[str, Any] = {"_meta": {"terminal_output_delta": {"data": "line\n"}}}
    update = {"sessionUpdate": "tool_call_update", "toolCallId": "a", **piece}
    delta = schema.ToolCallProgress.model_validate(update)
    record = _record(_started("a"), delta, delta, _ended("a"))
    assert record.messages("Done.")[1]["content"] == "line\nline\n"


def test_raw_output_serves_where_there_is_no_content() -> None:
    record = _record(_started("a"), _ended("a", raw_output={"stdout": "x"}))
    assert record.messages("Done.")[1]["content"] == '{"stdout": "x"}'


def test_characters_that_come_in_halves_are_joined() -> None:
    said = acp.update_agent_message_text
    record = _record(said("fine \ud83d"), said("\ude00"), said(" \ud83d"))
    assert record.reply == "fine \U0001f600 \ufffd"


def test_a_reply_of_wide_characters_fits_into_a_message() -> None:
    record = _record(acp.update_agent_message_text("漢" * 200_000))
    body = result_body(
        session_id="s",
        fence=1,
        outcome="done",
        messages=record.messages(record.reply),
        given=[],
        native_id="n",
        summary={},
    )
    (message,) = body["messages"]
    assert 100_000 < len(message["content"].encode()) <= 256 * 1024


def test_a_secret_at_the_edge_of_an_excerpt_is_masked_whole() -> None:
    excerpt = Excerpt()
    excerpt.add("x" * 2030 + " AKIAABCDEFGHIJKLMNOP " + "y" * 5000)
    assert "AKIA" not in str(excerpt)
    assert len(str(excerpt).encode()) <= 2048


def test_arguments_are_json_however_long() -> None:
    import json  # noqa: PLC0415 - only here

    for given in ({"text": "é" * 9000}, {"token": "abcdefgh12345678"}, "plain", None, {"a": [1, {"b": "c"}]}):
        text = arguments_of(given, "a title")
        assert isinstance(json.loads(text), dict)
        assert len(text.encode()) <= 2500
        assert "abcdefgh12345678" not in text
