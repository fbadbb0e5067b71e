"""Real agents ask for choices and hear words while they work: what the model is sent is right in each case."""

import json
from typing import Any

import pytest

from shared.use_cases.runners import report_turn
from tests.support.api_user import ApiUser
from tests.support.fake_model.script import Answer, Call, Hold, Say, decide
from tests.support.fake_model.server import FakeModel
from tests.support.real_agents import NAMES, Home, Spoken, begin_in_terminal
from tests.support.real_runner import HANDOFF, PLATFORM, Thread, runner
from tests.support.waiting import eventually

pytestmark = pytest.mark.agents

OPTIONS = [{"label": "SQLite", "description": "one file"}, {"label": "Postgres", "description": "a server"}]
FEATURES = [{"label": name, "description": f"about {name}"} for name in ("Search", "Export", "Login")]
ONE = {"question": "Which database?", "header": "Database", "multiSelect": False, "options": OPTIONS}
SEVERAL = {"question": "Which features?", "header": "Features", "multiSelect": True, "options": FEATURES}


def ask(*questions: dict[str, Any]) -> str:
    return f"use: AskUserQuestion {json.dumps({'questions': questions})}"


def hand_over(laptop: Home, agent: str, begun: Spoken, title: str) -> str:
    source = f"{agent}:{begun.native_id}"
    done = json.loads(laptop.run(*HANDOFF, "send", PLATFORM, "--from", source, "--title", title, "--json"))
    assert done["error"] is None
    return str(done["session_id"])


def tool_results(model: FakeModel) -> list[str]:
    return [call.items[-1].text for call in model.calls if call.items and call.items[-1].role == "tool"]


def test_claude_code_gets_every_kind_of_answer(laptop: Home, user: ApiUser, model: FakeModel) -> None:
    begun = begin_in_terminal(laptop, "claude-code", "hello")
    thread = Thread(user, "claude-code has questions")
    with runner(laptop, user):
        hand_over(laptop, "claude-code", begun, thread.title)
        thread.say(ask(ONE, SEVERAL))
        thread.press("2 Postgres")
        thread.press("☐ 1 Search")
        thread.press("☐ 2 Export")
        thread.shows("Chosen: 1, 2.")
        thread.press("Done")
        eventually(lambda: len(tool_results(model)) == 1, within=60)
        assert '"Which database?"="Postgres", "Which features?"="Search, Export"' in tool_results(model)[0]

        thread.say(ask(ONE))
        thread.shows("3. The agent asks")
        thread.say("/answer 3 DuckDB, in memory")
        eventually(lambda: len(tool_results(model)) == 2, within=60)
        assert '"Which database?"="DuckDB, in memory"' in tool_results(model)[1]

        thread.say(ask(ONE))
        thread.shows("4. The agent asks")
        thread.say("/skip 4")
        eventually(lambda: len(tool_results(model)) == 3, within=60)
        assert "did not answer" in tool_results(model)[2]

        thread.say(ask(ONE))
        thread.shows("5. The agent asks")
        thread.answer("MariaDB, the old one")
        eventually(lambda: len(tool_results(model)) == 4, within=60)
        assert '"Which database?"="MariaDB, the old one"' in tool_results(model)[3]
    assert not [call for call in model.calls if "MariaDB, the old one" in call.said], "the words were an answer only"


def test_claude_code_goes_on_when_nobody_answers_in_time(
    laptop: Home, user: ApiUser, model: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_turn, "OPEN_FOR", 1_000)
    begun = begin_in_terminal(laptop, "claude-code", "hello")
    thread = Thread(user, "claude-code waits in vain")
    with runner(laptop, user):
        hand_over(laptop, "claude-code", begun, thread.title)
        thread.say(ask(ONE))
        thread.shows("Not answered in time")
        eventually(lambda: len(tool_results(model)) == 1, within=60)
    assert "did not answer" in tool_results(model)[0]


