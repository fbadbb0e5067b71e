"""Offers of turns: the messages that a turn answers, kept until it is settled."""

from dataclasses import dataclass

from shared.domain.messages import KICKOFF_PREFIX
from shared.domain.progress import Progress, Summary
from shared.domain.routes import Place
from shared.domain.sessions import Executor, RunsOn


@dataclass(frozen=True)
class Result:
    """The commit of a machine: the fence, and the digest that a repeat is recognised by."""

    fence: int
    digest: str
    summary: Summary | None = None


@dataclass(frozen=True)
class Offer:
    """A turn that was offered: messages of a user at a place, or the kickoff of a handoff.

    It is over once the session names another turn or none; turn ids are not used again. Then its reply is delivered and
    the offer removed. `nudges` counts what the sweep has sent for the turn at `nudged_fence`.

    `runs_on` is set for a turn of a machine. Its agent has got the rows that are `acknowledged`, and `waiting` ones wait for
    its end; the user was told that the machine is away (`told_away`). It stays for a while after it is settled
    (`is_settled`), so that a repeated result finds it.
    """

    id: str
    session_id: str
    user_id: str
    place: Place
    epoch: int
    offered_at: int
    rows: tuple[str, ...] = ()
    handoff_id: str | None = None
    nudges: int = 0
    nudged_fence: int = 0
    runs_on: RunsOn | None = None
    acknowledged: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    told_away: bool = False
    progress: Progress | None = None
    result: Result | None = None
    is_settled: bool = False

    @property
    def executor(self) -> Executor:
        return Executor.MACHINE if self.runs_on else Executor.CLOUD

    @property
    def progress_journal(self) -> str:
        """The id of its progress message in the outbox."""
        return f"progress-{self.id}"

    @property
    def journal(self) -> str:
        """The id under which the parts of its reply are in the outbox; that of a kickoff is the handoff's."""
        return f"{KICKOFF_PREFIX}{self.handoff_id}" if self.handoff_id else self.id

    def nudges_at(self, fence: int) -> int:
        """How often the sweep has sent a message for the turn at this fence: a claim starts the count again."""
        return self.nudges if self.nudged_fence == fence else 0
