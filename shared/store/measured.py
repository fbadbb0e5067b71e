"""The store with measurements: every ending of a handoff, every turn and every delivery passes here."""

from collections.abc import Iterator

from shared.domain.handoffs import Handoff, Reason, Step
from shared.domain.sessions import Session
from shared.ports.metrics import Metric, Metrics
from shared.ports.tables import Tables
from shared.store.handoffs import Handoffs
from shared.store.moves import Moves
from shared.store.outbox import Outbox, OutPart
from shared.store.turns import TurnCommit, Turns

STEP_TIMES = {
    Step.THREAD_OPENED: Metric.UNTIL_THREAD,
    Step.COMPLETED: Metric.UNTIL_COMPLETED,
}


class MeasuredHandoffs(Handoffs):
    """Counts how handoffs end, and how long the steps of the completed ones took since the request."""

    def __init__(self, tables: Tables, metrics: Metrics) -> None:
        super().__init__(tables)
        self._metrics = metrics

    def complete(self, handoff: Handoff, *, now: int) -> Handoff | None:
        done = super().complete(handoff, now=now)
        if done:
            self._metrics.put((Metric.HANDOFFS_COMPLETED, 1), *_step_times(done), platform=done.platform)
        return done

    def fail(self, handoff: Handoff, reason: Reason, *, now: int, rejected_delivery: bool = False) -> Handoff | None:
        done = super().fail(handoff, reason, now=now, rejected_delivery=rejected_delivery)
        return self._ended(done, Metric.HANDOFFS_FAILED, handoff, reason)

    def fail_kickoff(
        self, handoff: Handoff, reason: Reason, *, session: Session, now: int, abandoned: bool = False
    ) -> Handoff | None:
        done = super().fail_kickoff(handoff, reason, session=session, now=now, abandoned=abandoned)
        return self._ended(done, Metric.HANDOFFS_FAILED, handoff, reason)

    def expire(self, handoff: Handoff, reason: Reason, *, now: int) -> Handoff | None:
        done = super().expire(handoff, reason, now=now)
        return self._ended(done, Metric.HANDOFFS_FAILED, handoff, reason)

    def cancel(self, handoff: Handoff, reason: Reason, *, now: int) -> Handoff | None:
        done = super().cancel(handoff, reason, now=now)
        return self._ended(done, Metric.HANDOFFS_CANCELLED, handoff, reason)

    def _ended(self, done: Handoff | None, metric: Metric, handoff: Handoff, reason: Reason) -> Handoff | None:
        if done:
            self._metrics.put((metric, 1), platform=handoff.platform, reason=reason.code)
        return done


def _step_times(handoff: Handoff) -> Iterator[tuple[Metric, float]]:
    for step, metric in STEP_TIMES.items():
        if step in handoff.steps:
            yield metric, (handoff.steps[step] - handoff.created_at) / 1000


class MeasuredMoves(Moves):
    """Counts handoffs that a resume ended."""

    def __init__(self, tables: Tables, metrics: Metrics) -> None:
        super().__init__(tables)
        self._metrics = metrics

    def to_terminal(self, session: Session, *, now: int) -> Session:
        moved = super().to_terminal(session, now=now)
        if session.active_handoff:
            self._metrics.put((Metric.HANDOFFS_CANCELLED, 1), reason="resumed")
        return moved


class MeasuredTurns(Turns):
    """Counts turns that ended with a reply; that of a kickoff confirms its handoff."""

    def __init__(self, tables: Tables, metrics: Metrics) -> None:
        super().__init__(tables)
        self._metrics = metrics

    def commit(self, commit: TurnCommit, *, now: int) -> Session:
        committed = super().commit(commit, now=now)
        handoff = commit.handoff
        waited = [(Metric.UNTIL_CONFIRMED, (now - handoff.created_at) / 1000)] if handoff else []
        self._metrics.put((Metric.TURNS, 1), *waited, platform=commit.session.owner.platform)
        return committed


class MeasuredOutbox(Outbox):
    """Counts parts that were delivered, put off and rejected."""

    def __init__(self, tables: Tables, metrics: Metrics) -> None:
        super().__init__(tables)
        self._metrics = metrics

    def sent(self, part: OutPart, message_id: str) -> None:
        super().sent(part, message_id)
        self._metrics.put((Metric.DELIVERIES, 1), platform=part.place.platform)

    def unsent(self, part: OutPart) -> None:
        super().unsent(part)
        self._metrics.put((Metric.DELIVERIES_DELAYED, 1), platform=part.place.platform)

    def rejected(self, part: OutPart, *, reason: str = "") -> None:
        super().rejected(part, reason=reason)
        self._metrics.put((Metric.DELIVERIES_REJECTED, 1), platform=part.place.platform)
