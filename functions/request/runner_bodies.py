"""Request and response bodies of runners."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, StringConstraints

from functions.http.fields import WHOLE, Count, Id, Message
from functions.request.handoff_body import AgentName, Body
from functions.views import RunnerView
from shared.domain.progress import Summary
from shared.domain.questions import Option
from shared.use_cases.runners.claim_machine_turn import MachineClaim
from shared.use_cases.runners.report_turn import Asked, Report, ReportAnswer

Short = Annotated[str, StringConstraints(max_length=200), WHOLE]
EventId = Annotated[str, StringConstraints(pattern=r"^[!-~]{1,200}$")]
Number = Annotated[int, Field(ge=1, le=999_999)]
MOST_QUESTIONS = 20


class AgentBody(Body):
    name: AgentName
    version: Short = ""


class RunnerBody(Body):
    """A runner's description of itself. `protocol` is the version of these calls that it speaks."""

    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100), WHOLE]
    version: Short = ""
    protocol: Count
    agents: Annotated[list[AgentBody], Field(max_length=20, default_factory=list)]


class RegisteredRunner(RunnerView):
    """A runner, and the rhythm in which it polls and renews."""

    poll_after_ms: int
    lease_seconds: int


class WaitingTurn(BaseModel):
    session_id: str
    turn_id: str
    agent: str
    native_id: str
    kind: Literal["kickoff", "words"]


class WaitingTurns(BaseModel):
    """Turns that wait for this runner: a hint, the claim decides."""

    turns: list[WaitingTurn]
    poll_after_ms: int
    lease_seconds: int


class ClaimBody(Body):
    """`claim_id` is random for each claim; the same one gets the same answer. `previous_fence`: after a restart."""

    session_id: Id
    claim_id: Id
    previous_fence: Count | None = None


class WordView(BaseModel):
    id: str
    text: str


class ClaimedTurn(BaseModel):
    """A claimed turn. The agent must not be prompted before `begin` succeeds."""

    session_id: str
    turn_id: str
    fence: int
    lease_seconds: int
    kind: Literal["kickoff", "words"]
    words: list[WordView]
    unseen: list[dict[str, Any]]
    unseen_next: int | None
    native_dirty: bool
    agent: str
    native_id: str
    deadline_in: int | None
    title: str
    platform: str

    @classmethod
    def of(cls, claim: MachineClaim, *, now: int, lease_seconds: int) -> "ClaimedTurn":
        session, runs_on = claim.session, claim.offer.runs_on
        return cls(
            session_id=session.id,
            turn_id=claim.offer.id,
            fence=session.turn.fence if session.turn else 0,
            lease_seconds=lease_seconds,
            kind="kickoff" if claim.handoff else "words",
            words=[WordView(id=word.id, text=word.text) for word in claim.words],
            unseen=[dict(message) for message in claim.unseen],
            unseen_next=claim.unseen_next,
            native_dirty=session.native_dirty,
            agent=runs_on.agent if runs_on else "",
            native_id=runs_on.native_id if runs_on else "",
            deadline_in=max(0, (claim.handoff.deadline - now) // 1000) if claim.handoff else None,
            title=session.shown_title,
            platform=claim.offer.place.platform,
        )


class FenceBody(Body):
    session_id: Id
    fence: Count


class Renewed(BaseModel):
    lease_seconds: int


class SummaryBody(Body):
    steps: Count = 0
    files: Count = 0
    seconds: Count = 0

    def domain(self) -> Summary:
        return Summary(self.steps, self.files, self.seconds)


class ProgressBody(SummaryBody):
    """Progress of a turn: the agent's last text (Markdown) and its current action."""

    text: Annotated[str, StringConstraints(max_length=8000), WHOLE] = ""
    tool: Annotated[str, StringConstraints(max_length=1000), WHOLE] | None = None


class OptionBody(Body):
    id: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    kind: Annotated[str, StringConstraints(max_length=50)]
    name: Annotated[str, StringConstraints(min_length=1, max_length=200), WHOLE]


class AskBody(Body):
    """A question. `n` numbers the questions of one claim."""

    n: Number
    title: Annotated[str, StringConstraints(max_length=500), WHOLE]
    kind: Annotated[str, StringConstraints(max_length=50)] = ""
    detail: Annotated[str, StringConstraints(max_length=16_000), WHOLE] = ""
    options: Annotated[list[OptionBody], Field(min_length=1, max_length=10)]

    def domain(self) -> Asked:
        options = [Option(option.id, option.kind, option.name) for option in self.options]
        return Asked(self.n, self.title, options, detail=self.detail, kind=self.kind)


class EventsBody(FenceBody):
    """Report on a turn at work; also its heartbeat. `seq` grows with each report."""

    seq: Count
    progress: ProgressBody | None = None
    ask: Annotated[list[AskBody], Field(max_length=MOST_QUESTIONS, default_factory=list)]
    acknowledged: Annotated[list[EventId], Field(max_length=100, default_factory=list)]

    def domain(self) -> Report:
        progress = self.progress
        return Report(
            self.seq,
            said=progress.text if progress else None,
            tool=(progress.tool or "") if progress else "",
            summary=progress.domain() if progress else None,
            asked=[asked.domain() for asked in self.ask],
            acknowledged=self.acknowledged,
        )


class DecisionView(BaseModel):
    """`option` is the id of the chosen option; an expired question counts as refused."""

    n: int
    state: Literal["answered", "expired"]
    option: str | None


class EventsView(BaseModel):
    """Decisions and messages since; both repeat until they are acknowledged (`q<n>`, or the id of the message)."""

    lease_seconds: int
    decided: list[DecisionView]
    steered: list[WordView]

    @classmethod
    def of(cls, answer: ReportAnswer, *, lease_seconds: int) -> "EventsView":
        return cls(
            lease_seconds=lease_seconds,
            decided=[
                DecisionView(
                    n=question.number,
                    state="answered" if question.option is not None else "expired",
                    option=question.option,
                )
                for question in answer.decided
            ],
            steered=[WordView(id=word.id, text=word.text) for word in answer.steered],
        )


class ResultBody(FenceBody):
    """Result of a turn: the agent's messages, its reply last. `given` are the ids of the messages that it was given."""

    digest: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    outcome: Literal["done", "failed"]
    messages: Annotated[list[Message], Field(min_length=1)]
    given: Annotated[list[EventId], Field(max_length=100)]
    native_id: Annotated[str, StringConstraints(max_length=200)] | None = None
    summary: SummaryBody | None = None


class ResultView(BaseModel):
    state: Literal["done"]
