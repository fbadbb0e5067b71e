"""Questions as items beside their session."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from shared.domain.questions import Given, Option, Question, QuestionState
from shared.domain.sessions import Session
from shared.errors import Conflict
from shared.ports.conditions import Condition, absent, at_most, equals, more_than, present
from shared.ports.tables import (
    Check,
    ConditionFailed,
    Delete,
    Item,
    Put,
    Table,
    Tables,
    Update,
    Write,
    transacted,
    updated,
)
from shared.store.inbox import InboxRow, new_row
from shared.store.keys import QUESTION, meta_key, question_key, question_prefix, session_partition
from shared.store.outbox import OutPart, new_part
from shared.store.session_items import CLAIMED
from shared.store.turns import is_at_fence
from shared.store.values import is_number, is_over, is_set, list_at, number_at, text_at, texts_at, time_at
from shared.store.versions import stamped

KEEP_SECONDS = 3 * 24 * 3600
_OPEN = equals("state", QuestionState.OPEN.value)


class Questions:
    """Each method but the reading ones is one conditional write or one transaction."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def ask(self, session: Session, question: Question, parts: Sequence[OutPart], *, now: int) -> Session | None:
        """Store an open question with its messages in the outbox, while its turn is alive at its fence.

        It is shown as the session's next number. A question with this number at this fence stays as it is. Returns the
        session, None if the turn is over or has another fence. Raises Conflict if another question got the number.
        """
        writes: list[Write] = [
            Put(Table.SESSIONS, _item_of(question, now), [absent("pk")]),
            _count(session),
            *(new_part(part, now) for part in parts),
        ]
        try:
            self._tables.transact(writes)
        except ConditionFailed as failed:
            known, meta, *_ = failed.items
            if known or meta is None:
                return session  # asked before; perhaps only its messages are left
            if meta and meta.get("questions", 0) != session.questions:
                raise Conflict from failed
            return None
        return replace(session, questions=session.questions + 1, version=session.version + 1)

    def get(self, session_id: str, turn_id: str, fence: int, number: int) -> Question | None:
        item = self._tables.get(Table.SESSIONS, question_key(session_id, turn_id, fence, number))
        return _question_of(item) if item else None

    def of(self, session_id: str, turn_id: str, *, fence: int | None = None) -> Sequence[Question]:
        """The questions of a turn that are not done with, in order; those of one fence, or of all."""
        items = self._tables.query(session_partition(session_id), low=question_prefix(turn_id, fence))
        return [_question_of(item) for item in items]

    def all(self, session_id: str) -> Sequence[Question]:
        """The questions of all turns of a session that are not done with."""
        return [_question_of(item) for item in self._tables.query(session_partition(session_id), low=QUESTION)]

    def shown(self, question: Question, *, now: int) -> None:
        """All of it was sent. The first time counts."""
        when = [_OPEN, absent("shown_ms")]
        updated(self._tables, Update(Table.SESSIONS, _key(question), when=when, set={"shown_ms": now}))

    def mark(self, session: Session, question: Question, marks: Sequence[int], *, now: int) -> bool:
        """Mark options of an open question, if it is as it was read, was shown, and its turn is alive where it blocks."""
        when = [_OPEN, at_most("shown_ms", now), more_than("expires_ms", now), _at_revision(question.revision)]
        marked = Update(Table.SESSIONS, _key(question), when=when, set={"marks": list(marks), "revision": sum(marks)})
        return transacted(self._tables, [marked, *([_alive(session)] if question.blocks else [])])

    def answer(
        self,
        session: Session,
        question: Question,
        given: Given,
        *,
        said_at: int,
        now: int,
        revision: int | None = None,
    ) -> bool:
        """open → answered, if all of it was shown when the user said so, it has not expired and its turn is alive.

        With a `revision`, only if no option was marked since. An answer to a question that does not block is counted in the
        session, so that the commit of its turn misses none.
        """
        when = [*_in_time(said_at, now), *([] if revision is None else [_at_revision(revision)])]
        alive = _alive(session) if question.blocks else _counted(session)
        answered = _decide(question, QuestionState.ANSWERED, *when, **_answer_of(question, given))
        return transacted(self._tables, [answered, alive])

    def answer_late(self, question: Question, given: Given, row: InboxRow, *, said_at: int, now: int) -> bool:
        """open → answered for a question that does not block, after its turn: `row` holds the answer, for the next turn.

        False as for `answer`, and if the session has moved since it was asked.
        """
        unmoved = [equals("epoch", question.epoch), equals("owner", row.place.route)]
        given_now = [*_in_time(said_at, now), equals("blocks", value=False)]
        answered = _decide(
            question, QuestionState.ANSWERED, *given_now, **_answer_of(question, given), row=row.event_id
        )
        session = Check(Table.SESSIONS, meta_key(question.session_id), unmoved)
        return transacted(self._tables, [answered, session, new_row(row)])

    def decline(self, question: Question, *, now: int) -> bool:
        """open → declined, if it has not expired."""
        return updated(self._tables, _decide(question, QuestionState.DECLINED, more_than("expires_ms", now)))

    def expire(self, question: Question, *, now: int) -> bool:
        """open → expired, once its time is over."""
        return updated(self._tables, _decide(question, QuestionState.EXPIRED, is_over("expires_ms", now)))

    def close(self, question: Question) -> bool:
        """open → closed: its turn is over."""
        return updated(self._tables, _decide(question, QuestionState.CLOSED))

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
        updated(self._tables, Update(Table.SESSIONS, key, when=[present("pk")], set={what: True}))


