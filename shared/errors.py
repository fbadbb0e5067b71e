"""Everything that can go wrong, as one tree.

HandoffError
├── RequestRefused             the caller asked for what cannot be; nothing was written; trying again changes nothing
│   ├── InvalidRequest · Unauthenticated · UnknownSession · UnknownHandoff
│   ├── UnknownPlatform · PlatformNotSupported · PlatformNotConfigured · NoHome
│   ├── Moved · OutOfSequence · SessionBusy · SessionSuspended · HandoffInFlight · PlaceBusy
│   └── IdempotencyKeyReused · TooLate
├── Retryable                  worth another try: the queue, the stream or the sweep makes it
│   ├── Conflict               a condition failed because somebody else was quicker; read again
│   └── NotYet(after)          not before some time
│       └── Busy               somebody else is at it
├── PlatformError              what a chat platform did with a call
│   ├── RateLimited(after)     surely not sent; not before `after` seconds
│   ├── NotSent                surely not sent; may be tried again
│   ├── Ambiguous              may have arrived: reconcile before trying again
│   └── Rejected               refused for good; trying again changes nothing
│       ├── ThreadRefused      this chat cannot hold a thread: use the chat itself
│       └── PlaceGone          the thread or chat is no longer there
└── AgentError                 what an agent did with a turn
    ├── AgentUnavailable       worth another try
    └── AgentFailed            not worth another try; the person is told
"""

from collections.abc import Iterable, Mapping
from typing import Any

from shared.domain.sessions import Session


class HandoffError(Exception):
    """The root: whatever the service raises on purpose."""


class RequestRefused(HandoffError):
    """The request cannot be granted. `code` is stable for programs, the message is for people."""

    code = "refused"

    def __init__(self, message: str, **extra: Any) -> None:
        super().__init__(message)
        self.message = message
        self.extra: Mapping[str, Any] = extra


class InvalidRequest(RequestRefused):
    """The body is not what the contract says."""

    code = "invalid_request"


class Unauthenticated(RequestRefused):
    """No token, or one that does not exist."""

    code = "unauthenticated"

    def __init__(self) -> None:
        super().__init__("The token is missing or unknown. Pass a valid one as `Authorization: Bearer …`.")


class UnknownSession(RequestRefused):
    """No such session, or somebody else's: the answer is the same."""

    code = "unknown_session"

    def __init__(self, session_id: str) -> None:
        super().__init__(f"There is no session {session_id}. List yours with GET /sessions.")


class UnknownHandoff(RequestRefused):
    """No such handoff, or somebody else's: the answer is the same."""

    code = "unknown_handoff"

    def __init__(self, handoff_id: str) -> None:
        super().__init__(f"There is no handoff {handoff_id}. List yours with GET /handoffs.")


class UnknownPlatform(RequestRefused):
    """A name that is no platform."""

    code = "unknown_platform"

    def __init__(self, name: str, known: Iterable[str]) -> None:
        super().__init__(f"{name!r} is no known platform. Choose one of: {', '.join(known)}.")


class PlatformNotSupported(RequestRefused):
    """A platform that is listed, and not built yet."""

    code = "platform_not_supported"

    def __init__(self, name: str, supported: Iterable[str]) -> None:
        super().__init__(f"{name} is not supported yet. These are: {', '.join(supported)}.")


class PlatformNotConfigured(RequestRefused):
    """A platform without its secrets."""

    code = "platform_not_configured"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} is not configured on this service. Its operator sets the bot's token and secret first."
        )


class NoHome(RequestRefused):
    """The person has no home on the platform and named no target."""

    code = "no_home"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"You have no home on {name}. Set one with `handoff config home {name} CHAT`, or send /sethome in the chat."
        )


class Moved(RequestRefused):
    """The session lives elsewhere: a writer with an old epoch, or at an old place, is told where."""

    code = "moved"

    def __init__(self, session: Session) -> None:
        where = f"lives at {session.owner_name}" + (f" ({session.link})" if session.link else "")
        if session.owner.is_cli:
            where = "was taken up in another terminal"
        super().__init__(
            f"Session {session.id} {where} now. Bring it here with `handoff resume {session.id}`.",
            owner=session.owner_name,
            epoch=session.epoch,
            link=session.link,
        )


