"""Questions of agents on users' machines: asked once, decided once."""

from collections.abc import Sequence
from typing import Protocol

from shared.domain.questions import Question
from shared.domain.sessions import Session
from shared.ports.outbox import OutPart


class Questions(Protocol):
    """Each method but the reading ones is one conditional write or one transaction."""

    def ask(self, session: Session, question: Question, parts: Sequence[OutPart], *, now: int) -> bool:
        """Store an open question with its message in the outbox, while its turn is alive at its fence.

        A question with this number at this fence stays as it is. False if the turn is over or has another fence.
        """

    def get(self, session_id: str, turn_id: str, fence: int, number: int) -> Question | None: ...

    def of(self, session_id: str, turn_id: str, *, fence: int | None = None) -> Sequence[Question]:
        """The questions of a turn that are not done with, in order; those of one fence, or of all."""

    def answer(self, session: Session, question: Question, option: str, *, now: int) -> bool:
        """open → answered, if it has not expired and its turn is alive at its fence."""

    def expire(self, question: Question, *, now: int) -> bool:
        """open → expired, once its time is over."""

    def close(self, question: Question) -> bool:
        """open → closed: its turn is over."""

    def acknowledge(self, question: Question) -> None:
        """The runner knows the decision. Once its message shows it too, the question is removed."""

    def shown_closed(self, question: Question) -> None:
        """Its message shows the decision. Once the runner knows it too, the question is removed."""
