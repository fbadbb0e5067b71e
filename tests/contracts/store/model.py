"""Random sequences of transitions by processes that remember old states, and what must hold after each of them.

Every actor picks any snapshot that was ever seen, most often a recent one: that makes zombies, duplicates and races of
readers. Time is a number that jumps. Each action is atomic in the store, so that an order of actions is an interleaving.
"""

import random
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from shared.domain.handoffs import Handoff, Reason, State, Step, Thread
from shared.domain.routes import Place
from shared.domain.sessions import Session, TurnLease
from shared.errors import HandoffError
from shared.ports.store import Store
from shared.ports.tables import Item, Table
from shared.store.handoff_items import handoff_of
from shared.store.session_items import session_of
from tests.contracts.store.world import DEADLINE, LEASE, NOW, RECEIPT, World

HOME = Place("telegram", "1001")
CHATS = [HOME, Place("slack", "C7")]
WHY = Reason("model", "Chance.")
Action = Callable[["Model"], Any]
T = TypeVar("T")


@dataclass(frozen=True)
class Seen:
    """Both tables at one moment: raw, to see any write at all, and as sessions, handoffs and routes."""

    raw: dict[str, Any]
    sessions: dict[str, Session]
    handoffs: dict[str, Handoff]
    routes: dict[str, str]


@dataclass
class Model:
    """One world under a seed. `step` does one random action and checks everything."""

    store: Store
    scan: Callable[[Table], list[Item]]
    chance: random.Random
    now: int = NOW
    trace: list[str] = field(default_factory=list)
    old_sessions: list[Session] = field(default_factory=list)
    old_handoffs: list[Handoff] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.world = World(self.store)
        for number in range(2):
            self.old_sessions.append(self.world.session(f"s-{number}"))

    # --- what actors know

    def session(self) -> Session:
        return _recent(self.chance, self.old_sessions)

    def handoff(self) -> Handoff:
        return _recent(self.chance, self.old_handoffs)

    def thread(self, handoff: Handoff) -> Thread:
        """What this attempt opens, the same whenever asked: a thread, or the home chat itself, where sessions meet."""
        own = Place("telegram", "1001", f"{handoff.id}.{handoff.fence}")
        place = HOME if zlib.crc32(own.route.encode()) % 5 < 2 else own
        return Thread(place, f"https://t.me/{place.route}")

    def pause(self) -> int:
        """Time jumps: mostly moments, at times a lease, seldom beyond a deadline."""
        self.now += self.chance.choices([1, 1000, LEASE, DEADLINE], [60, 30, 8, 2])[0]
        return self.now

    # --- one step

    def step(self) -> None:
        action = self.chance.choices(list(ACTIONS), [weight for weight, _ in ACTIONS.values()])[0]
        if not self.old_handoffs and action not in WITHOUT_HANDOFF:
            action = "request"
        before = self.look()
        self.pause()
        try:
            outcome = ACTIONS[action][1](self)
        except HandoffError as error:
            outcome = error
        after = self.look()
        self.trace.append(f"{action} -> {_short(outcome)}")
        self.old_sessions += [s for s in after.sessions.values() if s not in before.sessions.values()]
        self.old_handoffs += [h for h in after.handoffs.values() if h not in before.handoffs.values()]
        problems = [*self.problems(before, after), *untold(outcome, before, after, action)]
        assert not problems, "\n".join([*problems, "after:", *self.trace[-25:]])

    def look(self) -> Seen:
        raw: dict[str, Any] = {}
        for table in Table:
            for item in self.scan(table):
                raw[" ".join(table.key_of(item).values())] = item
        metas = [item for item in raw.values() if item.get("sk") == "META"]
        return Seen(
            raw,
            {session.id: session for session in map(session_of, metas)},
            {handoff.id: handoff for handoff in map(handoff_of, (i for i in raw.values() if "handoff_id" in i))},
            {
                item["pk"].removeprefix("ROUTE#"): item["session_id"]
                for item in raw.values()
                if item.get("sk") == "ROUTE"
            },
        )

    def problems(self, before: Seen, after: Seen) -> Iterator[str]:
        """What must hold in every state and between any two."""
        for session in after.sessions.values():
            yield from _session_problems(before.sessions[session.id], session, after)
        for handoff in after.handoffs.values():
            if earlier := before.handoffs.get(handoff.id):
                yield from _handoff_problems(earlier, handoff, before, after)
        chats = [s.owner for s in after.sessions.values() if not s.owner.is_cli]
        if len(chats) != len(set(chats)):
            yield "two sessions live at one place"


