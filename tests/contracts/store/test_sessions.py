"""Sessions: created once, replaced as read, listed newest first, deleted with all that is theirs."""

from dataclasses import replace

import pytest

from shared.domain.handoffs import Thread
from shared.domain.routes import Place, cli_place
from shared.domain.sessions import Interruption, ResumePending, Session, Turn
from shared.errors import Conflict
from shared.ports.platforms import Part
from shared.ports.tables import Table
from shared.store.inbox import InboxRow
from shared.store.outbox import OutPart
from tests.contracts.store.world import HOME, NOW, REPLY, THREAD, USER, Ending, Stage, World, sure
from tests.support.table_backends import LARGE_TRANSACTIONS, Backend

FULL = Session(
    id="s-full",
    user_id="ada",
    owner=THREAD.place,
    epoch=7,
    version=3,
    message_count=0,
    created_at=NOW,
    updated_at=NOW + 1,
    title="Zoë 🚀",
    source="claude-code",
    cwd="/home/ada/src",
    model="m-1",
    link=THREAD.url,
    active_handoff="h-9",
    turn=Turn("t-9", fence=4, is_claimed=True, lease_until=NOW + 5, begun=2, tries=1, claim_id="c-9"),
    resume_pending=ResumePending(Interruption.REDELIVERED, NOW - 5),
    suspended=True,
)


def test_every_field_of_a_session_is_read_back(world: World) -> None:
    assert world.store.sessions.create(FULL)
    assert world.store.sessions.get("s-full") == FULL


def test_unknown_fields_are_read_back_as_none(world: World) -> None:
    session = world.session()
    assert world.store.sessions.get("s-1") == session


def test_an_unknown_session_is_none(world: World) -> None:
    assert world.store.sessions.get("s-404") is None


def test_a_session_is_created_once_and_the_first_stays(world: World) -> None:
    session = world.session()
    assert not world.store.sessions.create(replace(session, user_id="eve", title="mine now"))
    assert world.current() == session


def test_a_place_points_to_the_session_that_came_last(world: World) -> None:
    assert world.store.sessions.at(HOME) is None
    for session in (world.session("s-1"), world.session("s-2")):
        world.store.moves.to_chat(session, HOME, "https://t.me/1001", now=NOW)
    assert world.store.sessions.at(HOME) == "s-2"
    assert world.store.sessions.at(THREAD.place) is None


def test_a_replaced_session_has_the_next_version(world: World) -> None:
    session = world.session(title="old", cwd="/src")
    changed = world.store.sessions.replace(session, replace(session, title="new", cwd=None, link="x"))
    assert changed == replace(session, title="new", cwd=None, link="x", version=session.version + 1)
    assert world.current() == changed


def test_a_session_that_changed_since_it_was_read_is_not_replaced(world: World) -> None:
    read = world.session()
    changed = world.store.sessions.replace(read, replace(read, title="quicker"))
    with pytest.raises(Conflict):
        world.store.sessions.replace(read, replace(read, title="slower"))
    assert world.current() == changed


def test_a_session_that_is_gone_is_not_replaced_into_existence(world: World) -> None:
    with pytest.raises(Conflict):
        world.store.sessions.replace(FULL, replace(FULL, title="ghost"))
    assert world.store.sessions.get(FULL.id) is None


@pytest.mark.parametrize("stage", [Stage.PENDING, Stage.BOUND, Stage.CONFIRMED])
def test_every_transition_changes_the_version(world: World, stage: Stage) -> None:
    read = world.session()
    world.handoff(stage, read)
    with pytest.raises(Conflict):
        world.store.sessions.replace(read, replace(read, title="from before the handoff"))


# --- list


def listed(world: World, user: str = "ada", limit: int = 10) -> list[list[str]]:
    pages, cursor = [], None
    while True:
        page = world.store.sessions.list(user, limit=limit, cursor=cursor)
        pages.append([session.id for session in page.sessions])
        if (cursor := page.cursor) is None:
            return [page for page in pages if page]


def test_sessions_are_listed_newest_first_and_only_ones_own(world: World) -> None:
    for number in range(3):
        world.session(f"s-{number}", created_at=NOW + number)
    world.session("s-eve", user_id="eve")
    assert listed(world) == [["s-2", "s-1", "s-0"]]
    assert listed(world, "eve") == [["s-eve"]]
    assert listed(world, "nobody") == []


