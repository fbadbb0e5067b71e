"""The errors that the service raises, as one tree.

HandoffError
├── RequestRefused             the request cannot be granted; nothing was written; a retry gives the same answer
│   ├── InvalidRequest · Unauthenticated · MissingScope · UnknownSession · UnknownHandoff
│   ├── UnknownToken · UnknownUser · UserExists · LoginRefused
│   ├── UnknownRunner · RunnerRevoked · RunnerTooOld · UnknownTurn · TurnTaken · TurnEnded · TurnSuperseded · OtherResult
│   ├── UnknownOrder · OrderTaken · OrderEnded · OtherAnswer
│   ├── UnknownPlatform · PlatformNotSupported · PlatformNotConfigured · PlatformUnavailable · NoHome · ChatRefused · WriteFirst
│   ├── Moved · OutOfSequence · SessionBusy · SessionSuspended · HandoffInFlight · PlaceBusy
│   ├── IdempotencyKeyReused · TooLate
│   ├── CopyUnfinished · UnknownFile · FileTooLarge · UploadRefused · FileMismatch
│   └── LimitReached(retry_after)
│       └── TooManyOpenHandoffs · TooManyTurns · TooManyNotices · StorageFull · FilesFull
├── Retryable                  the queue, the stream or the sweep tries again
│   ├── Conflict               optimistic lock failed: the item changed since it was read
│   └── NotYet(after)          not due before `after` seconds
│       ├── Busy               another process works on it
│       └── NewerVersion       a newer version of the service wrote it: left to a worker of that version
├── DataFileError              the database file of a service on one machine cannot be used; what was committed stays
│   ├── DataFileLocked         another process has been writing for too long
│   ├── DiskFull               there is no room for a write
│   ├── DataFileUnflushed      the disk did not confirm a write: restart
│   └── DataFileUnavailable · DataFileReadOnly · DataFileCorrupt · DataFileForeign · DataFileNewer
├── PlatformError              a call to a chat platform failed
│   ├── RateLimited(after)     not sent; retry after `after` seconds
│   ├── NotSent                not sent; may be retried
│   ├── Ambiguous              may have arrived: reconcile before a retry
│   └── Rejected               refused permanently
│       ├── ForeignChat        a private chat of other people
│       ├── ThreadRefused      this chat cannot hold a thread: use the chat itself
│       └── PlaceGone          the thread or chat no longer exists
├── FileMissing                a stored file is not there
├── NotTranscribed             a voice message did not become words
└── AgentError                 an agent did not answer
    ├── AgentUnavailable       temporary: retry
    ├── AgentFailed            permanent: tell the user
    └── AgentCancelled         its caller no longer wants the answer: drop it
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from shared.domain.sessions import Session

NEWER_PAUSE = 60.0
"""Seconds: workers of the release before are gone soon after a deployment."""


class HandoffError(Exception):
    """The root of all errors that the service raises on purpose."""


class RequestRefused(HandoffError):
    """The request cannot be granted. `code` is a stable name for programs, `message` a text for people.

    On the wire it has an HTTP `status`; its docstring is the meaning of the code in the documentation, and `fields` are
    the JSON schemas of what it may add. Only classes with a code are raised.
    """

    code: ClassVar[str]
    status: ClassVar[int]
    fields: ClassVar[Mapping[str, Any]] = {}

    def __init_subclass__(cls, *, code: str = "", status: int = 0) -> None:
        if code:
            cls.code = code
        if status:
            cls.status = status

    def __init__(self, message: str, **extra: Any) -> None:
        super().__init__(message)
        self.message = message
        self.extra: Mapping[str, Any] = extra


class InvalidRequest(RequestRefused, code="invalid_request", status=422):
    """The request does not match the contract; `errors` names fields where possible."""

    fields: ClassVar[Mapping[str, Any]] = {
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["field", "problem"],
                "properties": {"field": {"type": "string"}, "problem": {"type": "string"}},
            },
        }
    }


class Unauthenticated(RequestRefused, code="unauthenticated", status=401):
    """The token, or a webhook's signature, is missing or wrong."""

    def __init__(self) -> None:
        super().__init__("The token is missing or unknown. Pass a valid one as `Authorization: Bearer …`.")


