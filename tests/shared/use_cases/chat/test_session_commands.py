"""`/title`, `/retry`, `/close`, `/diff`, and the agent's own commands."""

import hashlib

import pytest

from shared.domain.files import StoredFile
from shared.domain.orders import DIFF
from shared.domain.routes import Place
from shared.errors import Rejected
from shared.use_cases.files.keep_file import keep_file
from shared.use_cases.runners.take_order import OrderAnswer
from tests.support.fake_platform import FILE_LIMIT, Post
from tests.support.machine import Machine, post, shown
from tests.support.use_case_world import HOME, World


@pytest.fixture
def machine(world: World) -> Machine:
    return Machine(world)


@pytest.fixture
def place(machine: Machine) -> Place:
    return machine.moved()


def test_a_session_gets_another_title(world: World, place: Place) -> None:
    post(world, place, "0001", "/title  The   till ")
    assert world.current().title == "The till"
    assert shown(world, place) == ["This session is **The till** now."]
    post(world, place, "0002", f"/title {'x' * 201}")
    assert world.current().title == "The till"


def test_the_last_words_are_said_again(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "Repair the till")
    machine.answer("No.")
    post(world, place, "0002", "/retry")
    claimed = machine.start("c-9")
    assert [word.text for word in claimed.words] == ["Repair the till"]
    machine.result("Yes.")
    world.messages()
    said = [message["content"] for message in world.transcript()]
    assert said[-4:] == ["Repair the till", "No.", "Repair the till", "Yes."]


def test_the_prompt_of_a_handoff_is_not_said_again(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "/retry")
    claimed = machine.start("c-9")
    assert [word.text for word in claimed.words] == ["hi"]


def test_a_closed_session_is_in_the_terminal_and_its_thread_is_closed(world: World, place: Place) -> None:
    post(world, place, "0001", "/close")
    assert world.current().owner.is_cli
    assert "is back in your terminal" in shown(world, place)[0]
    assert world.platform.closed == [place]
    post(world, HOME, "0002", "/close")
    assert "No session of yours lives here" in world.platform.said(HOME)[0]


def test_changes_are_shown_as_they_are(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "/diff a.py")
    (order,) = machine.waiting()
    assert (order.kind, order.argument, order.session_id) == (DIFF, "a.py", "s-1")
    machine.answer_order(machine.take(order), OrderAnswer("d-1", text="a.py", diff="+ ```\n+ @everyone"))
    world.messages()
    assert shown(world, place) == ["a.py\n\n````\n+ ```\n+ @\u2060everyone\n````"]


def stored(world: World, session_id: str, content: bytes = b"-old\n+new\n") -> str:
    """The id of a patch that a session has stored."""
    file = StoredFile(hashlib.sha256(content).hexdigest(), "changes.diff", "text/x-diff", len(content))
    keep_file(world.services, world.current(session_id), file, [content])
    return file.id


def answer_diff(world: World, machine: Machine, place: Place, file: str) -> list[Post]:
    """What is posted when a machine answers `/diff` with a file."""
    post(world, place, "0001", "/diff")
    (order,) = machine.waiting()
    machine.answer_order(machine.take(order), OrderAnswer("d-1", text="1 file changed.", diff="1. a.py", file=file))
    world.messages()
    return world.platform.posts[place][1:]


def test_the_whole_patch_follows_the_list_as_a_file(world: World, machine: Machine, place: Place) -> None:
    said, file = answer_diff(world, machine, place, stored(world, "s-1"))
    assert said.text == "1 file changed.\n\n```\n1. a.py\n```"
    assert (file.file, file.content, file.text) == ("changes.diff", b"-old\n+new\n", "")


def test_no_file_of_another_session_is_posted(world: World, machine: Machine, place: Place) -> None:
    machine.session("s-2")
    (said,) = answer_diff(world, machine, place, stored(world, "s-2"))
    assert said.text.startswith("1 file changed. The whole as a file is not sent: the service does not have its bytes.")


def test_a_patch_over_the_platforms_limit_is_said(world: World, machine: Machine, place: Place) -> None:
    (said,) = answer_diff(world, machine, place, stored(world, "s-1", b"x" * (FILE_LIMIT + 1)))
    assert said.text.startswith(
        "1 file changed. The whole as a file (100 kB) is not sent: at most 100 kB can be sent here."
    )


def test_a_patch_that_the_platform_refuses_is_said(world: World, machine: Machine, place: Place) -> None:
    world.platform.next["send_file"].append(Rejected("the chat takes no files"))
    _, told = answer_diff(world, machine, place, stored(world, "s-1"))
    assert told.text == "The file was not sent: the chat takes no files."


def test_an_agents_command_is_said_again_to_it(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "//model of a car")
    machine.answer("No.")
    post(world, place, "0002", "/retry")
    assert [word.text for word in machine.start("c-9").words] == ["/model of a car"]
    assert machine.waiting() == []


def test_the_models_sessions_have_no_files_to_compare(world: World) -> None:
    world.session()
    world.process(world.ask())
    world.turns()
    post(world, world.current().owner, "0001", "/diff")
    assert "works on no files" in world.platform.said(world.current().owner)[-1]


def test_two_slashes_reach_the_agent_as_one(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "//model of a car")
    assert [word.text for word in machine.start("c-9").words] == ["/model of a car"]
    assert machine.waiting() == []


@pytest.mark.parametrize("text", ["// a comment", "///x", "/ /x"])
def test_other_slashes_stay(world: World, machine: Machine, place: Place, text: str) -> None:
    post(world, place, "0001", text)
    assert [word.text for word in machine.start("c-9").words] == [text]
