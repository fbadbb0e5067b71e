"""Questions as items beside their session."""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from shared.domain.questions import Option, Question, QuestionState
from shared.domain.sessions import Session
from shared.ports.conditions import Condition, absent, at_most, equals, more_than, present
from shared.ports.tables import Check, ConditionFailed, Delete, Item, Put, Table, Tables, Update, Write
from shared.store.keys import QUESTION, meta_key, question_key, question_prefix, session_partition
from shared.store.outbox import OutPart, new_part
from shared.store.session_items import CLAIMED
from shared.store.turns import is_at_fence
from shared.store.versions import stamped

KEEP_SECONDS = 3 * 24 * 3600
_OPEN = equals("state", QuestionState.OPEN.value)


class Questions:
    """Each method but the reading ones is one conditional write or one transaction."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def ask(self, session: Session, question: Question, parts: Sequence[OutPart], *, now: int) -> bool:
        """Store an open question with its message in the outbox, while its turn is alive at its fence.

        A question with this number at this fence stays as it is. False if the turn is over or has another fence.
        """
        writes: list[Write] = [
            Put(Table.SESSIONS, _item_of(question, now), [absent("pk")]),
            _alive(session),
            *(new_part(part, now) for part in parts),
        ]
        try:
            self._tables.transact(writes)
        except ConditionFailed as failed:
            known, turn, *_ = failed.items
            return bool(known) or turn is None  # asked before; perhaps only its message is left
        return True

    def get(self, session_id: str, turn_id: str, fence: int, number: int) -> Question | None:
        item = self._tables.get(Table.SESSIONS, question_key(session_id, turn_id, fence, number))
        return _question_of(item) if item else None

    def of(self, session_id: str, turn_id: str, *, fence: int | None = None) -> Sequence[Question]:
        """The questions of a turn that are not done with, in order; those of one fence, or of all."""
        items = self._tables.query(session_partition(session_id), low=question_prefix(turn_id, fence))
        return [_question_of(item) for item in items]

    def answer(self, session: Session, question: Question, option: str, *, now: int) -> bool:
        """open → answered, if it has not expired and its turn is alive at its fence."""
        decided = _decide(question, QuestionState.ANSWERED, more_than("expires_ms", now), option=option)
        with contextlib.suppress(ConditionFailed):
            self._tables.transact([decided, _alive(session)])
            return True
        return False

    def expire(self, question: Question, *, now: int) -> bool:
        """open → expired, once its time is over."""
        return self._holds(_decide(question, QuestionState.EXPIRED, at_most("expires_ms", now)))

    def close(self, question: Question) -> bool:
        """open → closed: its turn is over."""
        return self._holds(_decide(question, QuestionState.CLOSED))

    def acknowledge(self, question: Question) -> None:
        """The runner knows the decision. Once its message shows it too, the question is removed."""
        self._done_with(question, "acknowledged", other="shown_closed")

    def shown_closed(self, question: Question) -> None:
        """Its message shows the decision. Once the runner knows it too, the question is removed."""
        self._done_with(question, "shown_closed", other="acknowledged")

    def _done_with(self, question: Question, what: str, *, other: str) -> None:
        """Note one of the two ends of a decided question; the second one removes it. Safe to repeat."""
        key = _key(question)
        with contextlib.suppress(ConditionFailed):
            self._tables.delete(Delete(Table.SESSIONS, key, [present(other)]))
            return
        self._holds(Update(Table.SESSIONS, key, when=[present("pk")], set={what: True}))

    def _holds(self, write: Update) -> bool:
        with contextlib.suppress(ConditionFailed):
            self._tables.update(write)
            return True
        return False


def _key(question: Question) -> Mapping[str, str]:
    return question_key(question.session_id, question.turn_id, question.fence, question.number)


def _alive(session: Session) -> Check:
    return Check(Table.SESSIONS, meta_key(session.id), [*is_at_fence(session), equals("turn.state", CLAIMED)])


def _decide(question: Question, state: QuestionState, *when: Condition, option: str | None = None) -> Update:
    changes = {"state": state.value, "option": option}
    return Update(Table.SESSIONS, _key(question), when=[_OPEN, *when], set=changes)


def _item_of(question: Question, now: int) -> Mapping[str, Any]:
    options = [{"id": option.id, "kind": option.kind, "name": option.name} for option in question.options]
    item = {
        **_key(question),
        "title": question.title,
        "detail": question.detail or None,
        "kind": question.kind or None,
        "options": options,
        "state": question.state.value,
        "expires_ms": question.expires_at,
        "expires_at": now // 1000 + KEEP_SECONDS,
    }
    return stamped(item)


def _question_of(item: Item) -> Question:
    turn_id, fence, number = item["sk"].removeprefix(QUESTION).rsplit("#", 2)
    state = item.get("state")
    return Question(
        session_id=item["pk"].removeprefix("SESSION#"),
        turn_id=turn_id,
        fence=int(fence),
        number=int(number),
        title=item.get("title", ""),
        options=[Option(o.get("id", ""), o.get("kind", ""), o.get("name", "")) for o in item.get("options") or ()],
        expires_at=item.get("expires_ms", 0),
        detail=item.get("detail", ""),
        kind=item.get("kind", ""),
        state=QuestionState(state) if state in tuple(QuestionState) else QuestionState.UNKNOWN,
        option=item.get("option"),
        is_acknowledged=bool(item.get("acknowledged")),
        is_shown_closed=bool(item.get("shown_closed")),
    )