class OutOfSequence(RequestRefused):
    """The messages do not continue the transcript that is stored."""

    code = "out_of_sequence"

    def __init__(self, session_id: str, message_count: int) -> None:
        super().__init__(
            f"Session {session_id} holds {message_count} messages; send what follows them with after={message_count}.",
            message_count=message_count,
        )


class SessionBusy(RequestRefused):
    """A turn of the session is accepted, queued or running."""

    code = "session_busy"

    def __init__(self, session_id: str) -> None:
        super().__init__(f"The agent is still working on session {session_id}. Try again when it has answered.")


class SessionSuspended(RequestRefused):
    """Too many turns in a row were interrupted."""

    code = "session_suspended"

    def __init__(self, session_id: str) -> None:
        super().__init__(
            f"Session {session_id} was interrupted too often and is suspended; its transcript is kept. "
            f"Copy it with `handoff resume {session_id} --fork` and go on there."
        )


class HandoffInFlight(RequestRefused):
    """The session is already on its way."""

    code = "handoff_in_flight"

    def __init__(self, session_id: str, handoff_id: str) -> None:
        super().__init__(
            f"Session {session_id} is already being handed off ({handoff_id}). "
            f"Wait for it, or cancel it with `handoff cancel {handoff_id}`.",
            handoff_id=handoff_id,
        )


class PlaceBusy(RequestRefused):
    """Another session lives where this one was to go, and nobody said to replace it; somebody else's never is."""

    code = "place_busy"

    def __init__(self, route: str, *, is_mine: bool = True) -> None:
        super().__init__(
            f"Another session lives at {route}. Ask again with `--replace` to park it, or choose another target."
            if is_mine
            else f"{route} is somebody else's. Choose another target, or your own home."
        )


class IdempotencyKeyReused(RequestRefused):
    """The same key with another body."""

    code = "idempotency_key_reused"

    def __init__(self) -> None:
        super().__init__("This Idempotency-Key was used with another request. Use a new key for a new request.")


class TooLate(RequestRefused):
    """The handoff can no longer be cancelled."""

    code = "too_late"

    def __init__(self, handoff_id: str, state: str) -> None:
        super().__init__(
            f"Handoff {handoff_id} is {state} and its session has moved on. Bring the session back with `handoff resume`."
            if state == "running"
            else f"Handoff {handoff_id} is already {state}; nothing was changed."
        )


class Retryable(HandoffError):
    """Worth another try; whoever woke the function makes it."""


class Conflict(Retryable):
    """A condition failed because somebody else was quicker. Nothing was written; read again."""


class NotYet(Retryable):
    """The work is not due before `after` seconds from now."""

    def __init__(self, after: float) -> None:
        super().__init__(f"not due for {after:.0f} s")
        self.after = after


class Busy(NotYet):
    """Somebody else is at it, and done or dead in `after` seconds at most; mostly much sooner, so that it is worth a look."""


class PlatformError(HandoffError):
    """A chat platform did not do what it was asked."""


class RateLimited(PlatformError):
    """Surely not sent; not before `after` seconds."""

    def __init__(self, after: float) -> None:
        super().__init__(f"the platform asks to wait {after:.0f} s")
        self.after = after


class NotSent(PlatformError):
    """Surely not sent; may be tried again."""


class Ambiguous(PlatformError):
    """It may have arrived. Reconcile before trying again."""


class Rejected(PlatformError):
    """RequestRefused for good."""


class ThreadRefused(Rejected):
    """This chat cannot hold a thread, or the bot may not open one."""


class PlaceGone(Rejected):
    """The thread or the chat is no longer there."""


class AgentError(HandoffError):
    """An agent did not answer. The message is fit for a person and holds no secret."""


class AgentUnavailable(AgentError):
    """Worth another try, not before `after` seconds if that is known."""

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


class AgentFailed(AgentError):
    """Not worth another try: a refusal, a wrong key, an unknown model."""
