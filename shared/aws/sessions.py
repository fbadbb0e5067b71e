"""Sessions in DynamoDB: one META item each, beside its chunks and journal."""

import base64
import contextlib
import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from shared.aws.items import Item, from_item, to_item
from shared.aws.tables import Key, Tables, handoff_key, meta_key, route_key
from shared.aws.writes import Delete, Put, Refusal, absent, delete, equals, put
from shared.domain.routes import Place, place_of
from shared.domain.sessions import Interruption, ResumePending, Session, TurnLease
from shared.errors import Conflict
from shared.ports.sessions import SessionPage


def session_of(item: Item) -> Session:
    """A META item as a session."""
    pending = item.get("resume_pending")
    turn_id = item.get("turn_id")
    return Session(
        id=item["session_id"],
        user_id=item["user_id"],
        owner=place_of(item["owner"]),
        epoch=item["epoch"],
        version=item["version"],
        message_count=item["message_count"],
        created_at=item["created_at"],
        updated_at=item["updated_at"],
        title=item.get("title"),
        source=item.get("source"),
        cwd=item.get("cwd"),
        model=item.get("model"),
        link=item.get("link"),
        active_handoff=item.get("active_handoff"),
        turn=TurnLease(turn_id, item["turn_lease_until"]) if turn_id else None,
        strikes=item.get("strikes", 0),
        resume_pending=ResumePending(Interruption(pending["reason"]), pending["at"]) if pending else None,
        suspended=item.get("suspended", False),
    )


def item_of(session: Session) -> Mapping[str, Any]:
    """A session as its META item. `user_id` and `created_at` are also the keys of the `by_user` index."""
    pending = session.resume_pending
    return {
        **meta_key(session.id),
        "session_id": session.id,
        "user_id": session.user_id,
        "owner": session.owner.route,
        "epoch": session.epoch,
        "version": session.version,
        "message_count": session.message_count,
        "created_at": session.created_at,
        "updated_at": session.updated_at,
        "title": session.title,
        "source": session.source,
        "cwd": session.cwd,
        "model": session.model,
        "link": session.link,
        "active_handoff": session.active_handoff,
        "turn_id": session.turn.id if session.turn else None,
        "turn_lease_until": session.turn.lease_until if session.turn else None,
        "strikes": session.strikes or None,
        "resume_pending": {"reason": pending.reason.value, "at": pending.at} if pending else None,
        "suspended": session.suspended or None,
    }


_CURSOR = re.compile(r"([0-9]{1,15}) ([A-Za-z0-9_-]{1,64})")


