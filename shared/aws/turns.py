"""Turns in DynamoDB: the lease and the commit."""

from dataclasses import replace

from shared.aws.conditions import confirm_write
from shared.aws.inbox import close_row
from shared.aws.outbox import item_of
from shared.aws.tables import Tables, meta_key
from shared.aws.transcripts import chunk_puts
from shared.aws.writes import Put, Refusal, Update, Write, absent, equals, transact, update
from shared.domain.sessions import Session
from shared.errors import Conflict
from shared.ports.turns import TurnCommit


class DynamoTurns:
    """The `Turns` port."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def commit(self, commit: TurnCommit, *, now: int) -> Session:
        session = commit.session
        if session.turn is None:
            raise ValueError("a turn is committed under its lease")
        unmoved = [equals("epoch", session.epoch), equals("owner", session.owner.route)]
        still_mine = [equals("turn_id", session.turn.id), equals("message_count", session.message_count)]
        count = session.message_count + len(commit.messages)
        meta = Update(
            self._tables.sessions,
            meta_key(session.id),
            when=[*unmoved, *still_mine],
            set={"message_count": count, "updated_at": now, **dict.fromkeys(_ENDED_WITH_THE_TURN)},
            add={"version": 1},
        )
        writes: list[Write] = [
            meta,
            *chunk_puts(self._tables.sessions, session.id, session.message_count, commit.messages),
            *(close_row(self._tables.sessions, row, f"{session.id}/{commit.turn_id}") for row in commit.rows),
            *(Put(self._tables.sessions, item_of(part, now), [absent("pk")]) for part in commit.parts),
        ]
        if commit.handoff is not None:
            writes.append(confirm_write(self._tables.handoffs, commit.handoff, commit.receipt, now=now))
        try:
            transact(self._tables.client, writes)
        except Refusal:
            raise Conflict(f"session {session.id} is no longer as the turn found it") from None
        return replace(
            session,
            message_count=count,
            version=session.version + 1,
            updated_at=now,
            turn=None,
            strikes=0,
            resume_pending=None,
            suspended=False,
        )

    def extend(self, session: Session, *, until: int) -> bool:
        if session.turn is None:
            return False
        mine = equals("turn_id", session.turn.id)
        try:
            update(
                self._tables.client,
                Update(
                    self._tables.sessions,
                    meta_key(session.id),
                    when=[mine],
                    set={"turn_lease_until": until},
                    add={"version": 1},
                ),
            )
        except Refusal:
            return False
        return True


_ENDED_WITH_THE_TURN = ("turn_id", "turn_lease_until", "strikes", "resume_pending", "suspended")
