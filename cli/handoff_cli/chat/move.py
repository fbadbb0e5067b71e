"""`/handoff` and `/resume`: move a session to a chat, and bring one to this terminal."""

from itertools import islice

from handoff_cli.api.transport import Json
from handoff_cli.chat.conversation import Conversation
from handoff_cli.context import Context
from handoff_cli.errors import UsageProblem
from handoff_cli.handoff.destination import check_destination
from handoff_cli.handoff.follow import Patience
from handoff_cli.handoff.hand_over import request, wait_for_end
from handoff_cli.handoff.outcome import report
from handoff_cli.sessions.bring_back import bring_back
from handoff_cli.sessions.find import ask_which, choose_session, display

_LISTED = 15


def hand_over(context: Context, conversation: Conversation, argument: str) -> bool:
    """True if the session is in the chat now. Raises CliError with the reason; the session stays here then."""
    platform, target = _parse(conversation, argument)
    check_destination(conversation.service, platform, target=target)
    session = conversation.refresh() or conversation.ensure()
    if session.get("turn_running"):
        raise UsageProblem("The agent is still answering. Wait for its reply, then /handoff again.")
    digest = conversation.digest()
    body: Json = {"session_id": session["id"], "platform": platform, "epoch": session["epoch"]}
    context.terminal.say(f"Handing over to {platform}")
    handoff = request(context, conversation.service, {**body, "target": target} if target else body)
    handoff = wait_for_end(context, conversation.service, handoff, Patience())
    if handoff.get("error"):
        # A failed handoff may have moved the session there and back, which changes the epoch.
        conversation.session = conversation.service.session(session["id"])
    return report(context, handoff, digest=digest) == 0


def resume(context: Context, conversation: Conversation, argument: str) -> bool:
    """Bring a session here, so that this terminal writes in it. Returns False: the chat goes on."""
    terminal = context.terminal
    words = [word for word in argument.split() if word != "--fork"]
    fork = len(words) < len(argument.split())
    session = _choose(context, conversation, " ".join(words), this_one=fork)
    mine = conversation.session is not None and conversation.session["id"] == session["id"]
    returned = bring_back(conversation.service, session, fork=fork, seen=conversation.seen if mine else None)
    back = returned.session
    conversation.take_over(back)
    returned.show_messages(terminal)
    name = display(back)
    terminal.say(f"{name[:1].upper()}{name[1:]} is here now, with {back['message_count']} messages.")
    return False


def _parse(conversation: Conversation, argument: str) -> tuple[str, str | None]:
    """(platform, chat) of `/handoff PLATFORM [CHAT]`."""
    words = argument.split()
    if not 1 <= len(words) <= 2:
        names = ", ".join(str(known["name"]) for known in conversation.service.platforms() if known["supported"])
        raise UsageProblem(f"Use /handoff PLATFORM [CHAT]. The platforms are: {names}.")
    return words[0].lower(), words[1] if len(words) > 1 else None


def _choose(context: Context, conversation: Conversation, argument: str, *, this_one: bool) -> Json:
    service = conversation.service
    if argument:
        return choose_session(context, service, argument)
    mine = conversation.session
    if mine is not None:
        # This terminal's session, if it has moved.
        current = service.session(mine["id"])
        if this_one or current["epoch"] != mine["epoch"] or current["owner"] != "cli":
            return current
    return ask_which(context, list(islice(service.sessions(), _LISTED)))
