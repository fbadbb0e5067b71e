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
from shared.domain.offers import Offer
from shared.domain.routes import Place
from shared.domain.sessions import Interruption, Session
from shared.errors import HandoffError
from shared.ports.tables import Item, Table
from shared.store.bundle import Store
from shared.store.handoff_items import handoff_of
from shared.store.offers import offers_of
from shared.store.session_items import session_of
from tests.contracts.store.world import DEADLINE, LEASE, NOW, RECEIPT, World

HOME = Place("telegram", "1001")
CHATS = [HOME, Place("slack", "C7")]
WHY = Reason("model", "Chance.")
Action = Callable[["Model"], Any]
T = TypeVar("T")


@dataclass(frozen=True)
class Seen:
    """Both tables at one moment: raw, to see any write at all, and as sessions, handoffs, offers and routes."""

    raw: dict[str, Any]
    sessions: dict[str, Session]
    handoffs: dict[str, Handoff]
    offers: dict[str, Offer]
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
    offers: dict[str, Offer] = field(default_factory=dict)
    over: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.world = World(self.store)
        for number in range(2):
            self.old_sessions.append(self.world.session(f"s-{number}"))

    # --- what actors know

    def session(self) -> Session:
        return _recent(self.chance, self.old_sessions)

    def handoff(self) -> Handoff:
        return _recent(self.chance, self.old_handoffs)

    def new_id(self, kind: str) -> str:
        return f"{kind}-{len(self.trace)}-{self.chance.randrange(10**6)}"

    def kickoff_of(self, session: Session) -> Handoff | None:
        """The handoff whose kickoff the session's turn is, as an executor reads it."""
        offer = self.offers.get(session.turn.id) if session.turn else None
        return self.store.handoffs.get(offer.handoff_id) if offer and offer.handoff_id else None

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
        if not self.old_handoffs and action in OF_HANDOFFS:
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
        self.offers |= after.offers
        problems = [*self.problems(before, after), *untold(outcome, before, after, action)]
        self.over |= {offer_id for offer_id in self.offers if offer_id not in _alive(after)}
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
            {offer.id: offer for offer in offers_of(item for item in raw.values() if "sk" in item)},
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
            yield from _turn_problems(before.sessions[session.id], session, after)
        if self.over & _alive(after):
            yield f"turns that were over are alive again: {self.over & _alive(after)}"
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


def _alive(seen: Seen) -> set[str]:
    return {session.turn.id for session in seen.sessions.values() if session.turn}


def _turn_problems(old: Session, new: Session, after: Seen) -> Iterator[str]:
    was, now = old.turn, new.turn
    if now is not None:
        offer = after.offers.get(now.id)
        if offer is None or (offer.place, offer.epoch) != (new.owner, new.epoch):
            yield f"{new.id}: its turn {now.id} has the offer {offer}, it is at {new.owner.route}, epoch {new.epoch}"
        if now.is_claimed is (now.claim_id is None):
            yield f"{new.id}: its turn is claimed by {now.claim_id}: {now.is_claimed}"
        if min(now.fence, now.begun, now.tries) < 0 or now.fence < now.begun:
            yield f"{new.id}: its turn counts wrong: {now}"
    if was is None or now is None or was.id != now.id:
        if was and now and new.epoch == old.epoch:
            yield f"{new.id}: a turn replaced another without a move"
        return
    if now.fence - was.fence not in (0, 1):
        yield f"{new.id}: the fence went from {was.fence} to {now.fence}"
    if was.claim_id != now.claim_id and now.fence == was.fence:
        yield f"{new.id}: another executor, and the fence is the same"
    if new.message_count != old.message_count:
        yield f"{new.id}: the transcript grew during a turn"


