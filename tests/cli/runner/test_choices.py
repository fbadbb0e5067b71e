"""What the agent asks in its own voice, and what it hears while it works: choices, plans, steered words."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from handoff_cli.runner.questions.choice import Choice, Value
from tests.cli.runner.conftest import Machine
from tests.support.runner_service import Turn
from tests.support.servers import json_response
from tests.support.waiting import eventually

Json = dict[str, Any]


def one_of(*names: str) -> list[Json]:
    return [{"const": name, "title": name, "description": f"about {name}"} for name in names]


def form(properties: Json, **more: Any) -> Json:
    return {"toolCallId": "c1", "requestedSchema": {"type": "object", "properties": properties}, **more}


DATABASE = {
    "type": "string",
    "title": "Database",
    "description": "Which database?",
    "oneOf": one_of("SQLite", "Postgres"),
}
FEATURES = {
    "type": "array",
    "title": "Features",
    "description": "Which features?",
    "items": {"anyOf": one_of("A", "B", "C")},
}
TEXT = {"type": "string", "title": "Other"}
CLAUDE = form({"question_0": DATABASE, "question_0_custom": TEXT, "question_1": FEATURES, "question_1_custom": TEXT})
CODEX_META = {"codex": {"isOther": True, "isSecret": False}}
CODEX = form(
    {
        "db": {
            "type": "string",
            "title": "Which database?",
            "description": "Database",
            "oneOf": one_of("SQLite", "None of the above"),
            "_meta": CODEX_META,
        },
        "db_note": {**TEXT, "_meta": {"codex": {"questionId": "db", "role": "user_note"}}},
    },
    _meta={"codex": {"autoResolutionMs": None}},
)
LATER = form(
    {
        "question_0": {
            "type": "string",
            "title": "Which colour?",
            "oneOf": one_of("red", "blue"),
            "_meta": CODEX_META,
        },
        "question_0_note": {**TEXT, "_meta": {"codex": {}}},
    },
    toolCallId=None,
    _meta={"codex": {"delivery": "async"}},
)


def asked(machine: Machine, path: Path, wanted: Json, how: str = "choose", *more: str) -> Turn:
    """The agent asks with this form. On Discord a message has its time in milliseconds."""
    file = path / "form.json"
    file.write_text(json.dumps({name: value for name, value in wanted.items() if value is not None}))
    thread = machine.hand_over(platform="discord")
    return machine.service.say(thread, " ".join((f"do: {how}", str(file), *more)))


def press(turn: Turn, label: str) -> None:
    """Press a button, when a message has it."""

    def found() -> tuple[Json, str] | None:
        for message in turn.thread.questions():
            for button in message["buttons"]:
                if label in button["label"]:
                    return message, button["label"]
        return None

    message, whole = eventually(found, show=turn.thread.bot_texts)
    turn.thread.press(message, whole)


def content(machine: Machine, turn: Turn) -> Any:
    return json.loads(machine.answer(turn).removeprefix("Chosen: "))


def test_a_text_that_is_too_long_is_marked_where_it_is_cut() -> None:
    body = Choice("db", "Which?\n" * 10_000, (Value("a", "n" * 300, "d" * 2000), Value("b", "b", "d" * 1000))).body()
    long, short = body["options"]
    assert all(text.endswith("…") for text in (body["title"], body["detail"], long["name"], long["description"]))
    assert short == {"id": "2", "kind": "choice", "name": "b", "description": "d" * 1000}


def test_a_form_is_asked_question_by_question(machine: Machine, tmp_path: Path) -> None:
    turn = asked(machine, tmp_path, CLAUDE)
    machine.start()
    press(turn, "2 Postgres")
    press(turn, "☐ 1 A")
    press(turn, "☐ 3 C")
    eventually(lambda: turn.thread.bot_texts("Chosen: 1, 3."))
    assert turn.acknowledged == set(), "nothing has reached the agent yet"
    press(turn, "Done")
    assert content(machine, turn) == {"question_0": "Postgres", "question_1": ["A", "C"]}
    first, second = (turn.questions[number] for number in (1, 2))
    assert (first["title"], first["several"], first["free"]) == ("Which database?", False, True)
    assert (second["title"], second["several"]) == ("Which features?", True)
    assert turn.thread.bot_texts("about Postgres")


def test_words_and_a_skipped_question_fill_in_a_form(machine: Machine, tmp_path: Path) -> None:
    turn = asked(machine, tmp_path, CLAUDE)
    machine.start()
    machine.wait(lambda: len(turn.thread.questions()) == 2)
    turn.thread.say("/skip 2")
    machine.wait(lambda: turn.thread.bot_texts("Skipped"))
    turn.thread.say("DuckDB, in memory")
    assert content(machine, turn) == {"question_0_custom": "DuckDB, in memory"}
    assert len(turn.results[0]["given"]) == 2, "the words are part of the turn"
    assert [one["content"] for one in turn.messages if one["role"] == "user"][1] == "DuckDB, in memory"


@pytest.mark.parametrize(("said", "value"), [("/answer {} 1", "SQLite"), ("/answer {} DuckDB", "DuckDB")])
def test_a_form_of_another_agent_takes_words_as_the_value(
    machine: Machine, tmp_path: Path, said: str, value: str
) -> None:
    turn = asked(machine, tmp_path, CODEX)
    machine.start()
    (message,) = eventually(turn.thread.questions)
    assert "None of the above" not in message["text"]
    number = message["text"].partition("**")[2].partition(".")[0] if "**" in message["text"] else "1"
    turn.thread.say(said.format(number.strip() or "1"))
    assert content(machine, turn) == {"db": value}


SECRET = {**TEXT, "title": "Password?", "_meta": {"codex": {"isSecret": True}}}
DECLINED: dict[str, Json] = {
    "a secret": form({"p": SECRET}),
    "a password": form({"p": {**TEXT, "format": "password"}}),
    "of an MCP server": form({"name": TEXT}, toolCallId=None),
    "a number": form({"n": {"type": "integer", "title": "How many?"}}),
    "too many options": form({"n": {"type": "string", "oneOf": one_of(*(f"o{at}" for at in range(21)))}}),
    "an address": {
        "toolCallId": "c1",
        "mode": "url",
        "url": "https://example.test/login",
        "elicitationId": "e1",
    },
}


@pytest.mark.parametrize("what", DECLINED)
def test_what_cannot_be_asked_in_a_chat_is_declined(machine: Machine, tmp_path: Path, what: str) -> None:
    turn = asked(machine, tmp_path, DECLINED[what])
    machine.start()
    assert content(machine, turn) is None
    assert turn.questions == {}


def test_an_answer_in_time_to_a_question_that_does_not_block_is_taken(machine: Machine, tmp_path: Path) -> None:
    turn = asked(machine, tmp_path, LATER, "meanwhile", str(tmp_path / "go"))
    machine.start()
    press(turn, "2 blue")
    machine.wait(machine.agents.has_noted("chosen"))
    (tmp_path / "go").touch()
    assert machine.answer(turn) == "I went on."
    assert turn.results[0]["answered"] == [1]
    assert "q1" not in turn.acknowledged, "only its own session says whether it took the answer"


def test_a_late_answer_is_the_next_prompt(machine: Machine, tmp_path: Path) -> None:
    turn = asked(machine, tmp_path, LATER, "meanwhile", str(tmp_path / "go"))
    machine.start()
    eventually(turn.thread.questions)
    (tmp_path / "go").touch()
    assert machine.answer(turn) == "I went on."
    press(turn, "1 red")
    machine.wait(lambda: machine.agents.noted("prompt")[-1:] == ["To your question “Which colour?”: red"])


def test_a_plan_is_shown_whole_and_has_two_answers(machine: Machine) -> None:
    turn = machine.say("do: plan 30")
    machine.start()
    press(turn, "Approve, and ask before edits")
    assert machine.answer(turn) == "I begin."
    assert machine.agents.noted("chosen") == ["o0"]
    assert [option["name"] for option in turn.questions[1]["options"]] == [
        "Approve, and ask before edits",
        "Keep planning",
    ]
    assert turn.thread.bot_texts("step 29")


@pytest.mark.parametrize(("size", "how"), [(30, ""), (30, " said"), (3000, "")])
def test_a_plan_that_is_not_approved_or_too_long_goes_on(machine: Machine, size: int, how: str) -> None:
    full = json_response({"code": "files_full", "title": "Full"}, 403)
    machine.proxy.fail("POST .*/files", response=full, count=9)  # else the plan comes as a file, too
    turn = machine.say(f"do: plan {size}{how}")
    machine.start()
    press(turn, "Keep planning")
    assert machine.answer(turn) == "The plan was not approved. Say what to change."
    assert machine.agents.noted("chosen") == ["o3"]
    kinds = [option["kind"] for option in turn.questions[1]["options"]]
    assert kinds == (["allow_once", "reject_once"] if size == 30 else ["reject_once"])


def test_words_that_an_agent_has_heard_before_it_dies_are_not_said_again(machine: Machine, tmp_path: Path) -> None:
    """Those of its second prompt, and those that came meanwhile."""
    machine.agent = machine.agents.agent(FAKE_ACP_STEERS="deaf")
    turn = machine.say(f"do: until {tmp_path / 'go'}")
    machine.start()
    machine.wait(machine.agents.has_noted("prompt"))
    turn.thread.say("use tabs")
    machine.wait(machine.agents.has_noted("steer"))
    turn.thread.say(f"do: until {tmp_path / 'never'}")
    machine.wait(lambda: turn.progress[-1].get("waiting") == 2)
    (tmp_path / "go").touch()
    machine.wait(lambda: len(machine.agents.noted("prompt")) == 2)
    turn.thread.say("use spaces")
    machine.wait(lambda: len(machine.agents.noted("steer")) == 2)
    os.kill(int(machine.agents.noted("pid")[-1]), signal.SIGKILL)
    machine.answer(turn)
    assert (turn.results[0]["outcome"], len(turn.results[0]["given"])) == ("failed", 4)


@pytest.mark.parametrize("how", ["yes", "late", "deaf"])
def test_words_reach_a_working_agent_once(machine: Machine, tmp_path: Path, how: str) -> None:
    machine.agent = machine.agents.agent(FAKE_ACP_STEERS=how)
    turn = machine.say(f"do: until {tmp_path / 'go'}")
    machine.start()
    machine.wait(machine.agents.has_noted("prompt"))
    turn.thread.say("use tabs")
    if how == "yes":
        machine.wait(lambda: turn.progress[-1].get("given") == 1)
        machine.wait(lambda: turn.acknowledged)
    elif how == "deaf":
        machine.wait(machine.agents.has_noted("steer"))
    else:
        machine.wait(lambda: turn.progress[-1].get("waiting") == 1)
    (tmp_path / "go").touch()
    reply = machine.answer(turn)
    assert reply.endswith("You said: use tabs" if how == "late" else "The file is there. You added: use tabs")
    assert len(turn.results[0]["given"]) == 2
    assert len(machine.agents.noted("prompt")) == (2 if how == "late" else 1)
