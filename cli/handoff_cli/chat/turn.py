"""One turn: send a message to the agent, wait for the reply, show it."""

import uuid

from handoff_cli.api.held_poll import HeldPoll
from handoff_cli.api.transport import Json
from handoff_cli.chat.conversation import Conversation
from handoff_cli.context import Context
from handoff_cli.errors import Interrupted, UsageProblem
from handoff_cli.transcripts.messages import Message
from handoff_cli.ui.messages import show
from handoff_cli.ui.ticker import ticking

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_TEXT_LIMIT = 60_000
_FRAME_SECONDS = 0.1
_BEGIN_SECONDS = 15.0


def take_turn(context: Context, conversation: Conversation, text: str) -> None:
    """Send the text and show the agent's reply. Ctrl-C stops waiting, not the agent: raises Interrupted."""
    if len(text) > _TEXT_LIMIT:
        raise UsageProblem(f"The message has {len(text)} characters; the limit is {_TEXT_LIMIT}. Nothing was sent.")
    session = conversation.ensure(text)
    turn_id = uuid.uuid4().hex
    started = conversation.service.start_turn(session["id"], epoch=session["epoch"], turn_id=turn_id, text=text)
    accepted = started.get("session") or session
    try:
        _wait(context, conversation, accepted, float(started.get("poll_after_ms") or 100) / 1000)
    except KeyboardInterrupt:
        raise Interrupted("Stopped waiting. The agent continues; /history shows its reply later.") from None
    finally:
        context.terminal.clear_progress()
    messages = conversation.unseen()
    own: Message = {"role": "user", "content": text}
    mine = next((n for n, message in enumerate(messages) if own.items() <= message.items()), len(messages))
    # Leave out the user's own message, which is on the screen; earlier ones were written elsewhere.
    if not show(context.terminal, [*messages[:mine], *messages[mine + 1 :]]):
        context.terminal.warn("The agent did not answer. Try again, or see /status.")


def _wait(context: Context, conversation: Conversation, accepted: Json, pause: float) -> None:
    """Wait until the turn is over; allow it some time to begin."""
    began, session = context.clock(), accepted
    poll = HeldPoll(
        lambda wait, seen: conversation.refresh(wait=wait, seen=seen) or {},
        clock=context.clock,
        sleep=context.sleep,
        longest_wait=conversation.service.longest_wait,
        first_pause=pause,
    )

    def thinking() -> str:
        passed = context.clock() - began
        frame = _FRAMES[int(passed / _FRAME_SECONDS) % len(_FRAMES)]
        return context.terminal.style(f"{frame} thinking, {passed:.0f} s (Ctrl-C stops waiting)", "dim")

    with ticking(context.terminal, thinking, every=_FRAME_SECONDS):
        while True:
            session = poll.next(session, wait=conversation.service.longest_wait if session.get("turn_running") else 0.0)
            is_over = not session.get("turn_running")
            has_grown = session.get("message_count", 0) > int(accepted["message_count"])
            if is_over and (has_grown or context.clock() - began > _BEGIN_SECONDS):
                return
            if session.get("owner") != "cli":
                return
