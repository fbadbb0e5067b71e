"""Turns of machines: transitions of META's turn and of the offer beside it that only they have."""

from collections.abc import Sequence
from dataclasses import replace

from shared.domain.offers import Offer
from shared.domain.questions import Question
from shared.domain.runners import Runner
from shared.domain.sessions import Executor, Session
from shared.domain.usage import Usage
from shared.errors import Conflict
from shared.ports.conditions import Condition, absent, differs, either, equals, present
from shared.ports.tables import Check, ConditionFailed, Table, Tables, Update, transacted, updated
from shared.store.budget_items import usage_value
from shared.store.inbox import InboxRow
from shared.store.keys import meta_key, offer_key
from shared.store.offers import offer_of
from shared.store.questions import words_taken
from shared.store.runners import unattended_as_read
from shared.store.session_items import CLAIMED, OFFERED, readable_session, session_of, turn_value
from shared.store.transitions import no_executor
from shared.store.turns import is_at_fence, is_new, may_speak, turn_of, usage_as_read
from shared.store.values import map_at

MAX_ROWS = 25


class MachineTurns:
    """The part of a turn's life that only machines have. Each method is one conditional write or one transaction.

    offered ──claim──> claimed(fence, lease) ──begin──> begun ──(Turns.commit)──> over
       ^                  │ lease over, or the same machine after a restart: claimed again, with a greater fence
       └── offered again <┴──withdraw──> over; its rows stay new
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def claim(
        self,
        session: Session,
        rows: Sequence[InboxRow],
        runner: Runner,
        *,
        claim_id: str,
        now: int,
        lease_until: int,
        previous_fence: int | None = None,
        is_unattended: bool = False,
    ) -> Session:
        """Claim the session's turn for its runner, if no process works on it, it is as read and its `rows` are new.

        With `previous_fence` the turn's present fence, also while the lease runs: the runner was restarted and holds its
        local lock. Nothing has begun yet. A repeat with the same `claim_id` succeeds again. Raises Conflict, also for a
        runner that is revoked or not the session's, if its unattended agents are others than those that were read, and for
        an agent that `is_unattended` in a shared thread.
        """
        before = turn_of(session)
        is_restart = before.is_claimed and previous_fence == before.fence
        turn = replace(
            before,
            fence=before.fence + 1,
            is_claimed=True,
            lease_until=lease_until,
            claim_id=claim_id,
            words=len(rows),
        )
        claim = Update(
            Table.SESSIONS,
            meta_key(session.id),
            when=[
                *is_at_fence(session),
                equals("turn.by", Executor.MACHINE),
                equals("runs_on.runner", runner.id),
                *([] if is_restart else [no_executor(now)]),
                *([absent("shared")] if is_unattended else []),
            ],
            set={"turn": turn_value(turn)},
            add={"version": 1},
        )
        known = unattended_as_read(runner, present("pk"), absent("revoked"))
        try:
            self._tables.transact([claim, known, *map(is_new, rows)])
        except ConditionFailed as failed:
            current = failed.items[0] or {}
            if map_at(current, "turn").get("claim_id") == claim_id:  # the answer of the first try was lost
                return session_of(current)
            raise Conflict(f"turn {turn.id} is taken or over, or a row is done") from None
        return replace(session, turn=turn, version=session.version + 1)

    def begin(self, session: Session, *, lease_until: int) -> bool:
        """Count a run of the claimed turn and mark the agent's own session as unfinished. Once per fence.

        False if the turn is over or has another fence.
        """
        held = turn_of(session)
        if held.begun_fence == held.fence:  # the answer of the first try was lost
            return self._renew(session, lease_until)
        turn = replace(held, begun=held.begun + 1, begun_fence=held.fence, lease_until=lease_until)
        begin = Update(
            Table.SESSIONS,
            meta_key(session.id),
            when=[
                *is_at_fence(session),
                equals("turn.state", CLAIMED),
                differs("turn.begun_fence", held.fence),
            ],
            set={"turn": turn_value(turn), "native_dirty": True},
            add={"version": 1},
        )
        try:
            self._tables.update(begin)
        except ConditionFailed as failed:
            after = readable_session(failed.items[0]) if failed.items[0] else None
            current = after.turn if after else None
            # The client repeats a write whose answer was lost.
            begun = (held.id, held.fence, held.fence)
            return current is not None and (current.id, current.fence, current.begun_fence) == begun
        return True

    def steer(
        self,
        session: Session,
        row: InboxRow,
        *,
        beside: Sequence[InboxRow] = (),
        answers: Question | None = None,
        now: int = 0,
    ) -> bool:
        """Let the session's turn answer one more row, and those `beside` it, which must be new. Safe to repeat.

        With a question, its words answer that, in the same transaction: an open one that was shown before they were said.
        False if the turn is over, changed since it was read, is full or is a kickoff, and for another user's row unless
        the session is shared; for a question if it is not open any more.
        """
        turn = turn_of(session)
        key = offer_key(session.id, turn.id)
        item = self._tables.get(Table.SESSIONS, key)
        offer = offer_of(item) if item else None
        if offer is not None and row.event_id in offer.rows:
            return True
        added_rows = [row.event_id, *(one.event_id for one in beside)]
        if offer is None or offer.handoff_id or len(offer.rows) + len(added_rows) > MAX_ROWS:
            return False
        added = Update(
            Table.SESSIONS,
            key,
            when=[absent("settled"), equals("row_count", len(offer.rows))],  # another row may be added at the same time
            set={"rows": [*offer.rows, *added_rows], "row_count": len(offer.rows) + len(added_rows)},
        )
        alive = Check(Table.SESSIONS, meta_key(session.id), [*is_at_fence(session), *may_speak(session, row, *beside)])
        taken = [words_taken(answers, row, now=now)] if answers else []
        return transacted(self._tables, [added, alive, is_new(row), *map(is_new, beside), *taken])

    def wait(self, offer: Offer, rows: Sequence[str]) -> bool:
        """Note rows that wait for the end of the turn, so that its progress shows them. False if they were noted before."""
        waiting = tuple(dict.fromkeys((*offer.waiting, *rows)))
        return waiting != offer.waiting and self._offer(offer, {"waiting": list(waiting)}, absent("settled"))

    def acknowledge(self, offer: Offer, rows: Sequence[str]) -> None:
        """These rows have reached the agent: injected into its answer, or prompted. Safe to repeat."""
        given = tuple(dict.fromkeys((*offer.acknowledged, *(row for row in rows if row in offer.rows))))
        if given != offer.acknowledged:
            self._offer(offer, {"acknowledged": list(given)}, absent("settled"))

    def count_stopped(self, session: Session, offer: Offer, usage: Usage) -> None:
        """Keep the session's sums with a turn that was stopped: once, and never for one that has a result. Safe to repeat.

        Raises Conflict if other tokens were counted since the session was read.
        """
        once = Update(
            Table.SESSIONS,
            offer_key(offer.session_id, offer.id),
            when=[present("pk"), absent("result"), absent("counted")],
            set={"counted": True},
        )
        over = either(absent("turn.id"), differs("turn.id", offer.id))
        counted = Update(
            Table.SESSIONS,
            meta_key(session.id),
            when=[present("pk"), over, usage_as_read(session)],
            set={"usage": usage_value(usage)},
            add={"version": 1},
        )
        try:
            self._tables.transact([once, counted])
        except ConditionFailed as failed:
            if failed.items[0] is None:
                raise Conflict(f"session {session.id} changed since it was read") from None

    def choose(self, session: Session, executor: Executor, *, now: int) -> Session:
        """Set who answers from now on. A turn of the other one that no process works on is over; its rows stay new.

        Raises Conflict if the session changed since it was read.
        """
        turn = session.turn
        idle = turn is not None and turn.by is not executor and (not turn.is_claimed or turn.lease_until <= now)
        chosen = replace(
            session,
            cloud_chosen=executor is Executor.CLOUD,
            cloud_kickoff=session.cloud_kickoff and executor is Executor.CLOUD,
            turn=None if idle else turn,
            version=session.version + 1,
            updated_at=now,
        )
        write = Update(
            Table.SESSIONS,
            meta_key(session.id),
            when=[equals("version", session.version)],
            set={
                "answers": Executor.CLOUD.value if chosen.cloud_chosen else None,
                "cloud_kickoff": chosen.cloud_kickoff or None,
                "updated_at": now,
                **({"turn": None} if idle else {}),
            },
            add={"version": 1},
        )
        if not updated(self._tables, write):
            raise Conflict(f"session {session.id} changed since it was read")
        return chosen

    def withdraw(self, session: Session, *, now: int, marks_kickoff: bool = False) -> bool:
        """End a turn that no process works on, so that it is offered again; False if it changed since it was read.

        `marks_kickoff`: the deployment's agent confirms the handoff instead.
        """
        write = Update(
            Table.SESSIONS,
            meta_key(session.id),
            when=[*is_at_fence(session), either(equals("turn.state", OFFERED), no_executor(now))],
            set={"turn": None, "updated_at": now, **({"cloud_kickoff": True} if marks_kickoff else {})},
            add={"version": 1},
        )
        return updated(self._tables, write)

    def told_away(self, offer: Offer) -> bool:
        """Note that the user was notified that the machine is away: once for each turn. False if that was noted before."""
        return self._offer(offer, {"told_away": True}, absent("told_away"), absent("settled"))

    def _renew(self, session: Session, lease_until: int) -> bool:
        when = [*is_at_fence(session), equals("turn.state", CLAIMED)]
        changes = {"turn.lease_until": lease_until}
        return updated(
            self._tables, Update(Table.SESSIONS, meta_key(session.id), when=when, set=changes, add={"version": 1})
        )

    def _offer(self, offer: Offer, changes: dict[str, object], *when: Condition) -> bool:
        key = offer_key(offer.session_id, offer.id)
        return updated(self._tables, Update(Table.SESSIONS, key, when=[present("pk"), *when], set=changes))
