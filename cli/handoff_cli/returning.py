"""Brings a session back, and finds what was said while it was away."""

from handoff_cli.errors import CliError
from handoff_cli.service import Json, Service
from handoff_cli.transcripts import Message


def bring_back(service: Service, session: Json, *, fork: bool = False) -> Json:
    """Takes the session over for this terminal, or copies it; every other writer is told."""
    return service.resume(session["id"], epoch=session["epoch"], fork=fork)


def said_meanwhile(service: Service, session: Json) -> list[Message]:
    """What was added after the newest handoff took the transcript along; nothing if it was never away."""
    taken = _taken_along(service, session["id"])
    return [] if taken is None else list(service.messages(session["id"], after=taken))


def _taken_along(service: Service, session_id: str) -> int | None:
    try:
        handoffs = service.handoffs({"session_id": session_id})
    except CliError:
        # Only what is shown depends on this; the session is back in any case.
        return None
    counts = [(handoff.get("receipt") or {}).get("message_count") for handoff in handoffs]
    return next((int(count) for count in counts if count is not None), None)
