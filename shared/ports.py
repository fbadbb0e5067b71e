"""What the use cases need of the world: platforms, agents, stores, the queue, the clock and secrets."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from shared.domain.handoffs import Handoff, Reason, Receipt, Step, Thread
from shared.domain.messages import Message
from shared.domain.routes import Place
from shared.domain.sessions import Session

# --- chat platforms


@dataclass(frozen=True)
class Capabilities:
    """What a platform can do, so that use cases need not know which one it is.

    `idempotency` says how a send that may have arrived is made safe: send again with the same `key`, `readback` with
    `find_message`, or `none` (the repeat is marked as one).
    """

    threads: bool
    edit: bool
    typing: bool
    limit: int
    unit: Literal["utf16", "characters"]
    idempotency: Literal["key", "readback", "none"]


@dataclass(frozen=True)
class Part:
    """One rendered piece of a reply, within the platform's limit; plain data, so that the journal can hold it."""

    text: str
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Inbound:
    """A person said something at a place.

    `event_id` is the platform's own id of the message, the same on every redelivery, and sorts in the order of speaking.
    `sender` is the platform's unchangeable id of the person. `answer`, if any, is what the webhook must reply with.
    """

    event_id: str
    place: Place
    sender: str
    text: str
    answer: "Answer | None" = None


@dataclass(frozen=True)
class Answer:
    """What to reply to a webhook at once: a handshake, or a word that the message has arrived."""

    body: Mapping[str, Any] | str
    status: int = 200


@dataclass(frozen=True)
class Ignored:
    """A verified event that is nobody's message: a bot's, an edit, a kind that is not used. `why` is fit for a log."""

    why: str


@dataclass(frozen=True)
class Finding:
    """What one look at the service found: `ok` is None where that could not be found out, `fix` says what to do."""

    name: str
    ok: bool | None
    detail: str
    fix: str | None = None
    platform: str | None = None


class Platform(Protocol):
    """A chat platform. Calls raise only the `PlatformError`s of shared/errors.py; `typing` and `diagnose` raise nothing."""

    name: str
    capabilities: Capabilities

    def open_thread(self, home: Place, title: str, *, key: str, people: Sequence[str]) -> Place:
        """Open a fresh thread in `home`, with `people` (the platform's ids) in it. Raises ThreadRefused where it cannot."""

    def find_thread(self, home: Place, *, key: str) -> Place | None:
        """The thread that an interrupted `open_thread` with this key made, where the platform lets one find out."""

    def send(self, place: Place, part: Part, *, key: str) -> str:
        """Post one part and return the platform's id of the message."""

    def find_message(self, place: Place, *, key: str) -> str | None:
        """The message that an ambiguous `send` with this key posted; None where there is none or no way to know."""

    def edit(self, place: Place, message_id: str, part: Part) -> None:
        """Replace the text of a message of ours; an equal text is a success."""

    def typing(self, place: Place) -> None:
        """Show that the agent is at work. Best effort."""

    def render(self, markdown: str) -> list[Part]:
        """An agent's Markdown as parts: pure, deterministic, none over the limit, no code fence left open."""

    def link(self, place: Place) -> str:
        """The URL that opens this place for a person."""

    def verify(self, headers: Mapping[str, str], raw: bytes, *, now: int) -> bool:
        """Whether a webhook's raw bytes come from the platform (header names in lower case). No secret set: never."""

    def parse(self, headers: Mapping[str, str], raw: bytes) -> Inbound | Answer | Ignored:
        """What a verified webhook says."""

    def diagnose(self, home: Place | None, *, webhook_url: str, now: int, seconds: float) -> Sequence[Finding]:
        """What is wrong with the bot, its webhook or its rights at `home`: looks for about `seconds`, changes nothing."""