class DynamoSessions:
    """The `Sessions` port."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def create(self, session: Session) -> bool:
        """Signed like `replace`, so that a repeat after a lost answer still says that it was created."""
        mark = secrets.token_hex(8)
        fresh = Put(self._tables.sessions, {**item_of(session), "write_id": mark}, [absent("pk")])
        try:
            put(self._tables.client, fresh)
        except Refusal as refusal:
            current = refusal.items[0]
            return current is not None and current.get("write_id") == mark
        return True

    def get(self, session_id: str) -> Session | None:
        item = self._tables.get(self._tables.sessions, meta_key(session_id))
        return session_of(item) if item else None

    def replace(self, before: Session, after: Session) -> Session:
        """The whole item is written: cheaper to reason about than a diff, and of the same price.

        A lost answer followed by a repeat would look like a conflict, so each write signs itself with `write_id`.
        """
        written = replace(after, version=before.version + 1)
        mark = secrets.token_hex(8)
        item = {**item_of(written), "write_id": mark}
        try:
            put(self._tables.client, Put(self._tables.sessions, item, [equals("version", before.version)]))
        except Refusal as refusal:
            current = refusal.items[0]
            if not current or current.get("write_id") != mark:
                raise Conflict(f"session {before.id} changed meanwhile") from None
        return written

    def list(self, user_id: str, *, limit: int, cursor: str | None = None) -> SessionPage:
        request: dict[str, Any] = {
            "TableName": self._tables.sessions,
            "IndexName": "by_user",
            "KeyConditionExpression": "user_id = :user",
            "ExpressionAttributeValues": to_item({":user": user_id}),
            "ScanIndexForward": False,
            "Limit": limit,
        }
        if cursor:
            request["ExclusiveStartKey"] = to_item(_key_after(user_id, cursor))
        answer = self._tables.client.query(**request)
        keys: list[Key] = [{"pk": item["pk"], "sk": item["sk"]} for item in map(from_item, answer["Items"])]
        items = self._tables.get_many(self._tables.sessions, keys)
        last = answer.get("LastEvaluatedKey")
        return SessionPage(
            sessions=[session_of(item) for item in items if item["user_id"] == user_id],  # the index may lag behind
            cursor=_cursor(from_item(last)) if last else None,
        )

    def delete(self, session: Session) -> None:
        """First the epoch grows, so that writers in flight are refused; META goes last, so that a crash can be repeated."""
        try:
            self.replace(session, replace(session, epoch=session.epoch + 1, owner=session.cli))
        except Conflict:
            if self.get(session.id) is not None:
                raise
        children = list(self._tables.query(f"SESSION#{session.id}", low="A", high="Z"))
        routes = [place_of(row["sk"].removeprefix("ROUTE#")) for row in children if row["sk"].startswith("ROUTE#")]
        words = [row for place in (*routes, session.cli) for row in self._words_at(place, session)]
        rows = [*words, *(row for row in children if row["sk"] != "META")]
        for place in routes:
            self._unpoint(place, session.id)
        self._tables.delete_all([{"pk": row["pk"], "sk": row["sk"]} for row in rows])
        self._delete_handoffs(session)
        self._tables.delete_all([meta_key(session.id)])

    def _words_at(self, place: Place, session: Session) -> Iterator[Item]:
        """What people said to this session at a place; where another one lives by now, only what this one answered."""
        everything = place == session.cli or self.at(place) in (None, session.id)
        for row in self._tables.query(f"INBOX#{place.route}", low=" ", high="\U0010ffff"):
            if everything or row.get("done_by", "").startswith(f"{session.id}/"):
                yield row

    def _unpoint(self, place: Place, session_id: str) -> None:
        """Remove a route, if it still points to this session."""
        points_here = equals("session_id", session_id)
        with contextlib.suppress(Refusal):
            delete(self._tables.client, Delete(self._tables.sessions, route_key(place), [points_here]))

    def _delete_handoffs(self, session: Session) -> None:
        pages = self._tables.client.get_paginator("query").paginate(
            TableName=self._tables.handoffs,
            IndexName="by_user",
            KeyConditionExpression="user_id = :user",
            ExpressionAttributeValues=to_item({":user": session.user_id}),
        )
        ids = {from_item(row)["handoff_id"] for page in pages for row in page["Items"]}
        if session.active_handoff:
            ids.add(session.active_handoff)  # the index may not know it yet
        for item in self._tables.get_many(self._tables.handoffs, [handoff_key(handoff_id) for handoff_id in ids]):
            if item["session_id"] == session.id:
                key = to_item(handoff_key(item["handoff_id"]))
                self._tables.client.delete_item(TableName=self._tables.handoffs, Key=key)

    def at(self, place: Place) -> str | None:
        item = self._tables.get(self._tables.sessions, route_key(place))
        return item["session_id"] if item else None


def _cursor(last: Item) -> str:
    """Where a page of the `by_user` index ended, without the user: a cursor is worth nothing to anybody else."""
    session_id = last["pk"].removeprefix("SESSION#")
    return base64.urlsafe_b64encode(f"{last['created_at']} {session_id}".encode()).decode()


def _key_after(user_id: str, cursor: str) -> Item:
    """The index key that a cursor stands for. Raises ValueError on one that we did not give."""
    named = _CURSOR.fullmatch(base64.urlsafe_b64decode(cursor).decode())
    if named is None:
        raise ValueError("no cursor of ours")
    return {**meta_key(named[2]), "user_id": user_id, "created_at": int(named[1])}
