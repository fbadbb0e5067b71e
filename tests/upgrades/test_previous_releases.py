"""The current code on tables and a queue that earlier releases filled."""

from collections.abc import Callable, Iterator

import pytest

from functions.views import HandoffView, SessionView
from shared.domain.handoffs import State
from shared.domain.interruptions import WHAT_HAPPENED
from shared.domain.routes import Place
from shared.domain.sessions import Interruption, Session
from shared.domain.tokens import Scope
from shared.ports.queue_text import message_of
from shared.ports.tables import Table
from shared.store.bundle import store_on
from shared.store.chunks import unpack
from shared.use_cases.people.authenticate import authenticate
from shared.use_cases.sessions.resume_session import fork_session, resume_session
from shared.use_cases.turns.accept_turn import accept_turn
from tests.support.table_backends import Backend, DynamoServer, backend_on, memory_backend, servers, sqlite_backend
from tests.support.tables import fresh_tables
from tests.support.use_case_world import USER, World
from tests.upgrades.sample import RELEASES, Sample, drive, handoffs_of

__all__ = ["servers"]
OVERDUE = "h-overdue"
UNANSWERED = "Never answered"  # a dead letter


@pytest.fixture(params=["memory", "sqlite", "moto"])
def backend(request: pytest.FixtureRequest, servers: Callable[[str], DynamoServer]) -> Iterator[Backend]:
    if request.param == "memory":
        yield memory_backend()
        return
    if request.param == "sqlite":
        with sqlite_backend() as sqlite:
            yield sqlite
        return
    server = servers("moto")
    with fresh_tables(server.client) as names:
        yield backend_on(server, names)


@pytest.fixture(params=RELEASES)
def sample(request: pytest.FixtureRequest) -> Sample:
    return Sample(request.param)


@pytest.fixture
def world(sample: Sample, backend: Backend) -> World:
    return sample.world(backend.tables)


def all_sessions(world: World) -> list[Session]:
    found: list[Session] = []
    page = world.store.sessions.list(USER, limit=7)
    found += page.sessions
    while page.cursor:
        page = world.store.sessions.list(USER, limit=7, cursor=page.cursor)
        found += page.sessions
    return found


def stored_transcripts(sample: Sample) -> dict[str, list[object]]:
    said: dict[str, list[object]] = {}
    for chunk in sorted(sample.kind("CHUNK#"), key=lambda item: str(item["sk"])):
        said.setdefault(chunk["pk"].removeprefix("SESSION#"), []).extend(unpack(chunk["data"]))
    return said


def test_a_sample_holds_items_in_every_state(sample: Sample) -> None:
    handoffs, sessions = sample.items(Table.HANDOFFS), sample.kind("META")
    assert {item["state"] for item in handoffs} == set(State)
    assert any(item.get("confirmed") and item["state"] == "running" for item in handoffs)
    assert {item["state"] for item in sample.kind("OUT#")} == {"waiting", "sending", "sent", "rejected"}
    assert {item["status"] for item in sample.items(Table.SESSIONS) if item["pk"].startswith("INBOX#")} == {
        "new",
        "done",
    }
    assert {item["resume_pending"]["reason"] for item in sessions if "resume_pending" in item}
    assert {item["owner"].split(":")[0] for item in sessions} == {"cli", "chat"}
    assert any(item.get("suspended") for item in sessions)
    assert any(item.get("turn_id", "").startswith("run-") for item in sessions)
    assert sample.kind("TOKEN#")
    assert sample.kind("HOME#")
    assert sample.kind("IDENTITY#")


def test_people_of_an_earlier_release_are_known(sample: Sample, backend: Backend) -> None:
    sample.load(backend.tables)
    accounts = store_on(backend.tables).accounts
    for user, token in sample.data["tokens"].items():
        caller = authenticate(accounts, f"Bearer {token}", now=sample.data["now"])
        assert (caller.user_id, caller.token.allows(Scope.HANDOFF)) == (user, True)
        assert accounts.user_of("chat", f"{user}-there") == user
        assert accounts.identities(user, "chat") == [f"{user}-there"]
    assert accounts.homes("ada") == {"chat": Place("chat", "home"), "other": Place("other", "C:1", "2.5")}
    assert accounts.home("bob", "chat") == Place("chat", "bobs")


