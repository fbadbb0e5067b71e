"""Interrupted turns: when a session continues, when it is suspended, and the note for the agent."""

from collections.abc import Sequence
from enum import StrEnum

from shared.domain.messages import Message, ends_in_tool_results, ends_in_unfinished_tool_call
from shared.domain.sessions import Executor, Interruption, Session

WHAT_HAPPENED = {
    Interruption.KILLED: "its process died (a crash or a restart)",
    Interruption.OUT_OF_TIME: "it ran out of time",
    Interruption.REDELIVERED: "it failed and was started again",
    Interruption.UNKNOWN: "the cause is not known",
}


class Standing(StrEnum):
    """The state of a session at its next message.

    GOOD: it continues. RESUMING: it continues, with a note on the interruption for the agent.
    EXPIRED: the interruption is too old; a new session starts, with a notice.
    SUSPENDED: too many turns in a row failed; a new session starts, with a notice. Overrides the others.
    """

    GOOD = "good"
    RESUMING = "resuming"
    EXPIRED = "expired"
    SUSPENDED = "suspended"


def standing(session: Session, *, now: int, freshness: int) -> Standing:
    """The standing of a session before its next turn. With a `freshness` of 0 an interruption never expires.

    While a turn is alive the interruption is that turn's matter: it goes on, however old the mark is. Where the user's own
    agent answers it never expires: the mark is of the deployment's agent.
    """
    if session.suspended:
        return Standing.SUSPENDED
    if session.resume_pending is None:
        return Standing.GOOD
    if session.turn is not None or session.answers is Executor.MACHINE:
        return Standing.RESUMING
    is_fresh = not freshness or now - session.resume_pending.at <= freshness
    return Standing.RESUMING if is_fresh else Standing.EXPIRED


def note_for(session: Session, transcript: Sequence[Message], *, has_new_message: bool) -> str | None:
    """The note for the agent, which is not stored: how the last turn ended, and not to redo finished work.

    After an interruption the weaker notes on the last tool call are not needed.
    """
    if session.resume_pending is not None:
        happened = WHAT_HAPPENED[session.resume_pending.reason]
        next_step = (
            "Answer the new message first and leave the old work alone unless it asks for it."
            if has_new_message
            else "Say that you are back and ask how to go on; do not run recorded tool calls again."
        )
        return (
            f"Your previous turn in this session was interrupted: {happened}. Whatever the history shows as done, "
            f"including any restart command, has already run: do not redo it. {next_step}"
        )
    if ends_in_unfinished_tool_call(transcript):
        return (
            "The history ends in a tool call whose result never arrived. Do not assume that it ran, nor that it did "
            "not; check before you repeat it."
        )
    if ends_in_tool_results(transcript):
        return (
            "The history ends in results of tools that were not answered. Those tools have run: use the results, and "
            "do not run the tools again without need."
        )
    return None