def _key(question: Question) -> Mapping[str, str]:
    return question_key(question.session_id, question.turn_id, question.fence, question.number)


def _is_alive(session: Session) -> list[Condition]:
    return [*is_at_fence(session), equals("turn.state", CLAIMED)]


def _alive(session: Session) -> Check:
    return Check(Table.SESSIONS, meta_key(session.id), _is_alive(session))


def _count(session: Session) -> Update:
    """Give the next number, if no other question has got it since the session was read."""
    as_read = equals("questions", session.questions) if session.questions else absent("questions")
    when = [*_is_alive(session), as_read]
    return Update(Table.SESSIONS, meta_key(session.id), when=when, add={"questions": 1, "version": 1})


def _counted(session: Session) -> Update:
    """Count an answer to a question that does not block, while its turn is alive."""
    return Update(Table.SESSIONS, meta_key(session.id), when=_is_alive(session), add={"answered": 1, "version": 1})


def words_taken(question: Question, row: InboxRow, *, now: int) -> Update:
    """The write that answers a question with the words of a row, which were said after all of it was shown."""
    when = [*_in_time(row.said_at, now), equals("free", value=True)]
    return _decide(question, QuestionState.ANSWERED, *when, row=row.event_id)


def _in_time(said_at: int, now: int) -> list[Condition]:
    return [at_most("shown_ms", said_at), more_than("expires_ms", now)]


def _at_revision(revision: int) -> Condition:
    return equals("revision", revision) if revision else absent("revision")


def _answer_of(question: Question, given: Given) -> Mapping[str, Any]:
    if given.words is not None:
        return {"words": given.words}
    return {"chosen": list(given.options)} if question.several else {"option": given.options[0]}


def _decide(question: Question, state: QuestionState, *when: Condition, **answer: Any) -> Update:
    return Update(Table.SESSIONS, _key(question), when=[_OPEN, *when], set={"state": state.value, **answer})


def _item_of(question: Question, now: int) -> Mapping[str, Any]:
    item = {
        **_key(question),
        "title": question.title,
        "detail": question.detail or None,
        "kind": question.kind or None,
        "reason": question.reason or None,
        "shown_as": question.shown_as,
        "options": [_option_value(option) for option in question.options],
        "several": question.several or None,
        "free": question.free or None,
        "blocks": None if question.blocks else False,
        "epoch": None if question.blocks else question.epoch,
        "state": question.state.value,
        "expires_ms": question.expires_at,
        "expires_at": now // 1000 + KEEP_SECONDS,
    }
    return stamped(item)


def _option_value(option: Option) -> Mapping[str, str]:
    more = {"description": option.description} if option.description else {}
    return {"id": option.id, "kind": option.kind, "name": option.name, **more}


def _option_of(value: Mapping[str, Any]) -> Option:
    return Option(*(text_at(value, name, "") for name in ("id", "kind", "name", "description")))


def _question_of(item: Item) -> Question:
    turn_id, fence, number = item["sk"].removeprefix(QUESTION).rsplit("#", 2)
    state = item.get("state")
    return Question(
        session_id=item["pk"].removeprefix("SESSION#"),
        turn_id=turn_id,
        fence=int(fence),
        number=int(number),
        title=text_at(item, "title", ""),
        options=[_option_of(option) for option in list_at(item, "options") if isinstance(option, Mapping)],
        expires_at=time_at(item, "expires_ms"),
        detail=text_at(item, "detail", ""),
        kind=text_at(item, "kind", ""),
        reason=text_at(item, "reason", ""),
        shown_as=number_at(item, "shown_as", int(number)),
        shown_at=time_at(item, "shown_ms", None),
        state=QuestionState(state) if state in tuple(QuestionState) else QuestionState.UNKNOWN,
        option=text_at(item, "option"),
        several=is_set(item, "several"),
        free=is_set(item, "free"),
        blocks=item.get("blocks") is not False,
        epoch=number_at(item, "epoch"),
        marks=tuple(count if is_number(count) else 0 for count in list_at(item, "marks")),
        chosen=texts_at(item, "chosen"),
        words=text_at(item, "words"),
        row=text_at(item, "row"),
        is_acknowledged="acknowledged" in item,
        is_shown_closed="shown_closed" in item,
    )