def test_a_list_goes_on_where_its_page_ended(world: World) -> None:
    for number in range(5):
        world.session(f"s-{number}", created_at=NOW + number // 2)
    pages = listed(world, limit=2)
    assert [len(page) for page in pages] == [2, 2, 1]
    assert {session_id for page in pages for session_id in page} == {f"s-{number}" for number in range(5)}


def test_a_cursor_of_another_user_shows_nothing_of_theirs(world: World) -> None:
    for number in range(3):
        world.session(f"s-{number}", created_at=NOW + number)
        world.session(f"e-{number}", user_id="eve", created_at=NOW + number)
    theirs = world.store.sessions.list("ada", limit=2).cursor
    page = world.store.sessions.list("eve", limit=5, cursor=theirs)
    assert page.sessions
    assert {session.user_id for session in page.sessions} == {"eve"}


@pytest.mark.parametrize("cursor", ["x", "e30=", "%%%", "WzFd", "bnVsbA==", "MTIzIA==", "/w=="])
def test_a_text_that_is_not_a_cursor_is_a_value_error(world: World, cursor: str) -> None:
    world.session()
    with pytest.raises(ValueError):  # noqa: PT011  # base64, text and numbers each have their own words
        world.store.sessions.list("ada", limit=5, cursor=cursor)


def test_a_list_shows_sessions_as_they_are_now(world: World) -> None:
    session = world.session()
    changed = world.store.sessions.replace(session, replace(session, title="new"))
    assert world.store.sessions.list("ada", limit=5).sessions == [changed]


# --- delete


def everything(backend: Backend) -> list[str]:
    """The keys of all items of both tables."""
    return sorted(" ".join(table.key_of(item).values()) for table in Table for item in backend.scan(table))


def test_a_deleted_session_leaves_nothing_behind(world: World, backend: Backend) -> None:
    backend.needs(LARGE_TRANSACTIONS)
    world.session("s-other", messages=[USER])
    before = everything(backend)
    begun = world.session(messages=[USER] * 3)
    world.store.moves.to_chat(begun, Place("discord", "9"), "https://discord.com/9", now=NOW)
    world.ended(Ending.CANCELLED, world.current())
    world.ended(Ending.COMPLETED, world.current())
    rows = [world.row("0001"), world.row("0002")]
    turn = world.start_turn(world.current())
    world.store.turns.commit(world.turn_commit(turn, parts=30, rows=rows[:1]), now=NOW)
    world.store.outbox.post([OutPart("s-1", "notice-1", 0, HOME, Part("told"))], now=NOW)
    world.store.inbox.put(InboxRow(cli_place("s-1"), "t-5", "ada", "words in the terminal", NOW, user_id="ada"))
    world.handoff(Stage.PENDING, world.current())

    world.store.sessions.delete(world.current())

    assert everything(backend) == before
    assert world.store.sessions.get("s-1") is None
    assert list(world.store.transcripts.load("s-1")) == []
    assert world.store.sessions.at(THREAD.place) is None
    assert list(world.store.transcripts.load("s-other")) == [USER]


def test_only_inbox_and_journal_expire(world: World, backend: Backend) -> None:
    world.ended(Ending.COMPLETED)
    world.row()
    items = backend.scan(Table.SESSIONS)
    kinds = {(item["pk"].split("#")[0], item["sk"].split("#")[0]): "expires_at" in item for item in items}
    assert kinds == {
        ("SESSION", "META"): False,
        ("SESSION", "CHUNK"): False,
        ("SESSION", "ROUTE"): False,
        ("SESSION", "OUT"): True,
        ("ROUTE", "ROUTE"): False,
        ("INBOX", "0001"): True,
    }


def test_deleting_again_is_no_error(world: World, backend: Backend) -> None:
    world.ended(Ending.COMPLETED)
    session = world.current()
    world.store.sessions.delete(session)
    world.store.sessions.delete(session)
    assert everything(backend) == []


def test_a_session_that_changed_since_it_was_read_is_not_deleted(world: World) -> None:
    read = world.session(messages=[USER])
    changed = world.store.sessions.replace(read, replace(read, title="new"))
    with pytest.raises(Conflict):
        world.store.sessions.delete(read)
    assert world.current() == changed
    assert list(world.store.transcripts.load("s-1")) == [USER]


def test_a_deletion_keeps_the_rows_of_the_next_session(world: World) -> None:
    home = Thread(HOME, "https://t.me/1001")
    sure(world.store.handoffs.complete(world.handoff(Stage.CONFIRMED, world.session("s-old"), thread=home), now=NOW))
    mine = world.row("0001", place=HOME)
    turn = world.start_turn(world.current("s-old"))
    world.store.turns.commit(world.turn_commit(turn, rows=[mine]), now=NOW)
    world.store.moves.to_chat(world.session("s-new"), HOME, "https://t.me/1001", now=NOW)
    theirs = world.row("0002", place=HOME)

    world.store.sessions.delete(world.current("s-old"))

    assert world.store.sessions.at(HOME) == "s-new"
    assert world.current("s-new").owner == HOME
    assert world.store.inbox.new(HOME, limit=5) == [theirs]
    assert world.store.inbox.get(HOME, "0001") is None


def test_an_interrupted_deletion_can_be_taken_up_again(world: World, backend: Backend) -> None:
    session = world.session(messages=[USER, REPLY])
    barred = world.store.sessions.replace(session, replace(session, epoch=session.epoch + 1))
    world.store.sessions.delete(barred)
    assert everything(backend) == []


def _broken(*_: object) -> None:
    raise ConnectionError


def test_a_deletion_that_was_interrupted_leaves_no_turn_without_its_offer(world: World, backend: Backend) -> None:
    session = world.start_turn(world.session())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backend.tables, "delete_all", _broken)
        with pytest.raises(ConnectionError):
            world.store.sessions.delete(session)
    left = world.current()
    assert (left.turn, left.epoch) == (None, session.epoch + 1)
    assert not world.store.turns.renew(session, lease_until=NOW + 1)
    world.store.sessions.delete(left)
    assert everything(backend) == []


def test_a_writer_in_flight_is_refused_by_a_deletion(world: World) -> None:
    handoff = world.handoff(Stage.OPENED)
    read = world.current()
    world.store.sessions.delete(read)
    with pytest.raises(Conflict):
        world.store.transcripts.append(read, [USER], now=NOW)
    with pytest.raises(Conflict):
        world.store.sessions.replace(read, read)
    assert world.store.handoffs.get(handoff.id) is None
    assert world.store.sessions.get("s-1") is None


def test_an_id_may_be_used_again_after_a_deletion(world: World) -> None:
    world.store.sessions.delete(world.session(messages=[USER]))
    again = world.session(messages=[REPLY])
    assert list(world.store.transcripts.load("s-1")) == [REPLY]
    assert again.message_count == 1
