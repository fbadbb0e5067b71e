"""The outbox in DynamoDB: the journal of what is delivered."""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from shared.aws.items import Item
from shared.aws.tables import Tables, out_key
from shared.aws.writes import Condition, Put, Refusal, Update, absent, either, equals, one_of, put, update
from shared.domain.routes import place_of
from shared.ports.outbox import OutPart
from shared.ports.platforms import Part

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


class DynamoOutbox:
    """The `Outbox` port."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def post(self, parts: Sequence[OutPart], *, now: int) -> None:
        for part in parts:
            with contextlib.suppress(Refusal):
                put(self._tables.client, Put(self._tables.sessions, item_of(part, now), [absent("pk")]))

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


def _undecided() -> list[Condition]:
    return [one_of("state", ["waiting", "sending"])]


def _overdue(now: int) -> tuple[tuple[str, str], tuple[str, int]]:
    return ("state", "sending_until"), ("sending", now)


def item_of(part: OutPart, now: int) -> Mapping[str, Any]:
    return {
        **out_key(part.session_id, part.turn_id, part.number),
        "route": part.place.route,
        "text": part.part.text,
        "extra": dict(part.part.extra) or None,
        "state": part.state,
        "expires_at": now // 1000 + KEEP_SECONDS,
    }
