"""Plan mode of the real agents, chosen in a thread: their plans, and the questions that Codex asks only there."""

import json
import re

import pytest

from shared.use_cases.runners import report_turn
from tests.support.api_user import ApiUser
from tests.support.fake_model.script import Answer, Call, Say, Use, decide
from tests.support.fake_model.server import FakeModel
from tests.support.real_agents import NAMES, Home, begin_in_terminal
from tests.support.real_runner import HANDOFF, PLATFORM, Thread, runner
from tests.support.waiting import eventually

pytestmark = pytest.mark.agents

PLAN = "# The plan\n\n1. Look at it\n2. Change it"


def question(id_: str, *names: str) -> dict[str, object]:
    options = [{"label": name, "description": f"about {name}"} for name in names]
    return {"id": id_, "header": id_.title(), "question": f"Which {id_}?", "options": options}


DATABASE, NAME = question("db", "SQLite", "Postgres"), question("name", "lexer", "reader")


def in_plan_mode(laptop: Home, agent: str, title: str, user: ApiUser) -> Thread:
    """The thread of a session that is in plan mode."""
    config = laptop.path / ".codex" / "config.toml"
    config.write_text(config.read_text().replace('"fake-1"', '"gpt-6.1-sol"', 1))
    begun = begin_in_terminal(laptop, agent, "hello")
    laptop.run(*HANDOFF, "send", PLATFORM, "--from", f"{agent}:{begun.native_id}", "--title", title, "--json")
    thread = Thread(user, title)
    thread.say("/mode plan")
    thread.shows("Mode: plan")
    return thread


def proposing(call: Call) -> Answer:
    """A model that has a plan each time that it is asked for one."""
    # Claude Code puts words beside the result of a rejected tool, which is no message of the person in `said`.
    asked = len(re.findall(r"\bplan it\b", json.dumps(call.body.get("messages") or call.said)))
    if not asked or call.background:
        return decide(call)
    if call.api == "responses":
        is_asked = call.items[-1].role == "user" and call.said[-1].strip() == "plan it"
        return Say(f"<proposed_plan>\n{PLAN}\n</proposed_plan>") if is_asked else decide(call)
    # Claude Code shows the file that it has told the model to write; what a call says beside that may come too late.
    done = sum(item.role == "tool" for item in call.items)
    if done >= 2 * asked:
        return Say("Gone on.")
    if done % 2:
        return Use("ExitPlanMode", {})
    found = re.search(r'/[^\s"\\]+/\.claude/plans/[\w-]+\.md', json.dumps(call.body["messages"]))
    assert found, "Claude Code names no file for the plan"
    return Use("Write", {"file_path": found[0], "content": PLAN})


@pytest.mark.parametrize("agent", NAMES)
def test_a_plan_is_shown_and_approved_or_worked_on(agent: str, laptop: Home, user: ApiUser, model: FakeModel) -> None:
    model.decide = proposing
    with runner(laptop, user):
        thread = in_plan_mode(laptop, agent, f"{agent} plans", user)
        thread.say("plan it")
        thread.shows("1. Look at it")
        thread.press("Keep planning")
        thread.shows("The plan was not approved. Say what to change.")
        thread.say("plan it")
        thread.shows("2. The agent asks")
        before = len(model.calls)
        thread.press("Approve, and ask before edits")
        thread.shows("✓ Approve")
        eventually(lambda: len(model.calls) > before, within=60)
    assert "approved" in model.calls[-1].heard.lower()


def test_codex_gets_every_kind_of_answer(
    laptop: Home, user: ApiUser, model: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def results() -> list[dict[str, dict[str, list[str]]]]:
        texts = [call.items[-1].text for call in model.calls if call.items[-1].role == "tool"]
        return [json.loads(text)["answers"] for text in texts]

    def given(count: int) -> dict[str, dict[str, list[str]]]:
        return eventually(lambda: results()[count - 1] if len(results()) == count else None, within=60)

    with runner(laptop, user):
        thread = in_plan_mode(laptop, "codex", "codex in plan mode", user)
        ask = f"use: request_user_input {json.dumps({'questions': [DATABASE, NAME]})}"
        thread.say(ask)
        thread.press("2 Postgres")
        thread.shows("2. The agent asks")
        thread.answer("parser, with a dash")
        assert given(1) == {"db": {"answers": ["Postgres"]}, "name": {"answers": ["parser, with a dash"]}}

        thread.say(ask)
        thread.shows("4. The agent asks")
        thread.say("/answer 3 DuckDB")
        thread.say("/skip 4")
        answered = given(2)
        assert answered["db"] == {"answers": ["DuckDB"]}
        assert not answered.get("name", {}).get("answers")

        monkeypatch.setattr(report_turn, "OPEN_FOR", 1_000)
        thread.say(ask)
        thread.shows("Not answered in time")
        eventually(lambda: len([call for call in model.calls if call.items[-1].role == "tool"]) == 3, within=60)
        assert results()[2] == {}
