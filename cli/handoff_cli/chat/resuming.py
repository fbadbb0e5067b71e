"""`/resume`: choose a session, bring it to this terminal, show what was said meanwhile."""

from itertools import islice

from handoff_cli.api.transport import Json
from handoff_cli.chat.conversation import Conversation
from handoff_cli.context import Context
from handoff_cli.sessions.bring_back import bring_back
from handoff_cli.sessions.choose import ask_which, choose_session
from handoff_cli.sessions.names import display

_LISTED = 15


def resume(context: Context, conversation: Conversation, argument: str) -> bool:
    """Never leaves the chat; afterwards this terminal is the one that writes."""
    terminal = context.terminal
    words = [word for word in argument.split() if word != "--fork"]
    fork = len(words) < len(argument.split())
    session = _chosen(context, conversation, " ".join(words), this_one=fork)
    mine = conversation.session is not None and conversation.session["id"] == session["id"]
    returned = bring_back(conversation.service, session, fork=fork, seen=conversation.seen if mine else None)
    back = returned.session
    conversation.take_over(back)
    returned.show_messages(terminal)
    what = display(back)
    terminal.say(f"{what[:1].upper()}{what[1:]} is here now, with {back['message_count']} messages. Go on.")
    return False


def _chosen(context: Context, conversation: Conversation, argument: str, *, this_one: bool) -> Json:
    service = conversation.service
    if argument:
        return choose_session(context, service, argument)
    mine = conversation.session
    if mine is not None:
        # This terminal's own session, if another place writes in it now.
        current = service.session(mine["id"])
        if this_one or current["epoch"] != mine["epoch"] or current["owner"] != "cli":
            return current
    return ask_which(context, list(islice(service.sessions(), _LISTED)))
