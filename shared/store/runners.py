"""Runners as items beside their user, and the turns that each of them polls."""

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shared.domain.orders import Order
from shared.domain.runners import Runner
from shared.errors import Conflict
from shared.ports.conditions import Condition, absent, equals, present
from shared.ports.tables import Check, ConditionFailed, Delete, Item, Put, Table, Tables, Update, updated
from shared.store.keys import ORDER, POINTER, RUNNER, pointer_key, pointers_partition, runner_key, user_partition
from shared.store.orders import orders_of
from shared.store.values import is_set, list_at, map_at, text_at, time_at
from shared.store.versions import stamped


@dataclass(frozen=True)
class TurnPointer:
    """A turn that was offered to a runner. Only a hint: the claim decides."""

    session_id: str
    turn_id: str
    agent: str
    native_id: str
    is_kickoff: bool = False


class Runners:
    """A user's runners, and the turns that were offered to each."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def register(self, runner: Runner) -> bool:
        """Create the runner, or change its name, agents and version; False if it is revoked."""
        item = {
            **runner_key(runner.user_id, runner.id),
            "name": runner.name,
            "agents": dict(runner.agents),
            "version": runner.version,
            "seen_at": runner.seen_at,
            "turn_at": runner.turn_at or None,
            "unattended": _names(runner.unattended),
            "orders": _names(runner.orders),
            "projects": list(runner.projects) or None,
        }
        with contextlib.suppress(ConditionFailed):
            self._tables.put(Put(Table.SESSIONS, stamped(item), [absent("revoked")]))
            return True
        return False

    def get(self, user_id: str, runner_id: str) -> Runner | None:
        item = self._tables.get(Table.SESSIONS, runner_key(user_id, runner_id))
        return _runner_of(item) if item else None

    def list(self, user_id: str) -> Sequence[Runner]:
        return [_runner_of(item) for item in self._tables.query(user_partition(user_id), low=RUNNER)]

    def seen(self, runner: Runner, *, now: int, ran_turn: bool = False) -> None:
        """Note a sign of life, and whether a turn runs. Best effort."""
        changes = {"seen_at": now, **({"turn_at": now} if ran_turn else {})}
        key = runner_key(runner.user_id, runner.id)
        with contextlib.suppress(ConditionFailed, Conflict):
            self._tables.update(Update(Table.SESSIONS, key, when=[present("pk")], set=changes))

    def revoke(self, runner: Runner) -> bool:
        """Let it claim nothing any more; False if it is gone."""
        key = runner_key(runner.user_id, runner.id)
        return updated(self._tables, Update(Table.SESSIONS, key, when=[present("pk")], set={"revoked": True}))

    def waiting(self, user_id: str, runner_id: str) -> tuple[Sequence[TurnPointer], Sequence[Order]]:
        """The turns that were offered to a runner, and its orders, ended ones included: one query."""
        partition = pointers_partition(user_id, runner_id)
        items = list(self._tables.query(partition, low=ORDER, high=f"{POINTER}\U0010ffff"))
        return [_pointer_of(item) for item in items if item["sk"].startswith(POINTER)], orders_of(items)

    def remove_pointer(self, user_id: str, runner_id: str, turn_id: str) -> None:
        """Safe to repeat."""
        self._tables.delete(Delete(Table.SESSIONS, pointer_key(user_id, runner_id, turn_id)))


def _runner_of(item: Item) -> Runner:
    return Runner(
        id=item["sk"].removeprefix(RUNNER),
        user_id=item["pk"].removeprefix("USER#"),
        name=text_at(item, "name", ""),
        agents=map_at(item, "agents"),
        version=text_at(item, "version", ""),
        seen_at=time_at(item, "seen_at"),
        turn_at=time_at(item, "turn_at"),
        revoked="revoked" in item,
        unattended=frozenset(text_at(item, "unattended", "").split()),
        orders=frozenset(text_at(item, "orders", "").split()),
        projects=tuple(label for label in list_at(item, "projects") if isinstance(label, str)),
    )


def unattended_as_read(runner: Runner, *more: Condition) -> Check:
    """The same agents of the runner are unattended as when it was read; `more` is checked with it."""
    names = _names(runner.unattended)
    same = equals("unattended", names) if names else absent("unattended")
    return Check(Table.SESSIONS, runner_key(runner.user_id, runner.id), [same, *more])


def _names(names: Iterable[str]) -> str | None:
    """One text, so that a condition can compare it; names of agents and kinds have no blanks."""
    return " ".join(sorted(names)) or None


def _pointer_of(item: Item) -> TurnPointer:
    return TurnPointer(
        session_id=text_at(item, "session_id", ""),
        turn_id=item["sk"].removeprefix(POINTER),
        agent=text_at(item, "agent", ""),
        native_id=text_at(item, "native_id", ""),
        is_kickoff=is_set(item, "kickoff"),
    )
