"""Turns: the lease and the commit."""

from dataclasses import replace

from shared.domain.sessions import Session
from shared.errors import Conflict
from shared.ports.conditions import equals
from shared.ports.tables import ConditionFailed, Table, Tables, Update, Write
from shared.ports.turns import TurnCommit
from shared.store.inbox import close_row
from shared.store.keys import meta_key
from shared.store.outbox import new_part
from shared.store.transcripts import chunk_puts
from shared.store.transitions import confirm_write

_ENDED_WITH_THE_TURN = ("turn_id", "turn_lease_until", "strikes", "resume_pending", "failed_tries")


class TableTurns:
    """The `Turns` port."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def commit(self, commit: TurnCommit, *, now: int) -> Session:
        session = commit.session
        if session.turn is None:
            raise ValueError("a turn is committed under its lease")
        unmoved = [equals("epoch", session.epoch), equals("owner", session.owner.route)]
        lease_is_mine = equals("turn_id", session.turn.id)
        transcript_as_read = equals("message_count", session.message_count)
        count = session.message_count + len(commit.messages)
        meta = Update(
            Table.SESSIONS,
            meta_key(session.id),
            when=[*unmoved, lease_is_mine, transcript_as_read],
            set={
                "message_count": count,
                "suspended": commit.suspends or None,
                "updated_at": now,
                **dict.fromkeys(_ENDED_WITH_THE_TURN),
            },
            add={"version": 1},
        )
        writes: list[Write] = [
            meta,
            *chunk_puts(session.id, session.message_count, commit.messages),
            *(close_row(row, f"{session.id}/{commit.turn_id}") for row in commit.rows),
            *(new_part(part, now) for part in commit.parts),
        ]
        if commit.handoff is not None:
            writes.append(confirm_write(commit.handoff, commit.receipt, now=now))
        try:
            self._tables.transact(writes)
        except ConditionFailed:
            raise Conflict(f"session {session.id} changed since the turn began") from None
        return replace(
            session,
            message_count=count,
            version=session.version + 1,
            updated_at=now,
            turn=None,
            strikes=0,
            resume_pending=None,
            suspended=commit.suspends,
            failed_tries=None,
        )

    def extend(self, session: Session, *, until: int) -> bool:
        if session.turn is None:
            return False
        lease_is_mine = equals("turn_id", session.turn.id)
        try:
            self._tables.update(
                Update(
                    Table.SESSIONS,
                    meta_key(session.id),
                    when=[lease_is_mine],
                    set={"turn_lease_until": until},
                    add={"version": 1},
                )
            )
        except ConditionFailed:
            return False
        return True
