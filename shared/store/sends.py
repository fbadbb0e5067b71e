"""Files that a user's own agent sends while it works: parts of the outbox that enter it with a condition."""

from collections.abc import Sequence

from shared.domain.questions import Question, QuestionState
from shared.domain.sessions import Session
from shared.errors import Conflict
from shared.ports.conditions import differs, equals
from shared.ports.tables import Check, ConditionFailed, Table, Tables, Write
from shared.store.keys import meta_key, question_key
from shared.store.outbox import OutPart, new_part, outbox_parts
from shared.store.session_items import CLAIMED
from shared.store.turns import is_at_fence


class Sends:
    """A file and the rest of its caption are the parts of one journal, which names turn, fence and the runner's number."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def enter(self, session: Session, parts: Sequence[OutPart], *, allowed: Question | None, now: int) -> None:
        """Add the parts once, while the turn is alive at its fence. Parts that are there stay as they are.

        While the session is shared, a question of the turn must have `allowed` it. Raises Conflict if that, or the turn,
        has changed since it was read.
        """
        may_show = [] if allowed else [differs("shared", value=True)]
        alive = [*is_at_fence(session), equals("turn.state", CLAIMED), *may_show]
        writes: list[Write] = [new_part(part, now) for part in parts]
        writes.append(Check(Table.SESSIONS, meta_key(session.id), alive))
        if allowed:
            key = question_key(session.id, allowed.turn_id, allowed.fence, allowed.number)
            is_answered = [equals("state", QuestionState.ANSWERED.value), equals("option", allowed.option or "")]
            writes.append(Check(Table.SESSIONS, key, is_answered))
        try:
            self._tables.transact(writes)
        except ConditionFailed as failed:
            if not failed.items[0]:
                raise Conflict from failed

    def of(self, session_id: str, turn_id: str) -> list[OutPart]:
        """The parts of all files of a turn, in the order in which they were sent."""
        return outbox_parts(self._tables, session_id, journal_prefix(turn_id))


def journal_of(turn_id: str, fence: int, number: int) -> str:
    """The journal of one file in the outbox."""
    return f"{journal_prefix(turn_id)}{fence:06}-{number:06}"


def journal_prefix(turn_id: str) -> str:
    """Begins the journals of all files of a turn."""
    return f"send-{turn_id}-"