def _recent(chance: random.Random, seen: list[T]) -> T:
    """Any snapshot, the newest most often."""
    return seen[-1 - min(int(chance.expovariate(0.45)), len(seen) - 1)]


def _short(outcome: Any) -> str:
    if isinstance(outcome, Handoff):
        return f"{outcome.id} {outcome.state} fence {outcome.fence} bound {outcome.bound_epoch}"
    if isinstance(outcome, Session):
        return f"{outcome.id} at {outcome.owner.route} epoch {outcome.epoch}"
    return repr(outcome)[:80]


def _session_problems(old: Session, new: Session, after: Seen) -> Iterator[str]:
    if new.epoch < old.epoch:
        yield f"{new.id}: the epoch shrank"
    if new.owner != old.owner and new.epoch != old.epoch + 1:
        yield f"{new.id}: it moved without a grown epoch"
    if new != old and new.version <= old.version:
        yield f"{new.id}: it changed without a new version"
    active = [h.id for h in after.handoffs.values() if h.session_id == new.id and h.is_open]
    if active != ([new.active_handoff] if new.active_handoff else []):
        yield f"{new.id}: marked with {new.active_handoff}, while {active} are open"
    if not new.owner.is_cli and after.routes.get(new.owner.route) != new.id:
        yield f"{new.id}: it lives at {new.owner.route}, whose route points to {after.routes.get(new.owner.route)}"
    if new.owner.is_cli is not (new.link is None):
        yield f"{new.id}: it lives at {new.owner.route}, and its link is {new.link}"


def _handoff_problems(old: Handoff, new: Handoff, before: Seen, after: Seen) -> Iterator[str]:
    if not old.is_open and new != old:
        yield f"{new.id}: it had ended, and changed"
    if (
        new.fence < old.fence
        or (old.is_bound and new.bound_epoch != old.bound_epoch)
        or (old.confirmed > new.confirmed)
    ):
        yield f"{new.id}: fence, bound epoch or confirmation went back"
    if not old.is_open or new.is_open or new.thread is None or not new.is_bound:
        return
    was, now = before.sessions[new.session_id], after.sessions[new.session_id]
    if new.state is State.COMPLETED:
        if now.epoch == new.bound_epoch and now.owner != new.thread.place:
            yield f"{new.id}: completed, and its session is not in its thread"
    elif was.epoch == new.bound_epoch and now.epoch == was.epoch:
        yield f"{new.id}: {new.state}, and its session was left in its thread"


def untold(outcome: Any, before: Seen, after: Seen, action: str) -> Iterator[str]:
    """Who is refused has written nothing; who is told of a success has written something, or it was so already."""
    refused = outcome is None or outcome is False or isinstance(outcome, HandoffError)
    if refused and before.raw != after.raw:
        yield f"{action}: refused, and yet something was written"
    if isinstance(outcome, Handoff) and _claims(outcome) != _claims(after.handoffs[outcome.id]):
        yield f"{action}: what was returned is not what is stored"


def _claims(handoff: Handoff) -> tuple[Any, ...]:
    """What a caller builds on; the rest of some answers is as old as what their callers knew."""
    if not handoff.is_open:
        return handoff.state, handoff.error
    return handoff.state, handoff.fence, handoff.bound_epoch, handoff.thread, handoff.error, handoff.confirmed


# --- actions


def _go_on(model: Model) -> Any:
    """What an honest process or turn would do next with an open handoff, knowing how it stands."""
    seen = model.look()
    handoffs = [handoff for handoff in seen.handoffs.values() if handoff.is_open]
    if not handoffs:
        return _request(model)
    handoff = model.chance.choice(handoffs)
    session = seen.sessions[handoff.session_id]
    if handoff.confirmed:
        return model.store.handoffs.complete(handoff, now=model.now)
    if handoff.state is State.PENDING:
        return model.store.handoffs.claim(handoff.id, claimant="p-9", now=model.now, lease_until=model.now + LEASE)
    if handoff.thread is None:
        thread = model.thread(handoff)
        return model.store.handoffs.step(handoff, Step.THREAD_OPENED, now=model.now, thread=thread)
    if not handoff.is_bound:
        return model.store.moves.rebind(handoff, now=model.now)
    if session.turn is None or session.owner != handoff.thread.place:
        turn = TurnLease(handoff.kickoff_turn, model.now + LEASE)
        return model.store.sessions.replace(session, replace(session, turn=turn))
    commit = model.world.turn_commit(session, handoff=handoff, receipt=RECEIPT)
    return model.store.turns.commit(commit, now=model.now)


