"""A session: one conversation, living in exactly one place at a time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from shared.domain.orders import Moment
from shared.domain.routes import CLI, Place, cli_place
from shared.domain.usage import Budget, Usage

MAX_TITLE = 200


class Interruption(StrEnum):
    """Why the last turn of a session was interrupted.

    KILLED: its process died (crash, restart).
    OUT_OF_TIME: it stopped shortly before the function's time limit.
    REDELIVERED: it failed unexpectedly before its commit, so the queue delivers the message again.
    UNKNOWN: another version of the service stored a reason that this one does not know. Only read, never written.
    """

    KILLED = "killed"
    OUT_OF_TIME = "out_of_time"
    REDELIVERED = "redelivered"
    UNKNOWN = "unknown"


class Executor(StrEnum):
    """The side that runs a turn.

    CLOUD: the agent of this deployment.
    MACHINE: the user's own agent, behind a runner on one of the user's machines.
    """

    CLOUD = "cloud"
    MACHINE = "machine"


@dataclass(frozen=True)
class RunsOn:
    """The user's own agent of a session: which runner, which agent there, and the agent's own id of the session.

    That id is empty until the first turn of a session that began in a chat is committed.
    """

    runner: str
    agent: str
    native_id: str


@dataclass(frozen=True)
class ResumePending:
    """The mark of an interrupted turn; the next turn tells the agent."""

    reason: Interruption
    at: int


@dataclass(frozen=True)
class Turn:
    """The one turn of a session that is alive: offered to an executor, or claimed by one.

    `fence` grows with each claim; only the newest claimant may commit. Until `lease_until` no other one may claim it.
    `begun` counts the runs that began and have not committed, `tries` those that ended because the agent was busy. What
    the turn answers is in its `Offer`. Of a machine's turn, `words` counts the rows that its newest claim was given, and
    `begun_fence` is the newest fence at which a run began.
    """

    id: str
    by: Executor = Executor.CLOUD
    fence: int = 0
    is_claimed: bool = False
    lease_until: int = 0
    begun: int = 0
    tries: int = 0
    claim_id: str | None = None
    words: int = 0
    begun_fence: int = 0

    def may_be_claimed(self, now: int) -> bool:
        """Whether no executor works on it, and none shall wait: a turn that was handed back may have a pause."""
        return self.lease_until <= now


@dataclass(frozen=True)
class Session:
    """A session without its transcript. Every write increments `version`, every move increments `epoch`.

    `runs_on` names the user's own agent, if there is one; `cloud_chosen`: the user wants the deployment's agent all the
    same, `cloud_kickoff`: the machine was away, so that one confirms the handoff. `native_seen` counts the messages that
    the user's own agent has seen, `native_dirty`: a run of it began and did not end well. `shared`: other users may speak
    where it lives; every move ends that. `questions` counts those that were asked: no number is given twice; `answered`
    those that do not block and were answered while their turn was alive. `dials` are what the user has chosen of the own
    agent, by name, as that confirmed it: it forgets them; `service_model` is what the user has chosen of the deployment's
    models; `chosen` says when each was. `usage` are the sums of its turns, `commands` those of the own agent with what they
    do.
    `unreadable` names what is stored and was read as missing; the next offer of a turn replaces it.
    """

    id: str
    user_id: str
    owner: Place
    epoch: int
    version: int
    message_count: int
    created_at: int
    updated_at: int
    title: str | None = None
    source: str | None = None
    cwd: str | None = None
    model: str | None = None
    link: str | None = None
    active_handoff: str | None = None
    turn: Turn | None = None
    resume_pending: ResumePending | None = None
    suspended: bool = False
    uploaded_bytes: int = 0
    runs_on: RunsOn | None = None
    cloud_chosen: bool = False
    cloud_kickoff: bool = False
    native_seen: int = 0
    native_dirty: bool = False
    shared: bool = False
    questions: int = 0
    dials: Mapping[str, str] = field(default_factory=dict)
    service_model: str | None = None
    chosen: Mapping[str, Moment] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    budget: Budget | None = None
    answered: int = 0
    commands: Mapping[str, str] = field(default_factory=dict)
    unreadable: frozenset[str] = frozenset()

    def accepts_from(self, user_id: str) -> bool:
        """Whether messages of this user reach the agent."""
        return user_id == self.user_id or self.shared

    def has_chosen_since(self, dial: str, moment: Moment) -> bool:
        """Whether the user has chosen something else later: the last word counts, in whichever order they are done."""
        last = self.chosen.get(dial)
        return last is not None and last.is_after(moment)

    def choosing(self, dial: str, moment: Moment) -> Mapping[str, Moment]:
        """The times of the choices with one more."""
        return {**self.chosen, dial: moment}

    @property
    def answers(self) -> Executor:
        """Who answers in a chat, as the user has chosen."""
        return Executor.MACHINE if self.runs_on is not None and not self.cloud_chosen else Executor.CLOUD

    @property
    def cli(self) -> Place:
        """The terminal of this session."""
        return cli_place(self.id)

    @property
    def owner_name(self) -> str:
        """Where it lives, as clients read it: `cli`, or the route of a chat."""
        return CLI if self.owner.is_cli else self.owner.route

    @property
    def shown_title(self) -> str:
        """The title, or the first 8 characters of the id."""
        return self.title or self.id[:8]

    def has_live_turn(self, now: int) -> bool:
        """Whether a turn is offered, or claimed and its lease has not expired."""
        return self.turn is not None and not (self.turn.is_claimed and self.turn.lease_until <= now)


def new_session(session_id: str, user_id: str, *, now: int) -> Session:
    """A session without messages, in its terminal."""
    return Session(
        id=session_id,
        user_id=user_id,
        owner=cli_place(session_id),
        epoch=0,
        version=0,
        message_count=0,
        created_at=now,
        updated_at=now,
    )