class MissingScope(RequestRefused, code="missing_scope", status=403):
    """The token does not have the scope that the call needs."""

    fields: ClassVar[Mapping[str, Any]] = {"scope": {"type": "string"}}

    def __init__(self, scope: str) -> None:
        super().__init__(
            f"This token does not have the scope `{scope}`, which this request needs. Nothing was changed. With a token that "
            f"has it, such as your first one, `handoff tokens new --scope {scope}` makes another.",
            scope=scope,
        )


class UnknownToken(RequestRefused, code="unknown_token", status=404):  # another user's looks the same
    """You have no token with this id."""

    def __init__(self, token_id: str) -> None:
        super().__init__(f"You have no token {token_id}, so nothing was revoked. List yours with GET /tokens.")


class UnknownUser(RequestRefused, code="unknown_user", status=404):
    """No user has this id."""

    def __init__(self, user_id: str) -> None:
        super().__init__(f"There is no user {user_id}, so nothing was removed. List all with GET /users.")


class UserExists(RequestRefused, code="user_exists", status=409):
    """A user has this id already."""

    def __init__(self, user_id: str) -> None:
        super().__init__(f"There is a user {user_id} already. Nothing was changed. Choose another id.")


class LoginRefused(RequestRefused, code="login_refused", status=403):
    """The code of a first login is wrong, was used or revoked, or is too old."""

    def __init__(self) -> None:
        super().__init__(
            "This login link is wrong, was used already or revoked, or is too old. No token was created. Ask the person who "
            "invited you for another invitation."
        )


class UnknownSession(RequestRefused, code="unknown_session", status=404):  # another user's looks the same
    """You have no session with this id."""

    def __init__(self, session_id: str) -> None:
        super().__init__(f"There is no session {session_id}. List yours with GET /sessions.")


class UnknownFile(RequestRefused, code="unknown_file", status=404):  # another session's looks the same
    """No such file in this session: it was never stored, or its time is over."""

    def __init__(self) -> None:
        super().__init__("There is no such file in this session: it was never stored, or its time is over.")


class FileTooLarge(RequestRefused, code="file_too_large", status=413):
    """The file is larger than a file may be."""

    fields: ClassVar[Mapping[str, Any]] = {"limit": {"type": "integer"}}

    def __init__(self, limit: int) -> None:
        super().__init__(f"A file has at most {limit / 1_000_000:g} MB here. Nothing was stored.", limit=limit)


class UploadRefused(RequestRefused, code="upload_refused", status=403):
    """The URL of an upload was changed, or its time is over. Ask for another one."""

    def __init__(self) -> None:
        super().__init__("This upload URL is not valid, or its time is over. Nothing was stored. Ask for another one.")


class FileMismatch(RequestRefused, code="file_mismatch", status=400):
    """The bytes of an upload are not those that were announced. Nothing was stored."""

    def __init__(self) -> None:
        super().__init__("The bytes do not have the size and the digest that were announced. Nothing was stored.")


class UnknownHandoff(RequestRefused, code="unknown_handoff", status=404):  # another user's looks the same
    """You have no handoff with this id."""

    def __init__(self, handoff_id: str) -> None:
        super().__init__(f"There is no handoff {handoff_id}. List yours with GET /handoffs.")


class UnknownPlatform(RequestRefused, code="unknown_platform", status=422):
    """No platform has this name."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        super().__init__(f"{name!r} is not a known platform. Choose one of: {', '.join(known)}.")


class PlatformNotSupported(RequestRefused, code="platform_not_supported", status=422):
    """The platform is listed but not supported yet."""

    def __init__(self, name: str, supported: Iterable[str], why: str = "") -> None:
        super().__init__(f"{why or f'{name} is not supported yet.'} Choose one of: {', '.join(supported)}.")


class PlatformNotConfigured(RequestRefused, code="platform_not_configured", status=422):
    """The operator has not set the platform's secrets."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} is not configured on this service. The operator sets up a bot with `handoff setup {name}`."
        )


