"""Brings a session back, and finds what was said while it was away."""

from dataclasses import dataclass

from handoff_cli.api.client import Service
from handoff_cli.api.transport import Json
from handoff_cli.errors import CliError, Refused
from handoff_cli.sessions.transcripts import Message
from handoff_cli.ui.rendering import show
from handoff_cli.ui.terminal import Terminal

_LAST_WORDS = 2


@dataclass(frozen=True)
class Return:
    """A session that is here now, and what the person has not read here."""

    session: Json
    messages: list[Message]
    was_away: bool

    def show_messages(self, terminal: Terminal) -> None:
        """What was said meanwhile, or, where it was not away, the last words to go on from."""
        if self.messages:
            terminal.say(terminal.style("Said meanwhile:" if self.was_away else "The last words:", "bold"))
            show(terminal, self.messages)


def bring_back(service: Service, session: Json, *, fork: bool = False, seen: int | None = None) -> Return:
    """Takes the session over for this terminal, or copies it; every other writer is told.

    `seen` is how many of its messages this terminal has shown, if it knows.
    """
    back = _resume(service, session, fork=fork)
    was_away = session["owner"] != "cli"
    after = seen if seen is not None else _taken_along(service, session["id"]) if was_away else None
    if after is None:
        after, was_away = max(0, int(back["message_count"]) - _LAST_WORDS), False
    return Return(back, list(service.messages(back["id"], after=after)), was_away or seen is not None)


def _resume(service: Service, session: Json, *, fork: bool) -> Json:
    """Whoever moved it in between: the person wants it here, so the newer place is asked once more."""
    try:
        return service.resume(session["id"], epoch=session["epoch"], fork=fork)
    except Refused as refusal:
        if refusal.code != "moved":
            raise
        return service.resume(session["id"], epoch=service.session(session["id"])["epoch"], fork=fork)


def _taken_along(service: Service, session_id: str) -> int | None:
    """How many messages the newest handoff took along: what came after was said there."""
    try:
        handoffs = service.handoffs({"session_id": session_id})
    except CliError:
        # Only what is shown depends on this; the session is back in any case.
        return None
    counts = [(handoff.get("receipt") or {}).get("message_count") for handoff in handoffs]
    return next((int(count) for count in counts if count is not None), None)
