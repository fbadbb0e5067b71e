"""Files that an agent sends with the tool of its session, or a person with `handoff send-file`."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from handoff_cli.runner.agents import CLAUDE_CODE, CODEX
from handoff_cli.runner.machine.send_file import NotSent, send_file
from handoff_cli.runner.outgoing.live import NOBODY
from handoff_cli.runner.outgoing.names import IN_WORDS, NAME, OPENCODE_NAME
from handoff_cli.runner.questions.shown import TOO_LONG
from handoff_cli.runner.settings import Settings
from tests.cli.conftest import Run
from tests.cli.runner.conftest import QUICK, Machine
from tests.support.servers import json_response

PNG = b"\x89PNG\r\n\x1a\n" + b"plot" * 10


@pytest.fixture
def plot(machine: Machine) -> Path:
    path = machine.agents.directory / "plot.png"
    path.write_bytes(PNG)
    return path


def files(turn: Any) -> list[Any]:
    """What the bot has posted in the thread with a file."""
    return [one for message in turn.thread.messages() if message["from"] == "bot" for one in message.get("files") or []]


def test_the_tool_is_given_to_the_session_and_allowed(machine: Machine) -> None:
    machine.start()
    machine.answer(machine.say("hello"))
    assert machine.agents.noted("servers") == ['["handoff"]']
    assert json.loads(machine.agents.noted("meta")[0]) == {"claudeCode": {"options": {"allowedTools": [NAME]}}}
    assert machine.agents.noted("prompt") == ["hello"]


def test_codex_is_told_of_it_in_words_once_in_a_process(machine: Machine) -> None:
    machine.agent = machine.agents.agent(replace(CLAUDE_CODE, tools=CODEX.tools, opened_with=CODEX.opened_with))
    machine.start()
    thread = machine.hand_over()
    for text in ("one", "two"):
        machine.answer(machine.service.say(thread, text))
    assert machine.agents.noted("prompt") == [f"{IN_WORDS}\n\none", "two"]
    assert machine.agents.noted("meta") == ["null"]


def test_a_plot_arrives_with_its_caption(machine: Machine, plot: Path) -> None:
    machine.start()
    turn = machine.say("do:send plot.png The plot.")
    assert machine.answer(turn) == "Told: plot.png was sent to the chat."
    [file] = files(turn)
    assert (file["name"], file["size"]) == ("plot.png", len(PNG))
    unknown, hello, listed, _ = map(json.loads, machine.agents.noted("mcp"))
    assert unknown["error"]["code"] == -32601
    assert hello["result"]["protocolVersion"] == "2025-11-25"
    [tool] = listed["result"]["tools"]
    assert tool["_meta"] == {"anthropic/alwaysLoad": True}
    assert tool["annotations"] == {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False}
    assert turn.questions == {}


def test_a_lost_answer_sends_it_once(machine: Machine, plot: Path) -> None:
    machine.proxy.fail("POST .*/events", lose=True, count=3)
    machine.proxy.fail("POST .*/files", lose=True)
    machine.start()
    turn = machine.say("do:send plot.png")
    assert machine.answer(turn) == "Told: plot.png was sent to the chat."
    assert len(files(turn)) == 1


@pytest.mark.parametrize("path", [".env", "/etc/passwd", "../agent.log", "missing.png"])
def test_what_must_not_leave_is_refused_with_a_sentence(machine: Machine, path: str) -> None:
    (machine.agents.directory / ".env").write_text("A=1")
    machine.start()
    turn = machine.say(f"do:send {path}")
    reply = machine.answer(turn)
    assert (reply[:7], "not sent" in reply) == ("Error: ", True)
    assert not [one for one in machine.proxy.requests if one.path.endswith("/files")]


def test_a_file_that_the_service_does_not_store_is_refused_with_its_reason(machine: Machine, plot: Path) -> None:
    problem = {"code": "files_full", "title": "Full", "detail": "Your files take as much room as they may."}
    machine.proxy.fail("POST .*/files", response=json_response(problem, 403), count=9)
    machine.start()
    turn = machine.say("do:send plot.png")
    assert machine.answer(turn) == "Error: plot.png was not sent: Your files take as much room as they may."
    assert files(turn) == []


def test_what_was_changed_since_it_was_checked_is_not_sent(machine: Machine, plot: Path) -> None:
    """In place, between the check and the upload: the service compares the digest."""
    machine.proxy.fail("POST .*/files", change=lambda _: plot.write_bytes(b"A=secret".ljust(len(PNG))))
    machine.start()
    turn = machine.say("do:send plot.png")
    assert machine.answer(turn).startswith("Error: plot.png was not sent: ")
    assert files(turn) == []


def test_in_the_home_directory_it_asks(machine: Machine, plot: Path) -> None:
    machine.environ["HOME"] = str(machine.agents.directory)
    machine.start()
    for kind, reply in [
        ("allow_once", "Told: plot.png was sent to the chat."),
        ("reject_once", "Error: plot.png was not sent: it was not allowed."),
    ]:
        turn = machine.say(f"do:send plot.png {kind}")
        machine.wait(lambda turn=turn: turn.questions)  # type: ignore[misc]
        [question] = turn.questions.values()
        assert question["title"] == "Send plot.png to this chat?"
        assert [option["kind"] for option in question["options"]] == ["allow_once", "reject_once"]
        turn.press(kind)
        assert machine.answer(turn) == reply
        assert len(files(turn)) == (kind == "allow_once")


def test_in_a_shared_thread_it_asks(machine: Machine, plot: Path) -> None:
    machine.start()
    thread = machine.hand_over()
    thread.say("/share")
    thread.wait_for("is shared now")
    turn = machine.service.say(thread, "do:send plot.png")
    machine.wait(lambda: turn.questions)
    turn.press("allow_once")
    assert machine.answer(turn) == "Told: plot.png was sent to the chat."
    assert len(files(turn)) == 1


def test_stop_answers_the_tool_with_an_error(machine: Machine, plot: Path) -> None:
    machine.proxy.fail("POST .*/files", response=json_response({}, 503), count=999)
    machine.clock = replace(QUICK, retry=60.0, longest_retry=60.0)  # it waits to try again when it is stopped
    machine.start()
    turn = machine.say("do:send plot.png")
    machine.wait(lambda: [one for one in machine.proxy.requests if one.path.endswith("/files")])
    turn.thread.say("/stop")
    turn.thread.wait_for("Stopped")
    machine.wait(lambda: "ended" in machine.output.getvalue())
    assert files(turn) == []


def test_a_step_that_is_too_long_to_show_comes_as_a_file_and_can_be_allowed(machine: Machine) -> None:
    script = "\n".join(f"echo {number}" for number in range(3000))
    wanted = machine.home / "step.json"
    call = {"title": "a script", "kind": "execute", "rawInput": {"command": script}}
    wanted.write_text(json.dumps({"call": call, "step": "script"}))
    machine.start()
    turn = machine.say(f"do:run {wanted}")
    machine.wait(lambda: turn.questions)
    [question] = turn.questions.values()
    assert [option["kind"] for option in question["options"]] == ["allow_once", "reject_once"]
    turn.press("allow_once")
    machine.answer(turn)
    assert machine.agents.noted("ran") == ["script"]
    [file] = files(turn)
    whole = machine.service.user.http.get(f"/sessions/{turn.session_id}/files/{question['file']}").text
    assert (file["name"], file["size"]) == ("question.txt", len(whole.encode()))
    assert whole == "▸ command: \n" + script.replace("\n", "↵\n")


def test_a_long_step_whose_file_cannot_be_stored_can_only_be_refused(machine: Machine) -> None:
    machine.proxy.fail("POST .*/files", response=json_response({"code": "files_full", "title": "Full"}, 403), count=9)
    wanted = machine.home / "step.json"
    call = {"title": "a script", "kind": "execute", "rawInput": {"command": "echo x\n" * 3000}}
    wanted.write_text(json.dumps({"call": call, "step": "script"}))
    machine.start()
    turn = machine.say(f"do:run {wanted}")
    machine.wait(lambda: turn.questions)
    [question] = turn.questions.values()
    assert [option["kind"] for option in question["options"]] == ["reject_once"]
    turn.press("reject_once")
    machine.answer(turn)
    assert machine.agents.noted("ran") == []


def test_a_long_plan_comes_as_a_file_and_can_be_approved(machine: Machine) -> None:
    machine.start()
    turn = machine.say("do:plan 2500")
    machine.wait(lambda: turn.questions)
    turn.press("allow_once")
    assert machine.answer(turn) == "I begin."
    assert [file["name"] for file in files(turn)] == ["plan.md"]


def test_a_plan_that_is_too_long_for_a_file_can_only_be_refused(machine: Machine) -> None:
    machine.start()
    turn = machine.say("do:plan 6000")
    machine.wait(lambda: turn.questions)
    [question] = turn.questions.values()
    assert [option["kind"] for option in question["options"]] == ["reject_once"]
    assert question["reason"] == TOO_LONG
    turn.press("reject_once")
    machine.answer(turn)
    assert files(turn) == []


@pytest.mark.parametrize(
    ("title", "kinds"),
    [
        (NAME, ["allow_once", "reject_once"]),
        (OPENCODE_NAME, ["allow_once", "reject_once"]),
        ("other", ["allow_once", "allow_always", "reject_once"]),
    ],
)
def test_the_tool_is_never_offered_for_good(machine: Machine, title: str, kinds: list[str]) -> None:
    """An agent that asks for it all the same, where the user lets kinds of steps be allowed for good."""
    machine.settings = Settings(allow_always=True)
    wanted = machine.home / "step.json"
    wanted.write_text(json.dumps({"call": {"title": title, "rawInput": {"path": "plot.png"}}, "step": "sent"}))
    machine.start()
    turn = machine.say(f"do:run {wanted}")
    machine.wait(lambda: turn.questions)
    [question] = turn.questions.values()
    assert [option["kind"] for option in question["options"]] == kinds
    turn.press("allow_once")
    machine.answer(turn)


def test_a_program_that_talks_to_the_runner_outside_a_turn_is_refused(machine: Machine, plot: Path) -> None:
    machine.start()
    thread = machine.hand_over()
    machine.answer(machine.service.say(thread, "hello"))
    for session in ("", thread.session_id, "another"):
        with pytest.raises(NotSent) as why:
            send_file(machine.state, str(plot), "", session=session)
        assert str(why.value) == NOBODY


def test_a_person_sends_a_file_while_the_agent_works(machine: Machine, plot: Path, run_alone: Run) -> None:
    go = machine.home / "go"
    machine.start()
    turn = machine.say(f"do:until {go}")
    machine.wait(lambda: turn.progress)
    here: dict[str, Any] = {"HOME": str(machine.home), "XDG_STATE_HOME": "", "cwd": plot.parent}
    done = run_alone("send-file", "plot.png", "--caption", "by hand", **here)
    assert (done.returncode, done.stdout) == (0, "plot.png was sent to the chat.\n"), done.stderr
    again = run_alone("send-file", "nothing.png", **here)
    assert (again.returncode, "no such file" in again.stderr) == (1, True)
    go.touch()
    machine.answer(turn)
    assert len(files(turn)) == 1
