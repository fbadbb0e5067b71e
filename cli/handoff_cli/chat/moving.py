"""`/handoff`: check in order, each refusal with what to do; then move, and step aside."""

from handoff_cli.api.transport import Json
from handoff_cli.chat.conversation import Conversation
from handoff_cli.context import Context
from handoff_cli.errors import UsageProblem
from handoff_cli.handoff.destination import check_destination
from handoff_cli.handoff.follow import Patience
from handoff_cli.handoff.hand_over import request, see_through
from handoff_cli.handoff.outcome import report


def move(context: Context, conversation: Conversation, argument: str) -> bool:
    """True once the session lives in the chat. Raises CliError with the reason; the session is then intact here."""
    platform, target = _understood(argument)
    check_destination(conversation.service, platform, target=target)
    session = conversation.refresh() or conversation.ensure()
    if session.get("turn_running"):
        raise UsageProblem("The agent is still answering. Wait for its reply, then /handoff again.")
    digest = conversation.digest()
    body: Json = {"session_id": session["id"], "platform": platform, "epoch": session["epoch"]}
    context.terminal.say(f"Handing over to {platform}")
    handoff = request(context, conversation.service, {**body, "target": target} if target else body)
    handoff = see_through(context, conversation.service, handoff, Patience())
    if handoff.get("error"):
        # A handoff that came back has moved the session there and here again: the newer epoch is ours.
        conversation.session = conversation.service.session(session["id"])
    return report(context, handoff, digest=digest) == 0


def _understood(argument: str) -> tuple[str, str | None]:
    words = argument.split()
    if not 1 <= len(words) <= 2:
        raise UsageProblem("Where to? Say /handoff telegram (or slack, discord); a chat other than home may follow.")
    return words[0].lower(), words[1] if len(words) > 1 else None
