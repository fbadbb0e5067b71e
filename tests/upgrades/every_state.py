"""Tables that hold items in every state, and the work that is left on them."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from shared.domain.attachments import Attachment
from shared.domain.handoffs import Handoff, State, Step, Thread
from shared.domain.sessions import Interruption, ResumePending
from shared.errors import NotSent, RateLimited, Rejected
from shared.ports.tables import Tables
from shared.store.bundle import store_on
from shared.store.inbox import InboxRow
from shared.use_cases.handoffs.cancel_handoff import cancel_handoff
from shared.use_cases.sessions.resume_session import resume_session
from tests.support.use_case_world import HOME, LEASE, USER, World

MINUTE = 60
MOST_MINUTES = 60


def filled(tables: Tables) -> World:
    """Services on these tables, filled: accounts, handoffs that ended or are open, sessions, deliveries, new messages."""
    world = World(store_on(tables))
    world.store.accounts.add_token(USER, "hash", label="laptop", created_at=world.clock.now())
    world.store.accounts.mark_used(USER, "hash", "2026-01-31")
    _end_handoffs(world)
    _interrupt_sessions(world)
    _hold_deliveries_back(world)
    _open_handoffs(world)
    thread = world.current("completed").owner
    world.say(thread, "I write in the thread", "0007")
    beside = {"forwarded": "somebody wrote it", "attachments": (Attachment("picture", 2),), "album": "13"}
    row = InboxRow(thread, "0008", "ada-there", "look", world.clock.now(), USER)
    world.store.inbox.put(replace(row, **beside))  # type: ignore[arg-type]  # of several types
    world.store.inbox.take_unreadable(thread, "0006", now=world.clock.now())
    return world


def _end_handoffs(world: World) -> None:
    world.moved("completed")
    world.session("failed")
    world.platform.next["open_thread"].append(Rejected("the bot was removed"))
    world.process(world.ask("failed"))
    world.session("cancelled")
    cancel_handoff(world.services, USER, world.ask("cancelled").id)
    world.moved("resumed")
    resume_session(world.services, USER, "resumed", epoch=1)
    world.turns()


def _interrupt_sessions(world: World) -> None:
    world.session("idle")
    for reason in Interruption:
        session, _ = world.moved(f"chat-{reason.value}")
        mark = ResumePending(reason, world.clock.now())
        world.store.sessions.replace(session, replace(session, resume_pending=mark))
    session, _ = world.moved("chat-suspended")
    world.store.sessions.replace(session, replace(session, suspended=True))


def _hold_deliveries_back(world: World) -> None:
    """Committed replies that are not delivered."""
    troubles: Mapping[str, Exception] = {
        "waiting": NotSent("down"),
        "sending": RuntimeError("killed"),
        "rejected": Rejected("it is closed"),
    }
    places = {name: world.moved(f"part-{name}")[1] for name in troubles}
    for name, trouble in troubles.items():
        world.say(places[name], f"Is it {name}?", "0001")
        world.turn()
        world.agents()
        world.platform.next["send"].append(trouble)
        with suppress(RuntimeError):
            world.turn()


def _open_handoffs(world: World) -> None:
    handoffs, now = world.store.handoffs, world.clock.now()
    for name in ("pending", "limited", "claimed", "opened", "offered", "confirmed"):
        world.session(f"h-{name}")
    world.ask("h-pending", message="Be brief.")
    world.platform.next["open_thread"].append(RateLimited(30))
    world.process(world.ask("h-limited"))
    handoffs.claim(world.ask("h-claimed").id, claimant="p-claimed", now=now, lease_until=now + LEASE)
    opened = handoffs.claim(world.ask("h-opened").id, claimant="p-opened", now=now, lease_until=now + LEASE)
    assert opened is not None
    place = world.platform.open_thread(HOME, "opened", key=opened.id, people=[])
    assert handoffs.step(opened, Step.OPENING_THREAD, now=now)
    thread = Thread(place, world.platform.link(place))
    assert handoffs.step(opened, Step.THREAD_OPENED, now=now, thread=thread, notice="A notice.")
    confirmed = world.ask("h-confirmed")
    world.process(confirmed)
    world.agents()
    assert world.latest(confirmed).confirmed
    world.process(world.ask("h-offered"))


def handoffs_of(world: World) -> list[Handoff]:
    return list(world.store.handoffs.list(USER, session_id=None, state=None, limit=1000))


def drive(world: World) -> None:
    """Let stream, queues and sweep work, minute by minute, until nothing is open and nothing is queued."""
    for _ in range(MOST_MINUTES):
        for handoff in handoffs_of(world):
            if handoff.state is State.PENDING:
                world.process(handoff)
        while world.agents() or world.turn() is not None:
            pass
        world.sweep()
        if world.next_at() is None and not any(handoff.is_open for handoff in handoffs_of(world)):
            return
        world.wait(MINUTE)
    raise AssertionError(f"open after {MOST_MINUTES} minutes: {world.queue.waiting}")
