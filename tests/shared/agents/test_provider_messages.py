"""Each provider's message format."""

from shared.agents.bedrock.messages import to_converse
from shared.agents.openai.messages import to_openai
from shared.agents.transcript.window import prepare
from shared.domain.messages import Message
from tests.contracts.agent.contract import assistant, tool_use, user

MESSAGES: list[Message] = [
    {"role": "system", "content": "Be brief."},
    user("find it"),
    *tool_use("search", x="found x", y="found y"),
    user("and?"),
    assistant("there"),
    {"role": "user", "content": "thanks", "internal": True, "at": 3},
]


def test_openai_gets_calls_and_results_as_messages_of_their_own() -> None:
    def call(number: int, q: str) -> dict[str, object]:
        function = {"name": "search", "arguments": f'{{"q": "{q}"}}'}
        return {"id": f"call0000{number}", "type": "function", "function": function}

    assert to_openai(prepare(MESSAGES, note="A note.")) == [
        {"role": "system", "content": "Be brief.\n\nA note."},
        {"role": "user", "content": "find it"},
        {"role": "assistant", "content": None, "tool_calls": [call(1, "x"), call(2, "y")]},
        {"role": "tool", "tool_call_id": "call00001", "content": "found x"},
        {"role": "tool", "tool_call_id": "call00002", "content": "found y"},
        {"role": "user", "content": "and?"},
        {"role": "assistant", "content": "there"},
        {"role": "user", "content": "thanks"},
    ]


def test_openai_gets_no_empty_system_message() -> None:
    assert to_openai(prepare([user("hi")], note=None)) == [{"role": "user", "content": "hi"}]


def test_a_note_may_go_another_way() -> None:
    assert to_openai(prepare(MESSAGES, note="A note."), note=False)[0] == {"role": "system", "content": "Be brief."}


def test_converse_gets_calls_as_blocks_and_declared_tools() -> None:
    def use(number: int, q: str) -> dict[str, object]:
        return {"toolUse": {"toolUseId": f"call0000{number}", "name": "search", "input": {"q": q}}}

    def result(number: int, text: str) -> dict[str, object]:
        return {"toolResult": {"toolUseId": f"call0000{number}", "content": [{"text": text}]}}

    request = to_converse(prepare(MESSAGES, note="A note."))
    assert request["system"] == [{"text": "Be brief.\n\nA note."}]
    assert request["messages"] == [
        {"role": "user", "content": [{"text": "find it"}]},
        {"role": "assistant", "content": [use(1, "x"), use(2, "y")]},
        {"role": "user", "content": [result(1, "found x"), result(2, "found y"), {"text": "and?"}]},
        {"role": "assistant", "content": [{"text": "there"}]},
        {"role": "user", "content": [{"text": "thanks"}]},
    ]
    (tool,) = request["toolConfig"]["tools"]
    assert tool["toolSpec"]["name"] == "search"


def test_converse_gets_no_tools_where_none_were_used() -> None:
    assert set(to_converse(prepare([user("hi")], note=None))) == {"messages"}