class PlatformUnavailable(RequestRefused, code="platform_unavailable", status=503):
    """The platform did not answer, and must be asked first. Nothing was changed: retry."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} did not answer, so the chat could not be checked. Nothing was changed. Try again.")


class ChatRefused(RequestRefused, code="chat_refused", status=422):
    """The platform has no such chat, or its bot cannot work there."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{why.rstrip('.')}. Nothing was changed.")


class NoHome(RequestRefused, code="no_home", status=422):
    """You have no home on the platform and named no target."""

    def __init__(self, name: str | None) -> None:
        super().__init__(
            f"You have no home {f'on {name}' if name else 'chat'}. "
            f"Link your account with `handoff link {name or 'PLATFORM'}`, or send /sethome in a chat with the bot."
        )


class Moved(RequestRefused, code="moved", status=409):
    """The session was moved since you read it; the fields say where it lives now."""

    fields: ClassVar[Mapping[str, Any]] = {
        "owner": {"type": "string"},
        "epoch": {"type": "integer"},
        "link": {"type": ["string", "null"]},
    }

    def __init__(self, session: Session) -> None:
        where = f"lives at {session.owner_name}" + (f" ({session.link})" if session.link else "")
        if session.owner.is_cli:
            where = "was resumed in another terminal"
        super().__init__(
            f"Session {session.id} {where} now. Bring it here with `handoff resume {session.id}`.",
            owner=session.owner_name,
            epoch=session.epoch,
            link=session.link,
        )


class OutOfSequence(RequestRefused, code="out_of_sequence", status=409):
    """The messages do not continue the stored transcript, which has `message_count` messages."""

    fields: ClassVar[Mapping[str, Any]] = {"message_count": {"type": "integer"}}

    def __init__(self, session_id: str, message_count: int) -> None:
        super().__init__(
            f"Session {session_id} has {message_count} messages. Send the messages after them, with after={message_count}.",
            message_count=message_count,
        )


class SessionBusy(RequestRefused, code="session_busy", status=409):
    """A turn of the session is queued or running."""

    def __init__(self, session_id: str) -> None:
        super().__init__(f"The agent is still working on session {session_id}. Try again when it has answered.")


class SessionSuspended(RequestRefused, code="session_suspended", status=409):
    """The session was interrupted too often and takes no more turns."""

    def __init__(self, session_id: str) -> None:
        super().__init__(
            f"Session {session_id} was interrupted too often and is suspended. Its transcript is saved. "
            f"Copy it with `handoff resume {session_id} --fork` and continue there."
        )


class HandoffInFlight(RequestRefused, code="handoff_in_flight", status=409):
    """The session is already being handed off."""

    fields: ClassVar[Mapping[str, Any]] = {"handoff_id": {"type": "string"}}

    def __init__(self, session_id: str, handoff_id: str) -> None:
        super().__init__(
            f"Session {session_id} is already being handed off ({handoff_id}). "
            f"Wait for it, or cancel it with `handoff cancel {handoff_id}`.",
            handoff_id=handoff_id,
        )


class PlaceBusy(RequestRefused, code="place_busy", status=409):
    """Another session lives at the place, or the chat belongs to another user."""

    def __init__(self, route: str, *, is_mine: bool = True) -> None:
        super().__init__(
            f"Another session lives at {route}. Ask again with `--replace` to park it, or choose another target."
            if is_mine
            else f"{route} belongs to another user. Choose another target, or your own home."
        )


class WriteFirst(RequestRefused, code="write_first", status=409):
    """The platform lets a bot write only for some time after you wrote to it, and that time is over."""

    def __init__(self, platform: str, window: int) -> None:
        super().__init__(
            f"A bot on {platform} may write to you only within {window // 3600} hours of your last message to it. "
            f"Send it /status on {platform}, then hand off again. The session stays where it is."
        )