class Platforms(Protocol):
    """The platforms of this deployment by name, made only when used."""

    def get(self, name: str) -> Platform:
        """The adapter. Raises UnknownPlatform, PlatformNotSupported or PlatformNotConfigured."""

    def known(self) -> Mapping[str, bool]:
        """Every listed platform, and whether it is supported."""

    def is_configured(self, name: str) -> bool:
        """Whether its secrets are set. Loads no SDK."""

    def lacks(self, name: str) -> Sequence[str]:
        """What keeps a platform from working of which some secrets are set: those that are not. Loads no SDK."""

    def has_threads(self, name: str) -> bool:
        """Whether it can hold threads at all. Loads no SDK."""


# --- agents


class Agent(Protocol):
    """Whatever answers. It sees the whole role-aware transcript."""

    def reply(self, messages: Sequence[Message], *, note: str | None, deadline: int) -> str:
        """Answer the last message before `deadline` (milliseconds). `note` is for the agent's eyes, never stored.

        Raises AgentUnavailable (worth another try) or AgentFailed (not), never with a secret in the text.
        """


# --- the store: two tables behind six small ports


@dataclass(frozen=True)
class SessionPage:
    """Some sessions, newest first, and where to go on."""

    sessions: Sequence[Session]
    cursor: str | None


class Accounts(Protocol):
    """People: tokens, homes, and who they are on each platform."""

    def has_token(self, user_id: str, token_hash: str) -> bool: ...
    def add_token(self, user_id: str, token_hash: str) -> None: ...
    def home(self, user_id: str, platform: str) -> Place | None: ...
    def homes(self, user_id: str) -> Mapping[str, Place]: ...
    def set_home(self, user_id: str, home: Place) -> None: ...
    def add_identity(self, user_id: str, platform: str, person: str) -> None: ...
    def identities(self, user_id: str, platform: str) -> Sequence[str]: ...
    def user_of(self, platform: str, person: str) -> str | None: ...


class Sessions(Protocol):
    """Sessions without their transcripts. Reads are strongly consistent, except `list`, which may lag by moments."""

    def create(self, session: Session, *, route: Place | None = None) -> bool:
        """Write a new session, and the route to it if given; False if its id (or that route) is taken. Idempotent."""

    def get(self, session_id: str) -> Session | None: ...

    def replace(self, before: Session, after: Session) -> Session:
        """Write `after` if nothing was written since `before` was read; returns it with its new version. Raises Conflict."""

    def list(self, user_id: str, *, limit: int, cursor: str | None = None) -> SessionPage: ...

    def delete(self, session: Session) -> None:
        """Remove the session with all that belongs to it. Safe to repeat. Raises Conflict if it changed since it was read."""

    def at(self, place: Place) -> str | None:
        """The id of the session that this place's route points to (it lives where its owner says)."""

    def point(self, place: Place, session_id: str) -> None:
        """Let the route of a place point to a session."""


class Transcripts(Protocol):
    """The ordered messages of sessions, packed into chunks that are never rewritten."""

    def append(self, session: Session, messages: Sequence[Message], *, now: int) -> Session:
        """Add messages after those that `session` had when it was read. Raises Conflict if it changed since."""

    def load(self, session_id: str, *, after: int = 0, limit: int | None = None) -> Iterator[Message]:
        """The messages behind the first `after`, in order."""


