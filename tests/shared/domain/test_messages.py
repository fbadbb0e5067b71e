"""Messages: validation, and the digest that client and service compute."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.messages import (
    CUT,
    MAX_MESSAGE_BYTES,
    ROLES,
    canonical,
    count_by_role,
    digest,
    ends_in_unfinished_tool_call,
    fitting_reply,
    problem_with,
    text_of,
)

CALL = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
USER = {"role": "user", "content": "hello"}
CALLING = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "README.md"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    "message",
    [
        *({"role": role, "content": "x", "tool_call_id": "c1"} for role in ROLES),
        USER,
        CALLING,
        RESULT,
        {"role": "user", "content": ""},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image", "url": "…"}]},
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "user", "content": "x", "internal": True, "anything": {"else": [1]}},
    ],
)
def test_a_valid_message_has_no_problem(message: Mapping[str, Any]) -> None:
    assert problem_with(message) is None


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ("hello", "an object"),
        ([USER], "an object"),
        (None, "an object"),
        ({"content": "x"}, "role must be one of system, user, assistant, tool"),
        ({"role": "robot", "content": "x"}, "role must be"),
        ({"role": ["user"], "content": "x"}, "role must be"),
        ({"role": "user"}, "content is missing"),
        ({"role": "user", "content": None}, "content is missing"),
        ({"role": "assistant", "content": None, "tool_calls": []}, "content is missing"),
        ({"role": "user", "content": 7}, "content must be"),
        ({"role": "user", "content": {"text": "x"}}, "content must be"),
        ({"role": "assistant", "content": "x", "tool_calls": 7}, "tool_calls must be a list"),
        ({"role": "assistant", "content": None, "tool_calls": {"id": "c1"}}, "tool_calls must be a list"),
        ({"role": "tool", "content": "x"}, "tool_call_id"),
        ({"role": "tool", "content": "x", "tool_call_id": 7}, "tool_call_id"),
        ({"role": "user", "content": "x" * MAX_MESSAGE_BYTES}, "at most 256 KiB"),
        ({"role": "user", "content": "é" * (MAX_MESSAGE_BYTES // 2)}, "at most 256 KiB"),
    ],
)
def test_a_broken_message_is_told_what_is_wrong_with_it(raw: object, says: str) -> None:
    assert says in str(problem_with(raw))


def test_a_message_of_just_the_limit_is_accepted() -> None:
    frame = len(canonical({"role": "user", "content": ""}))
    assert problem_with({"role": "user", "content": "x" * (MAX_MESSAGE_BYTES - frame)}) is None
    assert problem_with({"role": "user", "content": "x" * (MAX_MESSAGE_BYTES - frame + 1)}) is not None


@given(st.dictionaries(st.text(), JSON, max_size=5))
def test_canonical_bytes_do_not_depend_on_the_order_of_keys(message: dict[str, Any]) -> None:
    backwards = dict(reversed(message.items()))
    assert canonical(message) == canonical(backwards)
    assert json.loads(canonical(message)) == message


def test_the_digest_is_the_one_that_the_contract_describes() -> None:
    lines = b'{"content":"h\xc3\xa9 \xf0\x9f\x9a\x80","role":"user"}\n{"content":"ok","role":"assistant"}\n'
    messages = [{"role": "user", "content": "hé 🚀"}, {"role": "assistant", "content": "ok"}]
    assert digest(messages) == "sha256:" + hashlib.sha256(lines).hexdigest()


def test_the_digest_of_no_messages_is_that_of_no_bytes() -> None:
    assert digest([]) == "sha256:" + hashlib.sha256(b"").hexdigest()


@given(st.lists(st.fixed_dictionaries({"role": st.sampled_from(ROLES), "content": st.text()}), min_size=2, max_size=6))
def test_the_digest_sees_every_message_and_their_order(messages: list[dict[str, Any]]) -> None:
    assert digest(messages) == digest(iter(messages))
    assert digest(messages) != digest(messages[:-1])
    if messages[0] != messages[-1]:
        assert digest(messages) != digest([messages[-1], *messages[1:-1], messages[0]])


def test_a_lone_surrogate_has_a_digest() -> None:
    assert digest([{"role": "user", "content": "\ud83d"}]) != digest([{"role": "user", "content": "\ude80"}])


def test_roles_are_counted_in_their_usual_order() -> None:
    counts = count_by_role([RESULT, USER, CALLING, USER])
    assert list(counts.items()) == [("user", 2), ("assistant", 1), ("tool", 1)]


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (USER, "hello"),
        (CALLING, ""),
        (
            {
                "role": "user",
                "content": [{"type": "text", "text": "a"}, {"type": "image"}, "stray", {"text": 7}, {"text": "b"}],
            },
            "a\nb",
        ),
    ],
)
def test_the_words_of_a_message_come_from_text_and_from_parts(message: Mapping[str, Any], text: str) -> None:
    assert text_of(message) == text


@pytest.mark.parametrize(
    ("messages", "unfinished"),
    [
        ([], False),
        ([USER], False),
        ([USER, CALLING], True),
        ([USER, CALLING, RESULT], False),
        ([USER, CALLING, RESULT, {"role": "assistant", "content": "done"}], False),
        ([USER, CALLING, {"role": "tool", "tool_call_id": "c2", "content": "x"}], True),
        ([USER, {**CALLING, "tool_calls": [CALL, {**CALL, "id": "c2"}]}, RESULT], True),
        ([USER, CALLING, USER], False),
        ([RESULT], False),
    ],
    ids=["empty", "words", "call", "answered", "done", "other answer", "one of two", "left behind", "result alone"],
)
def test_a_tool_call_at_the_end_without_its_result_is_unfinished(
    messages: list[Mapping[str, Any]], unfinished: bool
) -> None:
    assert ends_in_unfinished_tool_call(messages) is unfinished


LONG = {
    "plain": "x" * MAX_MESSAGE_BYTES,
    "wide": "é" * MAX_MESSAGE_BYTES,
    "emoji": "🙂" * MAX_MESSAGE_BYTES,
    "escaped": "\n" * MAX_MESSAGE_BYTES,
    "control characters": "\x01" * MAX_MESSAGE_BYTES,
    "half an emoji": "\ud83d" * MAX_MESSAGE_BYTES,
    "seven megabytes": "word " * 1_400_000,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_a_reply_that_is_too_long_is_cut_and_says_so(text: str) -> None:
    reply = fitting_reply(text)
    assert len(canonical({"role": "assistant", "content": reply})) <= MAX_MESSAGE_BYTES
    assert reply.endswith(CUT)
    assert text.startswith(reply.removesuffix(CUT))


def test_a_cut_reply_uses_the_room_that_it_has() -> None:
    assert len(fitting_reply(LONG["plain"])) > MAX_MESSAGE_BYTES - 1000


@pytest.mark.parametrize("text", ["", "hello", "x" * (MAX_MESSAGE_BYTES - 100)])
def test_a_reply_within_the_limit_stays_as_it_is(text: str) -> None:
    assert fitting_reply(text) == text
