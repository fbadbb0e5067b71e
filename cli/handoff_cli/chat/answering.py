"""One turn from the terminal: say something, wait for the reply, show it."""

import uuid

from handoff_cli.api.transport import Json
from handoff_cli.chat.conversation import Conversation
from handoff_cli.context import Context
from handoff_cli.errors import Interrupted, UsageProblem
from handoff_cli.sessions.transcripts import Message
from handoff_cli.ui.rendering import show

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_LONGEST = 60_000
_FRAME_SECONDS = 0.1
_LONGEST_PAUSE = 1.0
_PATIENCE_SECONDS = 15.0


def say(context: Context, conversation: Conversation, text: str) -> None:
    """Shows the agent's reply. Ctrl-C stops the waiting, never the agent; raises Interrupted then."""
    if len(text) > _LONGEST:
        raise UsageProblem(
            f"That is {len(text)} characters; at most {_LONGEST} fit into one message. Nothing was sent."
        )
    session = conversation.ensure(text)
    turn_id = uuid.uuid4().hex
    started = conversation.service.start_turn(session["id"], epoch=session["epoch"], turn_id=turn_id, text=text)
    before = int((started.get("session") or session)["message_count"])
    try:
        _wait(context, conversation, before, float(started.get("poll_after_ms") or 100) / 1000)
    except KeyboardInterrupt:
        raise Interrupted("Stopped waiting. The agent goes on; /history shows its reply when it is there.") from None
    finally:
        context.terminal.settle()
    messages = conversation.unseen()
    own: Message = {"role": "user", "content": text}
    mine = next((n for n, message in enumerate(messages) if own.items() <= message.items()), len(messages))
    # What came before these words was said elsewhere; the words themselves stand at the prompt already.
    if not show(context.terminal, [*messages[:mine], *messages[mine + 1 :]]):
        context.terminal.warn("The agent gave no answer. Try again, or see /status.")


def _wait(context: Context, conversation: Conversation, before: int, pause: float) -> None:
    """Until the turn is over; one that never seems to run is given some time to begin."""
    began = context.clock()
    while True:
        _pause(context, pause, began)
        session: Json = conversation.refresh() or {}
        over = not session.get("turn_running")
        if over and (session.get("message_count", 0) > before or context.clock() - began > _PATIENCE_SECONDS):
            return
        if session.get("owner") != "cli":
            return
        pause = min(max(pause, _LONGEST_PAUSE), pause * 2)


def _pause(context: Context, seconds: float, began: float) -> None:
    until = context.clock() + seconds
    while (left := until - context.clock()) > 0:
        passed = context.clock() - began
        frame = _FRAMES[int(passed / _FRAME_SECONDS) % len(_FRAMES)]
        context.terminal.pulse(
            context.terminal.style(f"{frame} thinking, {passed:.0f} s (Ctrl-C stops waiting)", "dim")
        )
        context.sleep(min(left, _FRAME_SECONDS))
