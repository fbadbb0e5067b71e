"""Bring a session back to this terminal and find the messages that are new to the user."""

from dataclasses import dataclass

from handoff_cli.api.client import Service
from handoff_cli.api.transport import Json
from handoff_cli.errors import CliError, Refused
from handoff_cli.transcripts.messages import Message
from handoff_cli.ui.messages import show
from handoff_cli.ui.terminal import Terminal

_LAST_MESSAGES = 2


@dataclass(frozen=True)
class Return:
    """A session that is in this terminal now, and the messages to show."""

    session: Json
    messages: list[Message]
    was_away: bool

    def show_messages(self, terminal: Terminal) -> None:
        """Show the new messages, or the last ones if the session was not away."""
        if self.messages:
            terminal.say(terminal.style("New messages:" if self.was_away else "Last messages:", "bold"))
            show(terminal, self.messages)


def bring_back(service: Service, session: Json, *, fork: bool = False, seen: int | None = None) -> Return:
    """Move the session to this terminal, or copy it. The service notifies its previous place.

    `seen` is the number of messages that this terminal has shown, if known.
    """
    back = resume_session(service, session, fork=fork)
    was_away = session["owner"] != "cli"
    after = seen if seen is not None else _handed_over(service, session["id"]) if was_away else None
    if after is None:
        after, was_away = max(0, int(back["message_count"]) - _LAST_MESSAGES), False
    return Return(back, list(service.messages(back["id"], after=after)), was_away or seen is not None)


def resume_session(service: Service, session: Json, *, fork: bool = False) -> Json:
    """Resume; if the session moved since it was read, retry once with its new epoch."""
    try:
        return service.resume(session["id"], epoch=session["epoch"], fork=fork)
    except Refused as refusal:
        if refusal.code != "moved":
            raise
        return service.resume(session["id"], epoch=service.session(session["id"])["epoch"], fork=fork)


def _handed_over(service: Service, session_id: str) -> int | None:
    """Number of messages in the newest handoff; later ones were written in the chat. None if unknown."""
    try:
        handoffs = service.handoffs({"session_id": session_id})
    except CliError:
        # Only decides which messages are shown: the session is back in any case.
        return None
    counts = [(handoff.get("receipt") or {}).get("message_count") for handoff in handoffs]
    return next((int(count) for count in counts if count is not None), None)
