"""Leases of a process that has died, for the one that takes its place and knows that it is alone."""

from collections.abc import Iterable

from shared.domain.sessions import Executor, Session
from shared.ports.conditions import equals
from shared.ports.tables import Item, Table, Tables, Update, updated
from shared.store.session_items import CLAIMED, readable_session
from shared.store.values import is_number, map_at


def void_leases(tables: Tables, held: Iterable[Item], *, now: int) -> int:
    """Let turns be claimed, parts be sent and files be read again, from `now` on; returns how many.

    A turn that waits for a pause keeps it, and so does one that a machine runs: that process lives elsewhere. What was
    interrupted still counts: a turn that kills its process is given up.
    """
    return sum(_void(tables, item, now) for item in held)


def claimed_sessions(held: Iterable[Item]) -> list[Session]:
    """The sessions whose turn the deployment's agent runs."""
    sessions = (readable_session(item) for item in held if map_at(item, "turn").get("state") == CLAIMED)
    return [session for session in sessions if session and session.turn and session.turn.by is Executor.CLOUD]


def _void(tables: Tables, item: Item, now: int) -> bool:
    turn = map_at(item, "turn")
    if turn.get("by") == Executor.MACHINE:
        return False
    if turn.get("state") == CLAIMED and isinstance(turn.get("id"), str) and is_number(turn.get("fence")):
        when = [equals("turn.id", turn["id"]), equals("turn.fence", turn["fence"])]
        over = Update(
            Table.SESSIONS, Table.SESSIONS.key_of(item), when=when, set={"turn.lease_until": now}, add={"version": 1}
        )
    elif item.get("state") == "sending" and is_number(item.get("sending_until")):
        when = [equals("state", "sending"), equals("sending_until", item["sending_until"])]
        over = Update(Table.SESSIONS, Table.SESSIONS.key_of(item), when=when, set={"sending_until": now})
    elif is_number(item.get("read_until")):
        when = [equals("read_until", item["read_until"])]
        over = Update(Table.SESSIONS, Table.SESSIONS.key_of(item), when=when, set={"read_until": now})
    else:
        return False
    return updated(tables, over)