def test_an_answer_survives_a_runner_that_dies(laptop: Home, user: ApiUser, model: FakeModel) -> None:
    begun = begin_in_terminal(laptop, "claude-code", "hello")
    thread = Thread(user, "claude-code is killed")
    with runner(laptop, user) as process:
        hand_over(laptop, "claude-code", begun, thread.title)
        thread.say(ask(ONE, SEVERAL))
        thread.shows("2. The agent asks")
        process.kill()
        process.wait(30)
    thread.press("2 Postgres")
    thread.shows("✓ Postgres")
    with runner(laptop, user, again=True):
        model.asked("My answer: Postgres", within=60)
        thread.shows("No longer asked")


@pytest.mark.parametrize("agent", NAMES)
def test_words_reach_an_agent_while_it_answers(agent: str, laptop: Home, user: ApiUser, model: FakeModel) -> None:
    begun = begin_in_terminal(laptop, agent, "hello")
    thread = Thread(user, f"{agent} is steered")
    with runner(laptop, user):
        session_id = hand_over(laptop, agent, begun, thread.title)
        thread.say("hold")
        model.asked("hold")
        thread.say("/queue and after that the docs")
        thread.say("also look at the tests")
        model.asked("also look at the tests", within=60)
        model.asked("and after that the docs", within=60)
        eventually(lambda: "and after that the docs" in user.contents(session_id)[-2], within=60)
    said = [text.strip() for text in model.calls[-1].said]
    assert said.count("also look at the tests") == 1, said
    assert said.index("also look at the tests") < said.index("and after that the docs")
    contents = user.contents(session_id)
    first = contents.index("hold")
    assert contents[first + 1] == "also look at the tests", "one turn has answered both"
    assert contents.count("and after that the docs") == 1


LATER = 'use: request_user_input_async {"questions": [{"title": "Which colour?", "options": ["red", "blue"]}]}'


@pytest.fixture
def codex(laptop: Home) -> Spoken:
    """A session of Codex with one of its own models, which have this tool."""
    config = laptop.path / ".codex" / "config.toml"
    config.write_text(config.read_text().replace('"fake-1"', '"gpt-6.1-sol"', 1))
    return begin_in_terminal(laptop, "codex", "hello")


def test_a_question_of_codex_that_does_not_block_is_answered_late(
    laptop: Home, user: ApiUser, model: FakeModel, codex: Spoken
) -> None:
    thread = Thread(user, "codex wonders late")
    with runner(laptop, user):
        session_id = hand_over(laptop, "codex", codex, thread.title)
        _hold_after_tools(model)
        thread.say(LATER)
        thread.shows("The agent asks")
        model.going_on.set()
        eventually(
            lambda: user.contents(session_id)[-1].endswith("One moment, please."),
            within=60,
            show=lambda: user.contents(session_id),
        )
        thread.press("2 blue")
        model.asked("To your question “Which colour?”: blue", within=60)


def test_an_answer_in_time_to_a_question_of_codex_is_given_once(
    laptop: Home, user: ApiUser, model: FakeModel, codex: Spoken
) -> None:
    thread = Thread(user, "codex wonders in time")
    with runner(laptop, user):
        session_id = hand_over(laptop, "codex", codex, thread.title)
        _hold_after_tools(model)
        thread.say(LATER)
        thread.press("2 blue")
        given = model.asked("send_user_message_question_reply", within=60)
        assert '"answer":"blue"' in given.said[-1].replace(" ", "")
        thread.shows("I went on")
        thread.say("thanks")
        eventually(lambda: "thanks" in user.contents(session_id), within=60)
    assert not [call for call in model.calls if any("To your question" in text for text in call.said)]


def _hold_after_tools(model: FakeModel) -> None:
    """Let the model wait after the question was asked, until it is told to go on or has got the answer."""

    def holding(call: Call) -> Answer:
        if call.said and "question_reply" in call.said[-1]:
            return Say("I went on")
        is_held = not call.background and call.items[-1].role == "tool"
        return Hold("One moment, please.") if is_held else decide(call)

    model.decide = holding
