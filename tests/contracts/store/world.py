"""Sessions and handoffs at any stage, created through the store's ports."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any, TypeVar

from shared.domain.handoffs import Handoff, Reason, Receipt, State, Step, Thread
from shared.domain.messages import Message
from shared.domain.offers import Offer
from shared.domain.routes import Place
from shared.domain.runners import Runner
from shared.domain.sessions import RunsOn, Session, new_session
from shared.ports.platforms import Part
from shared.store.bundle import Store
from shared.store.inbox import InboxRow
from shared.store.outbox import OutPart
from shared.store.turns import TurnCommit

T = TypeVar("T")
NOW = 1_700_000_000_000
LEASE = 60_000
DEADLINE = 900_000
HOME = Place("telegram", "1001")
THREAD = Thread(Place("telegram", "1001", "17"), "https://t.me/c/1001/17")
BROKEN = Reason("platform_down", "Telegram did not answer. The session is intact. Try again.")
RUNS_ON = RunsOn("laptop", "claude-code", "n-1")
RECEIPT = Receipt({"user": 1, "assistant": 1}, "sha256:00", 2)
USER: Message = {"role": "user", "content": "What is left to do?"}
REPLY: Message = {"role": "assistant", "content": "Only the tests."}


class Stage(IntEnum):
    """How far a handoff has got."""

    PENDING = 0
    CLAIMED = 1
    OPENED = 2
    BOUND = 3
    CONFIRMED = 4


class Ending(IntEnum):
    """The three ways in which a handoff ends, and the resume that cancels one."""

    COMPLETED = 0
    FAILED = 1
    CANCELLED = 2
    RESUMED = 3


@dataclass
class World:
    """A store with what a test keeps asking for. Every call goes through the ports, at the time `now`."""

    store: Store
    now: int = NOW
    made: int = field(default=0)

    def session(self, session_id: str = "s-1", *, messages: Sequence[Message] = (), **changes: Any) -> Session:
        """A stored session in its terminal, with these messages."""
        plain = new_session(session_id, "ada", now=self.now)
        session = replace(plain, **changes)
        assert self.store.sessions.create(session)
        return self.store.transcripts.append(session, messages, now=self.now) if messages else session

    def current(self, session_id: str = "s-1") -> Session:
        session = self.store.sessions.get(session_id)
        assert session is not None
        return session

    def latest(self, handoff: Handoff) -> Handoff:
        found = self.store.handoffs.get(handoff.id)
        assert found is not None
        return found

    def new_handoff(self, session: Session, **changes: Any) -> Handoff:
        """A handoff of this session that is not requested yet."""
        self.made += 1
        plain = Handoff(
            id=f"h-{self.made}",
            session_id=session.id,
            user_id=session.user_id,
            platform=HOME.platform,
            target=HOME,
            origin=session.owner,
            request_epoch=session.epoch,
            body_hash="body",
            state=State.PENDING,
            deadline=self.now + DEADLINE,
            created_at=self.now,
            updated_at=self.now,
            steps={Step.REQUESTED.value: self.now},
        )
        return replace(plain, **changes)

    def requested(self, session: Session | None = None, **changes: Any) -> Handoff:
        session = session or self.session()
        return self.store.handoffs.request(self.new_handoff(session, **changes), now=self.now)

    def claim(self, handoff: Handoff, claimant: str = "p-1") -> Handoff:
        return sure(
            self.store.handoffs.claim(handoff.id, claimant=claimant, now=self.now, lease_until=self.now + LEASE)
        )

    def handoff(
        self, stage: Stage, session: Session | None = None, *, thread: Thread = THREAD, **changes: Any
    ) -> Handoff:
        """A handoff that has got as far as `stage`, by the shortest way."""
        handoff = self.requested(session, **changes)
        handoffs = self.store.handoffs
        steps: dict[Stage, Callable[[Handoff], Handoff | None]] = {
            Stage.CLAIMED: self.claim,
            Stage.OPENED: lambda h: handoffs.step(h, Step.THREAD_OPENED, now=self.now, thread=thread),
            Stage.BOUND: lambda h: self.rebind(h, now=self.now),
            Stage.CONFIRMED: self.confirm,
        }
        for reached, do in steps.items():
            if reached <= stage:
                handoff = sure(do(handoff))
        return handoff

    def kickoff(self, handoff: Handoff) -> Offer:
        """A new offer of the handoff's kickoff turn, in its thread."""
        self.made += 1
        place, epoch = handoff.thread.place if handoff.thread else handoff.target, handoff.request_epoch + 1
        return Offer(
            f"k-{self.made}", handoff.session_id, handoff.user_id, place, epoch, self.now, handoff_id=handoff.id
        )

    def rebind(self, handoff: Handoff, *, now: int) -> Handoff | None:
        return self.store.moves.rebind(handoff, self.kickoff(handoff), now=now)

    def confirm(self, handoff: Handoff) -> Handoff:
        """Run the kickoff turn of a bound handoff up to its commit."""
        return self.confirm_claimed(self.claim_turn(self.current(handoff.session_id)), handoff)

    def confirm_claimed(self, session: Session, handoff: Handoff) -> Handoff:
        """Commit the kickoff turn that was claimed."""
        self.store.turns.commit(self.turn_commit(session, handoff=handoff, receipt=RECEIPT), now=self.now)
        return self.latest(handoff)

    def ended(self, ending: Ending, session: Session | None = None) -> Handoff:
        """A handoff that is over."""
        if ending is Ending.COMPLETED:
            done = sure(self.store.handoffs.complete(self.handoff(Stage.CONFIRMED, session), now=self.now))
            self.settle(done.session_id)
            return done
        handoff = self.handoff(Stage.CLAIMED, session)
        if ending is Ending.FAILED:
            return sure(self.store.handoffs.fail(handoff, BROKEN, now=self.now))
        if ending is Ending.CANCELLED:
            return sure(self.store.handoffs.cancel(handoff, Reason("cancelled", "You said so."), now=self.now))
        self.store.moves.to_terminal(self.current(handoff.session_id), now=self.now)
        return self.latest(handoff)

    def settle(self, session_id: str = "s-1") -> None:
        """Remove the offers of all turns of a session that are over."""
        offers, turn = self.store.turns.unsettled(session_id), self.current(session_id).turn
        for offer in offers:
            if turn is None or turn.id != offer.id:
                self.store.turns.settled(offer)

    def new_offer(self, session: Session, turn_id: str = "t-1", rows: Sequence[InboxRow] = ()) -> Offer:
        """An offer of a turn for words, where the session lives, that is not stored yet."""
        events = tuple(row.event_id for row in rows)
        return Offer(turn_id, session.id, session.user_id, session.owner, session.epoch, self.now, rows=events)

    def offer(self, session: Session, turn_id: str = "t-1", rows: Sequence[InboxRow] = ()) -> Session:
        return self.store.turns.offer(session, self.new_offer(session, turn_id, rows), rows=rows)

    def claim_turn(
        self,
        session: Session,
        rows: Sequence[InboxRow] = (),
        *,
        claim_id: str = "c-1",
        now: int | None = None,
        lease: int = LEASE,
    ) -> Session:
        """Claim the session's turn, at `now`."""
        at = self.now if now is None else now
        return self.store.turns.claim(session, rows, claim_id=claim_id, now=at, lease_until=at + lease)

    def start_turn(
        self, session: Session, turn_id: str = "t-1", rows: Sequence[InboxRow] = (), *, lease: int = LEASE
    ) -> Session:
        """A session with a turn that was offered and claimed."""
        return self.claim_turn(self.offer(session, turn_id, rows), rows, lease=lease)

    def turn_commit(self, session: Session, *, parts: int = 1, **changes: Any) -> TurnCommit:
        """All that the executor of the session's turn would write."""
        assert session.turn is not None
        place = THREAD.place if session.owner.is_cli else session.owner
        handoff: Handoff | None = changes.get("handoff")
        journal = handoff.kickoff_turn if handoff else session.turn.id
        out = [
            OutPart(session.id, journal, number, place, Part(f"part {number}", {"silent": True}))
            for number in range(parts)
        ]
        return TurnCommit(session=session, messages=[USER, REPLY], journal=journal, parts=out, **changes)

    def runner(self, runner_id: str = RUNS_ON.runner, **changes: Any) -> Runner:
        """A registered runner."""
        runner = replace(Runner(runner_id, "ada", f"The {runner_id}", seen_at=self.now), **changes)
        assert self.store.runners.register(runner)
        return runner

    def on_machine(self, session_id: str = "s-1", place: Place = THREAD.place) -> Session:
        """A session of the user's own agent that lives in a chat; its runner is registered."""
        self.runner()
        session = self.session(session_id, runs_on=RUNS_ON)
        return self.store.moves.to_chat(session, place, "https://t.me/1", now=self.now)

    def machine_offer(self, session: Session, turn_id: str = "t-1", rows: Sequence[InboxRow] = ()) -> Session:
        """Offer a turn to the session's machine."""
        offer = replace(self.new_offer(session, turn_id, rows), runs_on=session.runs_on)
        return self.store.turns.offer(session, offer, rows=rows)

    def machine_claim(
        self,
        session: Session,
        rows: Sequence[InboxRow] = (),
        *,
        claim_id: str = "c-1",
        now: int | None = None,
        lease: int = LEASE,
        previous_fence: int | None = None,
        runner: Runner | None = None,
        is_unattended: bool = False,
    ) -> Session:
        at = self.now if now is None else now
        return self.store.machine_turns.claim(
            session,
            rows,
            runner or Runner(RUNS_ON.runner, "ada", ""),
            claim_id=claim_id,
            now=at,
            lease_until=at + lease,
            previous_fence=previous_fence,
            is_unattended=is_unattended,
        )

    def machine_turn(
        self, session: Session, turn_id: str = "t-1", rows: Sequence[InboxRow] = (), *, lease: int = LEASE
    ) -> Session:
        """A session with a turn that its machine has claimed."""
        return self.machine_claim(self.machine_offer(session, turn_id, rows), rows, lease=lease)

    def offer_of(self, turn_id: str = "t-1", session_id: str = "s-1") -> Offer:
        return sure(self.store.turns.get(session_id, turn_id))

    def committed(self, *, parts: int = 1) -> Sequence[OutPart]:
        """The journal of a turn that is committed and not delivered."""
        session = self.start_turn(self.session())
        self.store.turns.commit(self.turn_commit(session, parts=parts), now=self.now)
        return self.store.outbox.journal(session.id, "t-1")

    def row(self, event_id: str = "0001", **changes: Any) -> InboxRow:
        """A stored row of the thread's inbox."""
        plain = InboxRow(
            THREAD.place, event_id, sender="7", text=f"words of {event_id}", received_at=self.now, user_id="ada"
        )
        row = replace(plain, **changes)
        assert self.store.inbox.put(row)
        return row


def sure(value: T | None) -> T:
    """What a test builds on must have worked."""
    assert value is not None
    return value