class Handoffs(Protocol):
    """Handoffs and their transitions; each method is one conditional write or one transaction.

    A transition that others were quicker at returns None (nothing was written); what the caller must know raises.
    """

    def request(self, handoff: Handoff, *, now: int) -> Handoff:
        """Write a new pending handoff and mark its session, or return the one that the same id and body wrote before.

        Raises IdempotencyKeyReused, UnknownSession, Moved, HandoffInFlight, SessionBusy.
        """

    def get(self, handoff_id: str) -> Handoff | None: ...
    def list(self, user_id: str, *, session_id: str | None, state: str | None, limit: int) -> Sequence[Handoff]: ...

    def claim(self, handoff_id: str, *, claimant: str, now: int, lease_until: int) -> Handoff | None:
        """pending → running for one claimant; a repeat by the winner wins again."""

    def step(
        self, handoff: Handoff, step: Step, *, now: int, thread: Thread | None = None, notice: str | None = None
    ) -> Handoff | None:
        """Journal a step under the handoff's fence: an intent before an outside effect, its result right after."""

    def rebind(self, handoff: Handoff, *, now: int) -> Handoff | None:
        """Move the session to the handoff's thread: route, owner, epoch + 1, step, in one transaction.

        Raises Moved if the session went elsewhere since the request, PlaceBusy if another one lives there: somebody
        else's, or one's own and the handoff does not say `replace`.
        """

    def kickoff_sent(self, handoff: Handoff, *, now: int) -> Handoff | None:
        """From here the queue carries the work: the lease runs to the deadline."""

    def complete(self, handoff: Handoff, *, now: int) -> Handoff | None:
        """confirmed and delivered → completed; frees the session and clears an attempt's error."""

    def fail(self, handoff: Handoff, reason: Reason, *, now: int, rejected_delivery: bool = False) -> Handoff | None:
        """→ failed; the session is free and back where it came from. A confirmed one fails only on a rejected delivery."""

    def expire(self, handoff: Handoff, reason: Reason, *, now: int) -> Handoff | None:
        """→ failed by the sweep: past its deadline (or out of attempts), lease over, fence as read, not confirmed."""

    def cancel(self, handoff: Handoff, reason: Reason, *, now: int) -> Handoff | None:
        """→ cancelled, while it is open and the session has not moved."""

    def resume(self, session: Session, *, now: int) -> Session:
        """The session back to its terminal, epoch + 1; a handoff in flight ends as cancelled, in the same transaction.

        Raises Conflict if the session changed since it was read.
        """

    def bring(self, session: Session, place: Place, link: str, *, now: int) -> Session:
        """The session to a chat where somebody asked for it, epoch + 1; who lived there goes back to its terminal.

        A handoff in flight ends as cancelled. Raises PlaceBusy if somebody else's session lives there, Conflict if the
        session or the place changed since they were read.
        """

    def back_to_pending(
        self, handoff: Handoff, reason: Reason, *, now: int, not_before: int, counts: bool, abandoned: bool = False
    ) -> Handoff | None:
        """running → pending for another attempt; a rate limit counts none. `abandoned`: only if its lease is over."""

    def nudge(self, handoff: Handoff, *, now: int) -> bool:
        """Touch a pending handoff so that the stream shows it again."""

    def drive(self, handoff: Handoff, *, now: int) -> bool:
        """Note that a kickoff that was sent, or its delivery, is looked after now; one sweep of several wins."""

    def due(self, *, now: int, limit: int) -> Sequence[Handoff]:
        """Open handoffs that the sweep should look at, soonest first; as of moments ago, so every write re-checks."""


@dataclass(frozen=True)
class InboxRow:
    """One inbound event at a place, by a known user: new until a turn (or a word of ours) has answered it.

    `done_by` is `<session>/<turn>` for a turn, so that its delivery can be finished, else a plain word.
    """

    place: Place
    event_id: str
    sender: str
    text: str
    received_at: int
    user_id: str = ""
    done_by: str | None = None


class Inbox(Protocol):
    """What people said, one row per event; its key is the dedupe."""

    def put(self, row: InboxRow) -> bool:
        """Write a new row; False if this event is already there."""

    def new(self, place: Place, *, limit: int) -> Sequence[InboxRow]:
        """Rows not yet answered, in the order of speaking."""

    def get(self, place: Place, event_id: str) -> InboxRow | None: ...

    def close(self, rows: Sequence[InboxRow], *, by: str) -> None:
        """Mark rows as answered outside a turn's commit (told where the session lives, a command). Safe to repeat."""


