"""Request and response bodies of runners."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, StringConstraints, model_validator

from functions.http.fields import WHOLE, Count, Id, Message
from functions.request.handoff_body import AgentName, Body
from functions.request.order_bodies import Project, WaitingOrder
from functions.views import RunnerView
from shared.domain.progress import Summary
from shared.domain.questions import CHOICE, Option, Question, QuestionState
from shared.domain.usage import MICROS, TurnUsage
from shared.use_cases.runners.claim_machine_turn import MachineClaim, Word
from shared.use_cases.runners.report_turn import Asked, Report, ReportAnswer
from shared.use_cases.runners.send_file import Became, Send

Short = Annotated[str, StringConstraints(max_length=200), WHOLE]
EventId = Annotated[str, StringConstraints(pattern=r"^[!-~]{1,200}$")]
Number = Annotated[int, Field(ge=1, le=999_999)]
OrderKind = Annotated[str, StringConstraints(pattern=r"^[a-z]{1,20}$")]
MOST_QUESTIONS = 20
MOST_PROJECTS = 50
MOST_OPTIONS = 20
MOST_COMMANDS = 100
MOST_SENT = 20


class AgentBody(Body):
    """An agent of the machine. `unattended`: it may run steps without asking, so its threads cannot be shared."""

    name: AgentName
    version: Short = ""
    unattended: bool = False


class RunnerBody(Body):
    """A runner's description of itself. `protocol` is the version of these calls that it speaks, `orders` the kinds of
    orders that it does, `projects` the labels of the directories that its user has opened for sessions from a chat."""

    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100), WHOLE]
    version: Short = ""
    protocol: Count
    agents: Annotated[list[AgentBody], Field(max_length=20, default_factory=list)]
    orders: Annotated[list[OrderKind], Field(max_length=20, default_factory=list)]
    projects: Annotated[list[Project], Field(max_length=MOST_PROJECTS, default_factory=list)]


class RegisteredRunner(RunnerView):
    """A runner, its user, and the rhythm in which it polls and renews.

    `accepts` names what this service takes from runners beyond the first version of these calls, `file_limit` is the size
    of the largest file that it stores.
    """

    user: str
    accepts: list[str] = Field(
        default_factory=lambda: ["choices", "commands", "files", "orders", "projects", "sends", "stopped", "usage"]
    )
    file_limit: int
    poll_after_ms: int
    lease_seconds: int


class WaitingTurn(BaseModel):
    session_id: str
    turn_id: str
    agent: str
    native_id: str
    kind: Literal["kickoff", "words"]


class WaitingTurns(BaseModel):
    """Turns and orders that wait for this runner: hints, the claim or the take decides.

    `release`: its agents let go of these sessions.
    """

    turns: list[WaitingTurn]
    orders: list[WaitingOrder]
    release: list[str]
    poll_after_ms: int
    lease_seconds: int


class ClaimBody(Body):
    """`claim_id` is random for each claim; the same one gets the same answer. `previous_fence`: after a restart."""

    session_id: Id
    claim_id: Id
    previous_fence: Count | None = None


class WordFile(BaseModel):
    """A file of a message: GET /sessions/{id}/files/{id} gives its bytes."""

    id: str
    name: str
    type: str
    size: int
    sha256: str


class WordView(BaseModel):
    id: str
    text: str
    files: list[WordFile]

    @classmethod
    def of(cls, word: Word) -> Self:
        return cls(id=word.id, text=word.text, files=[WordFile(**file.value()) for file in word.files])


class AnswerView(BaseModel):
    """An answer that an interrupted run has not got. With `words`, the words of the claim with this id are the answer."""

    id: str
    question: str
    answer: str
    words: str | None


class ClaimedTurn(BaseModel):
    """A claimed turn. The agent must not be prompted before `begin` succeeds.

    `answers` go into the first prompt; their ids are acknowledged as those of words are. `dials` are what the person has
    chosen of the agent. `shared`: others read the thread too.
    """

    session_id: str
    turn_id: str
    fence: int
    lease_seconds: int
    kind: Literal["kickoff", "words"]
    words: list[WordView]
    answers: list[AnswerView]
    unseen: list[dict[str, Any]]
    unseen_next: int | None
    native_dirty: bool
    agent: str
    native_id: str
    dials: dict[str, str]
    deadline_in: int | None
    title: str
    platform: str
    shared: bool

    @classmethod
    def of(cls, claim: MachineClaim, *, now: int, lease_seconds: int) -> "ClaimedTurn":
        session, runs_on = claim.session, claim.offer.runs_on
        return cls(
            session_id=session.id,
            turn_id=claim.offer.id,
            fence=session.turn.fence if session.turn else 0,
            lease_seconds=lease_seconds,
            kind="kickoff" if claim.handoff else "words",
            words=[WordView.of(word) for word in claim.words],
            answers=[
                AnswerView(id=one.later_acknowledgement, question=one.title, answer=one.answer, words=one.row)
                for one in claim.answers
            ],
            unseen=[dict(message) for message in claim.unseen],
            unseen_next=claim.unseen_next,
            native_dirty=session.native_dirty,
            agent=runs_on.agent if runs_on else "",
            native_id=runs_on.native_id if runs_on else "",
            dials=dict(session.dials),
            deadline_in=max(0, (claim.handoff.deadline - now) // 1000) if claim.handoff else None,
            title=session.shown_title,
            platform=claim.offer.place.platform,
            shared=session.shared,
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
    """Progress of a turn: the agent's last text (Markdown) and its current action.

    `given` counts the words that reached the agent while it works, `waiting` those that wait for the end of its answer.
    """

    text: Annotated[str, StringConstraints(max_length=8000), WHOLE] = ""
    tool: Annotated[str, StringConstraints(max_length=1000), WHOLE] | None = None
    given: Count = 0
    waiting: Count = 0


class OptionBody(Body):
    id: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    kind: Annotated[str, StringConstraints(max_length=50)]
    name: Annotated[str, StringConstraints(min_length=1, max_length=200), WHOLE]
    description: Annotated[str, StringConstraints(max_length=1000), WHOLE] = ""


class AskBody(Body):
    """A question. `n` numbers the questions of one claim; the thread shows a number of the session.

    `detail` is shown whole, in as many messages as it takes, and a `plan` (Markdown) before it. `reason` says why no option
    allows it. With the kind `choice` it asks for one option, for `several`, or for `free` words; without `blocks` the agent
    goes on, and the answer may come after the turn. `file` is a stored file with the whole text, posted before the buttons;
    where it cannot be posted, no option that allows is offered.
    """

    n: Number
    title: Annotated[str, StringConstraints(max_length=500), WHOLE]
    kind: Annotated[str, StringConstraints(max_length=50)] = ""
    detail: Annotated[str, StringConstraints(max_length=24_000), WHOLE] = ""
    reason: Annotated[str, StringConstraints(max_length=500), WHOLE] = ""
    plan: Annotated[str, StringConstraints(max_length=24_000), WHOLE] = ""
    several: bool = False
    free: bool = False
    blocks: bool = True
    file: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] | None = None
    options: Annotated[list[OptionBody], Field(max_length=MOST_OPTIONS)]

    @model_validator(mode="after")
    def _can_be_answered(self) -> Self:
        if not self.options and not self.free:
            raise ValueError("a question has options, or is answered with words")
        if (self.several or self.free or not self.blocks) and self.kind != CHOICE:
            raise ValueError("only a choice has several options, words as its answer, or does not block")
        return self

    def domain(self) -> Asked:
        options = [Option(option.id, option.kind, option.name, option.description) for option in self.options]
        return Asked(
            self.n,
            self.title,
            options,
            detail=self.detail,
            kind=self.kind,
            reason=self.reason,
            plan=self.plan,
            several=self.several,
            free=self.free,
            blocks=self.blocks,
            file=self.file,
        )


class SendBody(Body):
    """A file of the session to post in the thread, under a number that is new in this claim; it is named in each report until
    the answer decides it.

    `path` is where the user finds it on the machine. `asked` is the question that allowed it.
    """

    n: Number
    file: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    caption: Annotated[str, StringConstraints(max_length=8000), WHOLE] = ""
    path: Annotated[str, StringConstraints(max_length=4096), WHOLE] = ""
    asked: Number | None = None

    def domain(self) -> Send:
        return Send(self.n, self.file, self.caption, self.path, self.asked)


class EventsBody(FenceBody):
    """Report on a turn at work; also its heartbeat. `seq` grows with each report.

    `acknowledged` names what has reached the agent: words that it was prompted with or that were injected into its answer,
    and decisions (`q<n>`). `tokens` are those of a turn that the service has ended, once the agent has stopped.
    """

    seq: Count
    progress: ProgressBody | None = None
    ask: Annotated[list[AskBody], Field(max_length=MOST_QUESTIONS, default_factory=list)]
    acknowledged: Annotated[list[EventId], Field(max_length=100, default_factory=list)]
    send: Annotated[list[SendBody], Field(max_length=MOST_SENT, default_factory=list)]
    tokens: Count = 0

    def domain(self) -> Report:
        progress = self.progress
        return Report(
            self.seq,
            said=progress.text if progress else None,
            tool=(progress.tool or "") if progress else "",
            summary=progress.domain() if progress else None,
            asked=[asked.domain() for asked in self.ask],
            acknowledged=self.acknowledged,
            given=progress.given if progress else 0,
            waiting=progress.waiting if progress else 0,
            sends=[send.domain() for send in self.send],
            tokens=self.tokens,
        )


class DecisionView(BaseModel):
    """`option` is the id of the chosen option; one that expired or was declined counts as refused.

    The answer to a choice is in `option`, or for several in `options`, or in `text`. With `words` it is the text of the
    message with this id, which belongs into `given` once it has reached the agent.
    """

    n: int
    state: Literal["answered", "declined", "expired"]
    option: str | None
    options: list[str]
    text: str | None
    words: str | None

    @classmethod
    def of(cls, question: Question, text: str | None) -> "DecisionView":
        states = {QuestionState.ANSWERED: "answered", QuestionState.DECLINED: "declined"}
        return cls(
            n=question.number,
            state=states.get(question.state, "expired"),  # type: ignore[arg-type]  # one of these words
            option=question.option,
            options=list(question.chosen or ([question.option] if question.option else [])),
            text=text,
            words=question.row,
        )


class SentView(BaseModel):
    """What became of a file of the report. `waiting`: not decided yet. `ask`: others read the thread, so a question has to
    allow it. `rejected`: the user does not get it, and `reason` says why. `doubtful`: nobody can know, and it is over."""

    n: int
    state: Became
    reason: str | None


class EventsView(BaseModel):
    """Decisions and messages since; both repeat until they are acknowledged (`q<n>`, or the id of the message). `sent` says
    what became of each `send` of the report."""

    lease_seconds: int
    decided: list[DecisionView]
    steered: list[WordView]
    sent: list[SentView]

    @classmethod
    def of(cls, answer: ReportAnswer, *, lease_seconds: int) -> "EventsView":
        return cls(
            lease_seconds=lease_seconds,
            decided=[DecisionView.of(one, one.words or answer.texts.get(one.number)) for one in answer.decided],
            steered=[WordView.of(word) for word in answer.steered],
            sent=[SentView(n=one.number, state=one.state, reason=one.reason or None) for one in answer.sent],
        )


class UsageBody(Body):
    """What the agent tells about the turn: its tokens, its context window, and the cost of its whole session in dollars."""

    tokens: Count = 0
    cost: Annotated[float, Field(ge=0, le=1_000_000)] | None = None
    context: Count = 0
    window: Count = 0

    def domain(self) -> TurnUsage:
        cost = None if self.cost is None else round(self.cost * MICROS)
        return TurnUsage(self.tokens, cost, self.context, self.window)


class CommandBody(Body):
    """A command that the agent itself has."""

    name: Annotated[str, StringConstraints(pattern=r"^[!-~]{1,60}$")]
    description: Short = ""


class ResultBody(FenceBody):
    """Result of a turn: the agent's messages, its reply last. `given` are the ids of the words that have reached it.

    `answered` are the numbers of its questions that do not block and whose answers have reached it. `native_id` is the
    agent's id of the session, `commands` are the agent's own; without them those of earlier turns stay.
    """

    digest: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    outcome: Literal["done", "failed"]
    messages: Annotated[list[Message], Field(min_length=1)]
    given: Annotated[list[EventId], Field(max_length=100)]
    answered: Annotated[list[Number], Field(max_length=100, default_factory=list)]
    native_id: Annotated[str, StringConstraints(max_length=200)] | None = None
    summary: SummaryBody | None = None
    usage: UsageBody | None = None
    commands: Annotated[list[CommandBody], Field(max_length=MOST_COMMANDS)] | None = None


class ResultView(BaseModel):
    state: Literal["done"]
