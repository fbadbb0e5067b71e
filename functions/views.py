"""Response bodies: sessions and handoffs as clients see them."""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel

from functions.http.fields import Time
from shared.domain.handoffs import Handoff, State
from shared.domain.links import Link, LinkState
from shared.domain.runners import Runner
from shared.domain.sessions import Executor, Session
from shared.domain.tokens import Token

_POLL_STEPS = ((100, 100), (300, 200), (700, 400))
_POLL_AT_REST = 1000


def iso(at: int) -> str:
    """Milliseconds since the epoch as ISO 8601."""
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def fields_of(view: type[BaseModel], source: object) -> dict[str, Any]:
    """The fields of a view that its source has under the same name."""
    return {name: getattr(source, name) for name in view.model_fields if hasattr(source, name)}


def poll_after_ms(age: int) -> int:
    """The pause before the next poll, by the age of what is polled: 100, 200, 400, then 1000 ms."""
    return next((pause for until, pause in _POLL_STEPS if age < until), _POLL_AT_REST)


class RunsOnView(BaseModel):
    """The user's own agent: the runner, the agent there, and the agent's own id of the session."""

    runner: str
    agent: str
    native_id: str


class SessionView(BaseModel):
    """A session. `owner` is `cli` or a route such as `telegram:7001:17`; `link` opens the thread where it lives.

    In a chat your own agent answers it (`answers` is `machine`, `runs_on` says which), or the service's (`cloud`).
    `shared`: other people may talk where it lives. `version` is another one after each change.
    """

    id: str
    title: str | None
    source: str | None
    cwd: str | None
    model: str | None
    owner: str
    epoch: int
    message_count: int
    active_handoff: str | None
    link: str | None
    suspended: bool
    turn_running: bool
    runs_on: RunsOnView | None
    answers: Executor
    native_seen: int
    shared: bool
    version: str
    created_at: Time
    updated_at: Time

    @classmethod
    def of(cls, session: Session, *, now: int) -> "SessionView":
        given = fields_of(cls, session) | {
            "owner": session.owner_name,
            "turn_running": session.has_live_turn(now),
            "runs_on": RunsOnView(**asdict(session.runs_on)) if session.runs_on else None,
            "version": str(session.version),
            "created_at": iso(session.created_at),
            "updated_at": iso(session.updated_at),
        }
        return cls(**given)


class AgentVersion(BaseModel):
    name: str
    version: str
    unattended: bool


class RunnerView(BaseModel):
    """A machine of yours that runs turns with your own agents."""

    id: str
    name: str
    agents: list[AgentVersion]
    version: str
    last_seen: Time
    online: bool
    revoked: bool

    @classmethod
    def of(cls, runner: Runner, *, now: int) -> "RunnerView":
        return cls(
            id=runner.id,
            name=runner.name,
            agents=[
                AgentVersion(name=name, version=version, unattended=name in runner.unattended)
                for name, version in sorted(runner.agents.items())
            ],
            version=runner.version,
            last_seen=iso(runner.seen_at),
            online=runner.is_online(now),
            revoked=runner.revoked,
        )


class TokenView(BaseModel):
    """A token. `last_used` is a day."""

    id: str
    label: str
    scopes: list[str]
    created_at: Time | None
    expires_at: Time | None
    last_used: str | None

    @classmethod
    def of(cls, token: Token) -> "TokenView":
        return cls(
            id=token.id,
            label=token.label,
            scopes=sorted(scope.value for scope in token.scopes),
            created_at=iso(token.created_at) if token.created_at is not None else None,
            expires_at=iso(token.expires_at) if token.expires_at is not None else None,
            last_used=token.last_used,
        )


class LinkView(BaseModel):
    """A pairing code without its plaintext. `state` is `open`, `linked`, `void` (seen by others) or `expired`.

    `user` is the one who is linked: you, or the person whom you invited. `account` and `home` are ids on the platform;
    `account_name` is what that person is called there, if the platform tells: people choose it themselves.
    """

    id: str
    platform: str
    user: str
    invitation: bool
    state: str
    account: str | None
    account_name: str | None
    home: str | None
    expires_at: Time

    @classmethod
    def of(cls, link: Link, *, now: int) -> "LinkView":
        return cls(
            id=link.id,
            platform=link.platform,
            user=link.user_id,
            invitation=link.is_invitation,
            state="expired" if link.state is LinkState.OPEN and not link.is_open(now) else link.state,
            account=link.account,
            account_name=link.account_name,
            home=link.home.chat if link.home else None,
            expires_at=iso(link.valid_until),
        )


class IssuedToken(TokenView):
    """A new token with its plaintext, which is shown only here."""

    token: str


class StepView(BaseModel):
    name: str
    at: Time
    label: str


class ThreadView(BaseModel):
    id: str
    url: str


class ErrorView(BaseModel):
    code: str
    message: str


class ReceiptView(BaseModel):
    """Proof of what the agent was given."""

    by_role: dict[str, int]
    digest: str
    message_count: int


class HandoffSession(BaseModel):
    """The session of a handoff, in short."""

    owner: str
    epoch: int
    message_count: int
    title: str | None
    shared: bool


class HandoffView(BaseModel):
    """A handoff. A client needs only `done` and `error`; show the rest as it comes.

    `version` is another one after each change. `poll_after_ms` is 0 if the request was held: ask again at once.
    """

    id: str
    session_id: str
    platform: str
    state: State
    done: bool
    step: str | None
    steps: list[StepView]
    thread: ThreadView | None
    notice: str | None
    error: ErrorView | None
    receipt: ReceiptView | None
    session: HandoffSession | None
    resume_hint: str
    attempt: int
    status_url: str
    poll_after_ms: int
    version: str
    created_at: Time
    updated_at: Time

    @classmethod
    def of(
        cls, handoff: Handoff, session: Session | None, *, base_url: str, now: int, was_held: bool = False
    ) -> "HandoffView":
        steps = [StepView(name=step["name"], at=iso(step["at"]), label=step["label"]) for step in handoff.shown_steps()]
        thread, error, receipt = handoff.thread, handoff.error, handoff.receipt
        short = None
        if session is not None:
            short = HandoffSession(**fields_of(HandoffSession, session) | {"owner": session.owner_name})
        return cls(
            id=handoff.id,
            session_id=handoff.session_id,
            platform=handoff.platform,
            state=handoff.state,
            done=not handoff.is_open,
            step=steps[-1].name if steps else None,
            steps=steps,
            thread=ThreadView(id=thread.id, url=thread.url) if thread else None,
            notice=handoff.notice,
            error=ErrorView(code=error.code, message=error.message) if error else None,
            receipt=ReceiptView(**fields_of(ReceiptView, receipt)) if receipt else None,
            session=short,
            resume_hint=f"To bring the session back to the terminal: handoff resume {handoff.session_id}",
            attempt=handoff.attempt,
            status_url=f"{base_url}/handoffs/{handoff.id}",
            poll_after_ms=0 if was_held else poll_after_ms(now - handoff.created_at),
            version=handoff.version,
            created_at=iso(handoff.created_at),
            updated_at=iso(handoff.updated_at),
        )

    @property
    def retry_after(self) -> str:
        """`poll_after_ms` as a Retry-After header: whole seconds, rounded up."""
        return str(-(-self.poll_after_ms // 1000))