def test_every_stored_session_and_handoff_is_shown(sample: Sample, world: World) -> None:
    metas = [item for item in sample.kind("META") if item["user_id"] == USER]
    sessions = all_sessions(world)
    assert {session.id for session in sessions} == {item["session_id"] for item in metas}
    for session in sessions:
        assert SessionView.of(session, now=world.clock.now()).epoch == session.epoch
        assert world.transcript(session.id) == stored_transcripts(sample).get(session.id, [])
    shown = [HandoffView.of(handoff, None, base_url="", now=0) for handoff in handoffs_of(world)]
    assert {(view.id, view.state.value) for view in shown} == {
        (item["handoff_id"], item["state"]) for item in sample.items(Table.HANDOFFS)
    }


def test_open_work_of_an_earlier_release_is_finished(sample: Sample, backend: Backend, world: World) -> None:
    was_open = {handoff.id for handoff in handoffs_of(world) if handoff.is_open}
    new_rows = [item for item in sample.items(Table.SESSIONS) if item.get("status") == "new"]
    drive(world)

    states = {handoff.session_id: handoff.state for handoff in handoffs_of(world) if handoff.id in was_open}
    assert states.pop(OVERDUE) == State.FAILED
    assert set(states.values()) == {State.COMPLETED}
    threads = [world.current(session_id).owner for session_id in states]
    assert len(set(threads)) == len(threads)
    assert all(sum("reply to" in text for text in world.platform.said(place)) == 1 for place in threads)
    stored = backend.scan(Table.SESSIONS)
    assert {item["state"] for item in stored if item["sk"].startswith("OUT#")} == {"sent", "rejected"}
    assert {item["status"] for item in stored if item["pk"].startswith("INBOX#")} == {"done"}
    for session_id, before in stored_transcripts(sample).items():
        assert world.transcript(session_id)[: len(before)] == before
    said = [message["content"] for session in all_sessions(world) for message in world.transcript(session.id)]
    assert {row["text"]: said.count(row["text"]) for row in new_rows} == {
        row["text"]: 0 if row["text"] == UNANSWERED else 1 for row in new_rows
    }
    assert any("could not answer" in text for text in world.platform.said(world.current("chat-killed").owner))
    assert not world.dead.letters


def test_every_session_takes_a_turn_in_its_chat(world: World) -> None:
    drive(world)
    in_chats = [session for session in all_sessions(world) if not session.owner.is_cli]
    assert len(in_chats) > 10
    for session in in_chats:
        world.say(session.owner, f"Hello, {session.id}", "0100")
    drive(world)
    for session in in_chats:
        heir = world.store.sessions.at(session.owner)  # a suspended or expired session has one
        assert heir is not None
        contents = [message["content"] for message in world.transcript(heir)]
        assert contents[-2] == f"Hello, {session.id}"
        assert world.platform.said(session.owner)[-1] == contents[-1]


def test_every_session_resumes_and_takes_a_turn(world: World) -> None:
    drive(world)
    for session in all_sessions(world):
        back = resume_session(world.services, USER, session.id, epoch=session.epoch)
        if back.suspended:
            back = fork_session(world.services, USER, session.id)
        count = back.message_count
        accept_turn(world.services, USER, back.id, epoch=back.epoch, turn_id="turn-9", text="Still there?")
        drive(world)
        assert world.current(back.id).message_count == count + 2, session.id


def test_marks_of_interrupted_turns_are_told_to_the_agent(world: World) -> None:
    for reason in ("killed", "out_of_time", "redelivered"):
        world.say(world.current(f"chat-{reason}").owner, "Go on", "0100")
    drive(world)
    notes = " ".join(note for note in world.agent.notes if note)
    assert all(WHAT_HAPPENED[Interruption(reason)] in notes for reason in ("killed", "out_of_time", "redelivered"))


def test_a_turn_that_an_earlier_release_runs_blocks_nothing(world: World) -> None:
    """Its commit and ours both check the length of the transcript, so one of them is refused."""
    before = world.current("running").message_count
    accept_turn(world.services, USER, "running", epoch=0, turn_id="turn-9", text="Hello")
    drive(world)
    assert world.current("running").message_count == before + 2


def test_queue_messages_without_a_version_are_read(sample: Sample) -> None:
    for body in [*(each["body"] for each in sample.data["queue"]), *sample.data["dead"]]:
        assert message_of(body.replace('"v":1,', "")) == message_of(body)
