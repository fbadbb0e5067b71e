"""Turns in DynamoDB: the commit, and the journal of what is delivered."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from shared.aws.conditions import confirm_write
from shared.aws.inbox import close_row
from shared.aws.items import Item
from shared.aws.tables import Tables, meta_key, out_key
from shared.aws.transcripts import chunk_puts
from shared.aws.writes import (
    Condition,
    Put,
    Refusal,
    Update,
    Write,
    absent,
    either,
    equals,
    one_of,
    put,
    transact,
    update,
)
from shared.domain.routes import place_of
from shared.domain.sessions import Session
from shared.errors import Conflict
from shared.ports.platforms import Part
from shared.ports.turns import OutPart, TurnCommit

KEEP_SECONDS = 30 * 24 * 3600


def _part_of(item: Item) -> OutPart:
    turn_id, _, number = item["sk"].removeprefix("OUT#").rpartition("#")
    return OutPart(
        session_id=item["pk"].removeprefix("SESSION#"),
        turn_id=turn_id,
        number=int(number),
        place=place_of(item["route"]),
        part=Part(item["text"], item.get("extra", {})),
        state=item["state"],
        message_id=item.get("message_id"),
        sending_until=item.get("sending_until", 0),
    )


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
            *(Put(self._tables.sessions, _item_of(part, now), [absent("pk")]) for part in commit.parts),
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

    def post(self, parts: Sequence[OutPart], *, now: int) -> None:
        for part in parts:
            with contextlib.suppress(Refusal):
                put(self._tables.client, Put(self._tables.sessions, _item_of(part, now), [absent("pk")]))

    def journal(self, session_id: str, turn_id: str) -> Sequence[OutPart]:
        """A turn's id may begin with another's and a `#`: those parts come along in the read, and are left out."""
        items = self._tables.query(f"SESSION#{session_id}", low=f"OUT#{turn_id}#")
        return [part for part in map(_part_of, items) if part.turn_id == turn_id]

    def sending(self, part: OutPart, *, now: int, until: int) -> OutPart | None:
        """One sender at a time: a waiting part, or one whose sender went away without a word.

        waiting ──> sending(until) ──> sent
                      │    └── said that it was not sent ──> waiting
                      └── until passes, no word: whoever comes next must reconcile first
        """
        sender_is_gone = either(equals("state", "waiting"), Condition("({} = [] AND {} <= [])", *_overdue(now)))
        try:
            item = update(
                self._tables.client,
                Update(
                    self._tables.sessions,
                    out_key(part.session_id, part.turn_id, part.number),
                    when=[sender_is_gone],
                    set={"state": "sending", "sending_until": until},
                ),
            )
        except Refusal:
            return None
        return _part_of(item)

    def sent(self, part: OutPart, message_id: str) -> None:
        """True whoever says it: a slow sender's word counts even after somebody else took over."""
        self._note(part, {"state": "sent", "message_id": message_id}, when=_undecided())

    def rejected(self, part: OutPart) -> None:
        self._note(part, {"state": "rejected"}, when=_undecided())

    def unsent(self, part: OutPart) -> None:
        mine = [equals("state", "sending"), equals("sending_until", part.sending_until)]
        self._note(part, {"state": "waiting"}, when=mine)

    def _note(self, part: OutPart, change: Mapping[str, Any], *, when: Sequence[Condition]) -> None:
        key = out_key(part.session_id, part.turn_id, part.number)
        with contextlib.suppress(Refusal):
            update(
                self._tables.client,
                Update(self._tables.sessions, key, when=when, set={**change, "sending_until": None}),
            )


_ENDED_WITH_THE_TURN = ("turn_id", "turn_lease_until", "strikes", "resume_pending", "suspended")


def _undecided() -> list[Condition]:
    return [one_of("state", ["waiting", "sending"])]


def _overdue(now: int) -> tuple[tuple[str, str], tuple[str, int]]:
    return ("state", "sending_until"), ("sending", now)


def _item_of(part: OutPart, now: int) -> Mapping[str, Any]:
    return {
        **out_key(part.session_id, part.turn_id, part.number),
        "route": part.place.route,
        "text": part.part.text,
        "extra": dict(part.part.extra) or None,
        "state": part.state,
        "expires_at": now // 1000 + KEEP_SECONDS,
    }