def _request(model: Model) -> Any:
    session = model.session()
    asked = model.world.new_handoff(
        session,
        deadline=model.now + DEADLINE,
        created_at=model.now,
        updated_at=model.now,
        replace=model.chance.random() < 0.5,
    )
    return model.store.handoffs.request(asked, now=model.now)


def _claim(model: Model) -> Any:
    claimant = f"p-{model.chance.randrange(3)}"
    return model.store.handoffs.claim(
        model.handoff().id, claimant=claimant, now=model.now, lease_until=model.now + LEASE
    )


def _open(model: Model) -> Any:
    handoff = model.handoff()
    thread = handoff.thread or model.thread(handoff)
    return model.store.handoffs.step(handoff, Step.THREAD_OPENED, now=model.now, thread=thread)


def _rebind(model: Model) -> Any:
    handoff = model.handoff()
    return model.store.moves.rebind(handoff, now=model.now) if handoff.thread else None


def _start_turn(model: Model) -> Any:
    session = model.session()
    turn = TurnLease(f"t-{model.chance.randrange(1000)}", model.now + LEASE)
    return model.store.sessions.replace(session, replace(session, turn=turn))


def _commit(model: Model) -> Any:
    session = model.session()
    if session.turn is None:
        return None
    handoff = next((h for h in model.old_handoffs[::-1] if h.id == session.active_handoff), None)
    kickoff = handoff if handoff and handoff.thread and handoff.thread.place == session.owner else None
    commit = model.world.turn_commit(session, handoff=kickoff, receipt=RECEIPT if kickoff else None)
    return model.store.turns.commit(commit, now=model.now)


def _deliver(model: Model) -> Any:
    return model.store.handoffs.complete(model.handoff(), now=model.now)


def _fail(model: Model) -> Any:
    rejected = model.chance.random() < 0.3
    return model.store.handoffs.fail(model.handoff(), WHY, now=model.now, rejected_delivery=rejected)


def _back(model: Model) -> Any:
    later = model.now + model.chance.choice([0, 5000])
    return model.store.handoffs.back_to_pending(model.handoff(), WHY, now=model.now, not_before=later, counts=True)


def _bring(model: Model) -> Any:
    return model.store.moves.to_chat(model.session(), model.chance.choice(CHATS), "https://x", now=model.now)


def _rename(model: Model) -> Any:
    session = model.session()
    return model.store.sessions.replace(session, replace(session, title=str(model.now)))


def _append(model: Model) -> Any:
    session = model.session()
    return model.store.transcripts.append(session, [{"role": "user", "content": str(model.now)}], now=model.now)


ACTIONS: dict[str, tuple[int, Action]] = {
    "go_on": (60, _go_on),
    "request": (10, _request),
    "claim": (14, _claim),
    "open": (14, _open),
    "rebind": (14, _rebind),
    "kickoff_sent": (8, lambda model: model.store.handoffs.kickoff_sent(model.handoff(), now=model.now)),
    "start_turn": (8, _start_turn),
    "commit": (10, _commit),
    "complete": (8, _deliver),
    "fail": (4, _fail),
    "expire": (4, lambda model: model.store.handoffs.expire(model.handoff(), WHY, now=model.now)),
    "cancel": (3, lambda model: model.store.handoffs.cancel(model.handoff(), WHY, now=model.now)),
    "resume": (4, lambda model: model.store.moves.to_terminal(model.session(), now=model.now)),
    "bring": (4, _bring),
    "back_to_pending": (6, _back),
    "nudge": (2, lambda model: model.store.handoffs.nudge(model.handoff(), now=model.now)),
    "drive": (2, lambda model: model.store.handoffs.drive(model.handoff(), now=model.now)),
    "rename": (2, _rename),
    "append": (2, _append),
}
WITHOUT_HANDOFF = {"go_on", "request", "start_turn", "commit", "resume", "bring", "rename", "append"}
