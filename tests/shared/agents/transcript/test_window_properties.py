"""Properties: every model accepts any stored transcript, and nothing is dropped needlessly."""

import json
from itertools import accumulate, pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from shared.agents.bedrock.messages import to_converse
from shared.agents.openai.messages import to_openai
from shared.agents.transcript.repair import repair
from shared.agents.transcript.window import NOTES_TOKENS, entry_tokens, prepare, tokens_in
from shared.domain.messages import Message, problem_with
from tests.contracts.agent.dialects import BedrockDialect, HttpDialect, OpenAIDialect
from tests.support.servers import Request

IDS = st.sampled_from(["a", "b", "c", "call_0", ""])
TEXTS = st.one_of(st.text(max_size=40), st.sampled_from(["", " ", "\n", "x" * 500]))
PARTS = st.one_of(
    TEXTS,
    st.fixed_dictionaries({"type": st.just("text"), "text": TEXTS}),
    st.fixed_dictionaries({"type": st.sampled_from(["image_url", "input_audio"])}),
    st.fixed_dictionaries({"type": st.just("tool_result"), "content": TEXTS}),
)
CONTENTS = st.one_of(TEXTS, st.lists(PARTS, max_size=3))
ARGUMENTS = st.one_of(st.none(), TEXTS, st.sampled_from(["{}", '{"a": [1, null, "b"]}', "[1]", '{"a": 1e999}']))
CALLS = st.fixed_dictionaries(
    {"id": IDS, "function": st.fixed_dictionaries({"name": TEXTS, "arguments": ARGUMENTS})}, optional={"extra": TEXTS}
)


def messages_of(role: str, **keys: st.SearchStrategy[Any]) -> st.SearchStrategy[Message]:
    return st.fixed_dictionaries(
        {"role": st.just(role), "content": CONTENTS, **keys},
        optional={"internal": st.booleans(), "mine": st.just("PRIVATE")},
    )


MESSAGES = st.one_of(
    messages_of("system"),
    messages_of("user"),
    messages_of("assistant"),
    messages_of("assistant", tool_calls=st.lists(CALLS, max_size=3)),
    messages_of("tool", tool_call_id=IDS),
)
TRANSCRIPTS = st.lists(MESSAGES, max_size=25)
WINDOWS = st.one_of(st.just(0), st.integers(1, 3_000))


def as_request(path: str, body: dict[str, Any]) -> Request:
    return Request("POST", path, {}, json.dumps(body, allow_nan=False).encode("utf-8"))


@given(TRANSCRIPTS)
def test_what_is_generated_here_is_what_the_service_stores(messages: list[Message]) -> None:
    assert [problem_with(message) for message in messages] == [None] * len(messages)


@given(TRANSCRIPTS, WINDOWS, st.booleans(), st.none() | st.just("a note"))
def test_every_provider_accepts_every_transcript(
    messages: list[Message], window: int, as_text: bool, note: str | None
) -> None:
    context = prepare(messages, note=note, window=window, calls_as_text=as_text)
    openai = as_request("/v1/chat/completions", {"model": "m", "messages": to_openai(context)})
    assert OpenAIDialect().problem(openai) is None
    own = {"messages": to_openai(context, note=False), "note": context.note, "deadline": 1, "idempotency_key": "k"}
    assert HttpDialect().problem(as_request("/", own)) is None
    bedrock = as_request("/model/some.model-v1%3A0/converse", to_converse(context))
    assert BedrockDialect().problem(bedrock) is None
    assert b"PRIVATE" not in openai.body + bedrock.body


@given(TRANSCRIPTS)
def test_nothing_said_is_lost_without_a_window(messages: list[Message]) -> None:
    context = prepare(messages, note=None)
    assert context.left_out == 0
    system, entries = repair(messages)
    told = "\n".join(words for entry in context.entries for words in (entry.text, *(c.result for c in entry.calls)))
    assert context.system == system
    for entry in entries:
        assert entry.text in told or not entry.text.strip()
        assert all(call.result in told for call in entry.calls)


@given(TRANSCRIPTS, st.integers(1, 3_000))
def test_what_is_kept_is_the_newest_and_as_much_as_fits(messages: list[Message], window: int) -> None:
    _, entries = repair(messages)
    context = prepare(messages, note=None, window=window)
    older = [0, *accumulate(entry.messages for entry in entries)]
    first = older.index(context.left_out)  # fails if an entry, and with it a tool pair, were ever parted
    assert first < len(entries) or not entries, "the newest always stays"
    assert (f"The {context.left_out} oldest" in context.note) == bool(context.left_out)

    budget, spent = window - window // 4, tokens_in(context.system) + NOTES_TOKENS
    kept = sum(map(entry_tokens, entries[first:]))
    assert spent + kept <= budget or len(entries) - first <= 1
    assert context.tokens <= spent + kept, "what is added on the way was accounted for"
    assert first == 0 or spent + kept + entry_tokens(entries[first - 1]) > budget, "one more would not have fitted"


@given(TRANSCRIPTS, WINDOWS)
def test_roles_alternate_and_results_are_deterministic(messages: list[Message], window: int) -> None:
    context = prepare(messages, note=None, window=window)
    assert all(before.role != after.role or before.calls for before, after in pairwise(context.entries))
    assert context == prepare(messages, note=None, window=window)