class NotShareable(RequestRefused, code="not_shareable", status=409):
    """The session's own agent may run steps without asking, so the thread cannot be shared."""

    def __init__(self, agent: str) -> None:
        super().__init__(
            f"Your {agent} is not made to ask before each step, so words of other people would run there at once. "
            "Hand the session off without sharing it. The session stays where it is."
        )


class IdempotencyKeyReused(RequestRefused, code="idempotency_key_reused", status=422):
    """The Idempotency-Key was used with another body."""

    def __init__(self) -> None:
        super().__init__("You used this Idempotency-Key for a different request. Use a new key for each request.")


class TooLate(RequestRefused, code="too_late", status=409):
    """The handoff can no longer be cancelled."""

    def __init__(self, handoff_id: str, state: str) -> None:
        super().__init__(
            f"Handoff {handoff_id} is {state} and its session has moved. Bring the session back with `handoff resume`."
            if state == "running"
            else f"Handoff {handoff_id} is already {state}. Nothing was changed."
        )


class UnknownRunner(RequestRefused, code="unknown_runner", status=404):
    """You have no runner with this id."""

    def __init__(self, runner_id: str) -> None:
        super().__init__(f"You have no runner {runner_id}. Start `handoff run` on that machine, which registers it.")


class RunnerRevoked(RequestRefused, code="runner_revoked", status=403):
    """The runner was revoked: it may claim nothing and commit nothing."""

    def __init__(self, runner_id: str) -> None:
        super().__init__(f"Runner {runner_id} was revoked. Delete its id on that machine to register it as a new one.")


class RunnerTooOld(RequestRefused, code="runner_too_old", status=426):
    """The runner speaks a version of the protocol that this service does not."""

    def __init__(self, protocol: int) -> None:
        super().__init__(f"This service does not speak version {protocol} of the runner protocol. Update `handoff`.")


class UnknownTurn(RequestRefused, code="unknown_turn", status=404):
    """The turn is not known, or was offered to another runner."""

    def __init__(self, turn_id: str) -> None:
        super().__init__(f"Turn {turn_id} is not known, or was offered to another runner.")


class TurnTaken(RequestRefused, code="taken", status=409):
    """Another process works on the turn."""

    def __init__(self, turn_id: str) -> None:
        super().__init__(f"Turn {turn_id} is taken by another process. Poll again.")


class TurnEnded(RequestRefused, code="ended", status=409):
    """The turn is over; nothing more is taken for it."""

    def __init__(self, turn_id: str) -> None:
        super().__init__(f"Turn {turn_id} is over. Cancel the agent; nothing more is taken for it.")


class TurnSuperseded(RequestRefused, code="superseded", status=409):
    """The turn was claimed again since; nothing more is taken from this claim."""

    def __init__(self, turn_id: str) -> None:
        super().__init__(
            f"Turn {turn_id} was claimed again since. Cancel the agent; nothing more is taken from this claim."
        )


class OtherResult(RequestRefused, code="other_result", status=409):
    """The claim has committed another result already, which stands."""

    def __init__(self, turn_id: str) -> None:
        super().__init__(f"Turn {turn_id} has another result from the same claim already, which stands.")


class UnknownOrder(RequestRefused, code="unknown_order", status=404):
    """The order is not known, or was given to another runner."""

    def __init__(self, order_id: str) -> None:
        super().__init__(f"Order {order_id} is not known, or was given to another runner.")


class OrderTaken(TurnTaken):
    """Another process works on the order."""

    def __init__(self, order_id: str) -> None:
        RequestRefused.__init__(self, f"Order {order_id} is taken by another process. Poll again.")


class OrderEnded(TurnEnded):
    """The order is over, or was taken again; nothing more is taken for it."""

    def __init__(self, order_id: str) -> None:
        RequestRefused.__init__(self, f"Order {order_id} is over. Nothing more is taken for it.")


