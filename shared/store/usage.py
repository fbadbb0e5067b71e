"""The usage of a user: one item, changed by conditional updates only.

    open: {handoff id: when it was taken}, open_count    hour, turns, last_turn    stored_bytes    noticed_at, last_notice

Ended handoffs stay in `open` until it is full; then their items say which of them have ended. So the end of a handoff
costs no write, and a count that a dead process left behind corrects itself.
"""

import math

from shared.domain.handoffs import OPEN
from shared.domain.limits import Limits
from shared.errors import Conflict, StorageFull, TooManyNotices, TooManyOpenHandoffs, TooManyTurns
from shared.ports.conditions import Condition, absent, at_least, at_most, differs, either, present
from shared.ports.tables import ConditionFailed, Item, Key, Table, Tables, Update
from shared.store.keys import handoff_key, usage_key
from shared.store.versions import VERSION

HOUR = 3_600_000
NOTICE_EVERY = 60_000
TRIES = 5
WRITTEN_WITHIN = 60_000
"""Milliseconds after which a handoff that was taken and has no item was never written."""


class Usage:
    """Counts by conditional writes, so that concurrent requests never pass a limit together.

    What is taken and then not used is given back. A process that dies between the two leaves a turn or the bytes of one
    upload counted; a handoff that was never written frees itself.
    """

    def __init__(self, tables: Tables, limits: Limits) -> None:
        self._tables = tables
        self._limits = limits

    def take_handoff(self, user_id: str, handoff_id: str, *, now: int) -> bool:
        """Count an open handoff and its turn; False if this one is counted already.

        Raises TooManyOpenHandoffs or TooManyTurns.
        """
        limits = self._limits
        if not (limits.open_handoffs or limits.turns_per_hour):
            return False
        for _ in range(TRIES):
            found = self._try(
                usage_key(user_id),
                [
                    at_least("hour", now // HOUR),
                    absent(f"open.{handoff_id}"),
                    *_below("open_count", limits.open_handoffs),
                    *_below("turns", limits.turns_per_hour),
                ],
                set={f"open.{handoff_id}": now},
                add={"open_count": 1, "turns": 1},
            )
            if found is None:
                return True
            if _is_of_an_earlier_hour(found, now):
                self._begin_hour(user_id, now)
            elif handoff_id in found["open"]:
                return False
            elif _is_full(found["turns"], limits.turns_per_hour):
                raise _too_many_turns(limits, now)
            elif not self._forget_ended(user_id, found, now):
                raise TooManyOpenHandoffs(limits.open_handoffs)
        raise Conflict(f"the usage of {user_id} keeps changing")

    def give_back_handoff(self, user_id: str, handoff_id: str) -> None:
        mine = f"open.{handoff_id}"
        self._try(
            usage_key(user_id),
            [present(mine), at_least("turns", 1)],
            set={mine: None},
            add={"open_count": -1, "turns": -1},
        )

    def take_turn(self, user_id: str, turn_id: str, *, now: int) -> None:
        """Count a turn; a retry of the user's last one counts once. Raises TooManyTurns."""
        if not self._limits.turns_per_hour:
            return
        this_hour = at_least("hour", now // HOUR)
        for _ in range(TRIES):
            found = self._try(
                usage_key(user_id),
                [this_hour, differs("last_turn", turn_id), *_below("turns", self._limits.turns_per_hour)],
                set={"last_turn": turn_id},
                add={"turns": 1},
            )
            if found is None or found.get("last_turn") == turn_id:
                return
            if not _is_of_an_earlier_hour(found, now):
                raise _too_many_turns(self._limits, now)
            self._begin_hour(user_id, now)
        raise Conflict(f"the usage of {user_id} keeps changing")

    def take_notice(self, user_id: str, notice_id: str, *, now: int) -> None:
        """Count a notice: one a minute; a retry of the user's last one counts once. Raises TooManyNotices."""
        found = self._try(
            usage_key(user_id),
            [either(absent("noticed_at"), at_most("noticed_at", now - NOTICE_EVERY))],
            set={"noticed_at": now, "last_notice": notice_id},
        )
        if found is not None and found.get("last_notice") != notice_id:
            wait = min(NOTICE_EVERY, found["noticed_at"] + NOTICE_EVERY - now)  # a clock may be ahead
            raise TooManyNotices(every=NOTICE_EVERY // 1000, retry_after=max(1, math.ceil(wait / 1000)))

    def take_bytes(self, user_id: str, size: int) -> None:
        """Count an upload. Raises StorageFull."""
        limit = self._limits.stored_bytes
        if not limit:
            return
        has_room = either(absent("stored_bytes"), at_most("stored_bytes", limit - size))
        if size > limit or self._try(usage_key(user_id), [has_room], add={"stored_bytes": size}) is not None:
            raise StorageFull(limit)

    def give_back_bytes(self, user_id: str, size: int) -> None:
        if self._limits.stored_bytes and size:
            self._try(usage_key(user_id), [present("stored_bytes")], add={"stored_bytes": -size})

    def _begin_hour(self, user_id: str, now: int) -> None:
        hour = now // HOUR
        self._try(
            usage_key(user_id),
            [either(absent("hour"), at_most("hour", hour - 1))],
            set={"hour": hour, "turns": 0},
            first={"open": {}, "open_count": 0},
        )

    def _forget_ended(self, user_id: str, found: Item, now: int) -> bool:
        """Take ended handoffs out of the count; False if there are none."""
        taken = found["open"]
        items = self._tables.get_many(Table.HANDOFFS, [handoff_key(handoff_id) for handoff_id in taken])
        written = {item["handoff_id"] for item in items}
        still_open = {item["handoff_id"] for item in items if item["state"] in OPEN}
        being_written = {
            handoff_id for handoff_id, at in taken.items() if handoff_id not in written and at + WRITTEN_WITHIN > now
        }
        ended = taken.keys() - still_open - being_written
        if ended:
            self._try(  # a concurrent request that has forgotten some of them first is as good
                usage_key(user_id),
                [present(f"open.{handoff_id}") for handoff_id in ended],
                set={f"open.{handoff_id}": None for handoff_id in ended},
                add={"open_count": -len(ended)},
            )
        return bool(ended)

    def _try(self, key: Key, when: list[Condition], **changes: Item) -> Item | None:
        """Update the usage; if the conditions do not hold, return it as it is instead ({} before the first use)."""
        first = {"v": VERSION, **changes.get("first", {})}
        try:
            self._tables.update(Update(Table.SESSIONS, key, when=when, **{**changes, "first": first}))
        except ConditionFailed as failed:
            return failed.items[0] or {}
        return None


def _below(path: str, limit: int) -> list[Condition]:
    return [at_most(path, limit - 1)] if limit else []


def _is_full(count: int, limit: int) -> bool:
    return bool(limit) and count >= limit


def _is_of_an_earlier_hour(found: Item, now: int) -> bool:
    return bool(found.get("hour", -1) < now // HOUR)


def _too_many_turns(limits: Limits, now: int) -> TooManyTurns:
    return TooManyTurns(limits.turns_per_hour, retry_after=math.ceil((HOUR - now % HOUR) / 1000))