def _handoff_problems(old: Handoff, new: Handoff, before: Seen, after: Seen) -> Iterator[str]:
    if not old.is_open and new != old:
        yield f"{new.id}: it had ended, and changed"
    if (
        new.fence < old.fence
        or (old.is_bound and new.bound_epoch != old.bound_epoch)
        or (old.confirmed > new.confirmed)
    ):
        yield f"{new.id}: fence, bound epoch or confirmation went back"
    if new.confirmed and not old.confirmed:
        told, silent = after.sessions[new.session_id], before.sessions[new.session_id]
        if told.message_count <= silent.message_count or silent.turn is None or told.turn is not None:
            yield f"{new.id}: confirmed without the commit of its turn"
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
        return model.world.rebind(handoff, now=model.now)
    if session.turn is None:
        kickoff = replace(model.world.kickoff(handoff), place=session.owner, epoch=session.epoch)
        return model.store.turns.offer(session, kickoff, handoff=handoff)
    if session.turn.may_be_claimed(model.now):
        return _claimed(model, session)
    return _committed(model, session)


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
    return model.world.rebind(handoff, now=model.now) if handoff.thread else None


def _offer(model: Model) -> Any:
    session = model.session()
    offer = replace(model.world.new_offer(session, model.new_id("t")), offered_at=model.now)
    return model.store.turns.offer(session, offer)


def _claim_turn(model: Model) -> Any:
    session = model.session()
    return _claimed(model, session) if session.turn else None


def _claimed(model: Model, session: Session) -> Any:
    lease_until = model.now + LEASE
    return model.store.turns.claim(session, [], claim_id=model.new_id("c"), now=model.now, lease_until=lease_until)


def _renew(model: Model) -> Any:
    session = model.session()
    return session.turn and model.store.turns.renew(session, lease_until=model.now + LEASE)


def _hand_back(model: Model) -> Any:
    session = model.session()
    if session.turn is None or not session.turn.begun:
        return None
    interrupted = model.chance.choice([None, Interruption.OUT_OF_TIME])
    pause = model.chance.choice([0, LEASE])
    return model.store.turns.hand_back(session, now=model.now, until=model.now + pause, interrupted=interrupted)


def _commit(model: Model) -> Any:
    session = model.session()
    return _committed(model, session) if session.turn else None


def _committed(model: Model, session: Session) -> Any:
    handoff = model.kickoff_of(session)
    receipt = RECEIPT if handoff else None
    return model.store.turns.commit(model.world.turn_commit(session, handoff=handoff, receipt=receipt), now=model.now)


def _give_up(model: Model) -> Any:
    session = model.session()
    if session.turn is None or model.kickoff_of(session):
        return None
    return model.store.turns.commit(model.world.turn_commit(session, abandoned=True), now=model.now)


def _end_turn(model: Model) -> Any:
    session = model.session()
    return session.turn and model.store.turns.end(session, now=model.now)


def _settle(model: Model) -> Any:
    """Settling reads the offers, then the session: it never removes one that is alive."""
    model.world.settle(model.session().id)
    return True


def _nudge_offer(model: Model) -> Any:
    offer = model.chance.choice(list(model.offers.values())) if model.offers else None
    fence = model.chance.choice([-1, 0, 1])
    return offer and model.store.turns.postpone(offer, until=model.now + LEASE, nudged_fence=fence)


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
    if session.turn:  # refused by the use case
        return None
    return model.store.transcripts.append(session, [{"role": "user", "content": str(model.now)}], now=model.now)


ACTIONS: dict[str, tuple[int, Action]] = {
    "go_on": (60, _go_on),
    "request": (10, _request),
    "claim": (14, _claim),
    "open": (14, _open),
    "rebind": (14, _rebind),
    "offer": (12, _offer),
    "claim_turn": (16, _claim_turn),
    "renew": (4, _renew),
    "hand_back": (6, _hand_back),
    "commit": (16, _commit),
    "give_up": (3, _give_up),
    "end_turn": (4, _end_turn),
    "settle": (4, _settle),
    "nudge_offer": (3, _nudge_offer),
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
BETWEEN_NEIGHBOURS = (
    "moved without a grown epoch",
    "left in its thread",
    "replaced another without a move",
    "the fence went",
    "without the commit of its turn",
)
"""What must hold between two neighbouring states only: several moves or claims may lie between others."""
OF_HANDOFFS = {"claim", "open", "rebind", "complete", "fail", "expire", "cancel", "back_to_pending", "nudge", "drive"}