class OtherAnswer(OtherResult):
    """The order has another answer already, which stands."""

    def __init__(self, order_id: str) -> None:
        RequestRefused.__init__(self, f"Order {order_id} has another answer already, which stands.")


class LimitReached(RequestRefused):
    """A limit of this user. `retry_after` is in seconds."""

    fields: ClassVar[Mapping[str, Any]] = {"limit": {"type": "integer"}}

    def __init__(self, message: str, *, limit: int, retry_after: int) -> None:
        super().__init__(message, limit=limit)
        self.retry_after = retry_after


class TooManyOpenHandoffs(LimitReached, code="too_many_open_handoffs", status=429):
    """You have as many handoffs in progress as you may."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"You have {limit} handoffs in progress, which is the limit. "
            "Wait until one is done, or cancel one with `handoff cancel`.",
            limit=limit,
            retry_after=60,
        )


class TooManyTurns(LimitReached, code="too_many_turns", status=429):
    """The agent has answered you as often in this hour as it may."""

    def __init__(self, limit: int, *, retry_after: int) -> None:
        super().__init__(
            f"The agent has answered you {limit} times in this hour, which is the limit. "
            f"Try again in {math.ceil(retry_after / 60)} minutes.",
            limit=limit,
            retry_after=retry_after,
        )


class TooManyNotices(LimitReached, code="too_many_notices", status=429):
    """Your last notice is less than a minute old. This one was dropped."""

    def __init__(self, *, every: int, retry_after: int) -> None:
        super().__init__(
            f"One notice in {every} seconds can be posted. This one was dropped.", limit=1, retry_after=retry_after
        )


class StorageFull(LimitReached, code="storage_full", status=429):
    """Your transcripts take as much room as they may."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"Your transcripts would need more than {limit // 1_000_000} MB, which is the limit. "
            "Delete sessions that you no longer need (DELETE /sessions/{id}), then try again.",
            limit=limit,
            retry_after=3600,
        )


class CopyUnfinished(RequestRefused, code="copy_unfinished", status=503):
    """The copy has only some of the session's files. Retry with the same Idempotency-Key, which goes on with the rest."""

    def __init__(self, left: int) -> None:
        super().__init__(
            f"{left} files are still to be copied. Repeat the request with the same Idempotency-Key: it goes on with them. "
            "Without a key, nothing of the copy was kept."
        )


class FilesFull(LimitReached, code="files_full", status=429):
    """Your files take as much room as they may."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"Your files would need more than {limit // 1_000_000} MB, which is the limit. They are removed when their "
            "time is over, or with their session (DELETE /sessions/{id}).",
            limit=limit,
            retry_after=3600,
        )


class FileMissing(HandoffError):
    """A stored file is not there: it was deleted, or was never written whole."""


class Retryable(HandoffError):
    """Temporary: the caller that started the function (queue, stream or sweep) tries again."""


class Conflict(Retryable):
    """Optimistic lock failed: the item changed since it was read. Nothing was written."""


class NotYet(Retryable):
    """The work is not due before `after` seconds from now."""

    def __init__(self, after: float) -> None:
        super().__init__(f"not due for {after:.0f} s")
        self.after = after


class Busy(NotYet):
    """Another process works on it; its lease expires in `after` seconds at the latest."""


class NewerVersion(NotYet):
    """A newer version of the service wrote `what` in a form that this one does not know. Nothing was changed."""

    def __init__(self, what: str) -> None:
        super().__init__(NEWER_PAUSE)
        self.what = what

    def __str__(self) -> str:
        return f"{self.what} was written by a newer version of the service"


class DataFileError(HandoffError):
    """The database file cannot be used. The failed operation changed nothing, and what was committed before it stays.

    The message is for the operator: it has the path. `for_clients` has not.
    """

    for_clients = (
        "The service cannot use its database file now. Nothing was changed, and everything stored before is safe. "
        "The operator finds the cause in the service's log. Try again later."
    )


class DataFileLocked(DataFileError):
    """Another process has been writing for too long. A retry may succeed."""

    for_clients = (
        "Another process on the service's machine has locked its database file for too long. Nothing was changed. "
        "Try again in a moment."
    )

    def __init__(self, path: str) -> None:
        super().__init__(
            f"Another process has locked {path} for too long. Nothing was changed. "
            "Stop the other process (a backup, a shell of sqlite3, a second service) or wait for it, then try again."
        )


class DiskFull(DataFileError):
    """There is no room for a write. A retry succeeds when there is room."""

    for_clients = (
        "The disk of the service is full. Nothing was changed, and everything stored before is safe. "
        "Try again when the operator has freed some space."
    )

    def __init__(self, path: str) -> None:
        super().__init__(
            f"The disk is full: {path} cannot grow. Nothing was changed, and everything stored before is safe. "
            "Free some space; the service then goes on by itself."
        )


class DataFileUnavailable(DataFileError):
    """The file cannot be opened, read or written."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(
            f"{path} cannot be used: {why.rstrip('.')}. Nothing was changed. "
            "Check that its directory exists, that you may write there, and that the disk works, then try again."
        )