@dataclass(frozen=True)
class OutPart:
    """One part of a committed reply in the delivery journal: waiting → sending → sent, or rejected."""

    session_id: str
    turn_id: str
    number: int
    place: Place
    part: Part
    state: Literal["waiting", "sending", "sent", "rejected"] = "waiting"
    message_id: str | None = None
    sending_until: int = 0

    @property
    def key(self) -> str:
        """What makes a send of this part recognisable to the platform."""
        return f"{self.turn_id}#{self.number}"


@dataclass(frozen=True)
class TurnCommit:
    """All that one turn writes, at once or not at all."""

    session: Session
    messages: Sequence[Message]
    turn_id: str
    parts: Sequence[OutPart]
    rows: Sequence[InboxRow] = ()
    handoff: Handoff | None = None
    receipt: Receipt | None = None


class Turns(Protocol):
    """One turn per session at a time, its commit, and the journal of its delivery."""

    def commit(self, commit: TurnCommit, *, now: int) -> Session:
        """Messages, rows done, journal and (for a kickoff) `confirmed`, in one transaction; ends the turn.

        Raises Conflict unless the session still is where and as the turn found it, under this very turn.
        """

    def extend(self, session: Session, *, until: int) -> bool:
        """Keep the lease of the turn that `session` is under; False if it is no longer this turn's."""

    def post(self, parts: Sequence[OutPart], *, now: int) -> None:
        """Put words of ours into the journal, without a turn. Parts that are there already stay as they are."""

    def journal(self, session_id: str, turn_id: str) -> Sequence[OutPart]:
        """The parts of a committed turn, in order; empty if it was never committed."""

    def sending(self, part: OutPart, *, now: int, until: int) -> OutPart | None:
        """Note the intent to send; None if it is sent already or somebody is sending it now."""

    def sent(self, part: OutPart, message_id: str) -> None: ...
    def rejected(self, part: OutPart) -> None: ...

    def unsent(self, part: OutPart) -> None:
        """Take the intent back: it surely was not sent."""


@dataclass(frozen=True)
class Store:
    """The six ports of the two tables."""

    accounts: Accounts
    sessions: Sessions
    transcripts: Transcripts
    handoffs: Handoffs
    inbox: Inbox
    turns: Turns


# --- queue, clock, secrets


@dataclass(frozen=True)
class TurnMessage:
    """A wake-up for one place, of one of three kinds.

    `handoff_id` and `fence`: run the kickoff of that handoff. `event_id`: answer the rows in the place's inbox, this one
    among them. `notice`: post these words of ours.
    """

    place: Place
    session_id: str | None = None
    handoff_id: str | None = None
    fence: int | None = None
    event_id: str | None = None
    notice: str | None = None


class TurnQueue(Protocol):
    """Wake-ups in order, one at a time per place."""

    def send(self, message: TurnMessage, *, dedupe: str, line: str | None = None) -> None:
        """Queue a wake-up; the same `dedupe` within five minutes is queued once.

        Without `line` it waits in the line of its place. A line of its own is for what must not wait behind a message
        whose reader died without a word.
        """


@dataclass(frozen=True)
class DeadTurn:
    """A wake-up that the queue gave up on."""

    message: TurnMessage
    handle: str


class DeadTurns(Protocol):
    """Wake-ups that failed too often, for the sweep to answer for."""

    def receive(self, *, limit: int) -> Sequence[DeadTurn]: ...
    def delete(self, dead: DeadTurn) -> None: ...


class Visibility(Protocol):
    """The hold on the queue message that a turn is working on."""

    def set(self, seconds: int) -> None:
        """Let the message come back in so many seconds unless it is done by then. Best effort."""


class Clock(Protocol):
    """The time."""

    def now(self) -> int:
        """Milliseconds since the epoch."""


class Secrets(Protocol):
    """Tokens and keys by name, such as `telegram/bot_token`."""

    def get(self, name: str) -> str | None:
        """The value, or None if it is not set. Never logged."""