class DataFileUnflushed(DataFileError):
    """The disk did not confirm what was written. Only a new process can tell what it has."""

    for_clients = (
        "The disk of the service did not confirm the change, so it may be lost. "
        "The operator finds the cause in the service's log. Try again after the service was restarted."
    )

    def __init__(self, path: str, why: str) -> None:
        super().__init__(
            f"The disk did not confirm what was written to {path}: {why.rstrip('.')}. The last changes may be lost; all that "
            "was answered before is safe. Check the disk, then restart the service. Until then it accepts nothing."
        )


class DataFileReadOnly(DataFileError):
    """The file or its directory may not be written."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"{path} cannot be written: the file, its directory or the disk is read-only for this user. "
            "Nothing was changed. Give this user the right to write both, then start again."
        )


class DataFileCorrupt(DataFileError):
    """The content of the file is damaged, or it is no database."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"{path} is damaged or is not a database. It was left as it is. "
            "Stop the service, keep a copy of the file, then restore the last backup in its place."
        )


class DataFileForeign(DataFileError):
    """A database of another program."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"{path} is a database of another program. It was left as it is. Choose another file or directory."
        )


class DataFileNewer(DataFileError):
    """A newer version of the service wrote the file."""

    def __init__(self, path: str, version: int, known: int) -> None:
        super().__init__(
            f"{path} was written by a newer version of the service (format {version}, this one knows {known}). "
            "It was left as it is. Install that version again, or use the copy that it kept beside the file when it upgraded."
        )


class PlatformError(HandoffError):
    """A call to a chat platform failed."""


class RateLimited(PlatformError):
    """Not sent; retry after `after` seconds."""

    def __init__(self, after: float) -> None:
        super().__init__(f"the platform asks to wait {after:.0f} s")
        self.after = after


class NotSent(PlatformError):
    """Not sent; may be retried."""


class Ambiguous(PlatformError):
    """It may have arrived. Reconcile before a retry."""


class Rejected(PlatformError):
    """Refused permanently."""


class ForeignChat(Rejected):
    """A private chat of other people than the user."""

    def __init__(self) -> None:
        super().__init__("This is a private chat of another person")


class ThreadRefused(Rejected):
    """This chat cannot hold a thread, or the bot may not open one."""


class PlaceGone(Rejected):
    """The thread or the chat no longer exists."""


class NotTranscribed(HandoffError):
    """A voice message did not become words: the reason, as a clause for the person."""


class AgentError(HandoffError):
    """An agent did not answer. The message is for the user and contains no secret."""


class AgentUnavailable(AgentError):
    """Temporary: retry, after `after` seconds if that is known."""

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


class AgentFailed(AgentError):
    """Permanent: a refusal, a wrong key, an unknown model."""


class AgentCancelled(AgentError):
    """The caller cancelled the request. The provider may have worked on it; there is no answer."""

    def __init__(self) -> None:
        super().__init__("The turn was cancelled before the agent answered.")
