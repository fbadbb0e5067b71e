"""The slash commands of the chat, as a table."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from handoff_cli.chat.conversation import Conversation
from handoff_cli.chat.move import hand_over, resume
from handoff_cli.context import Context
from handoff_cli.errors import UsageProblem
from handoff_cli.handoff.follow import Follower
from handoff_cli.handoff.prepare import checked_title
from handoff_cli.sessions.find import display, session_lines
from handoff_cli.ui.messages import show

_LISTED = 15
_LAST = 10


@dataclass(frozen=True)
class Slash:
    """One command; `run` returns True to leave the chat. `takes` names the completion of its argument."""

    usage: str
    text: str
    run: Callable[[Context, Conversation, str], bool]
    takes: str = ""


def _sessions(context: Context, conversation: Conversation, _argument: str) -> bool:
    for line in session_lines(list(islice(conversation.service.sessions(), _LISTED))) or ["No sessions yet."]:
        context.terminal.say(line)
    return False


def _title(context: Context, conversation: Conversation, argument: str) -> bool:
    if not argument:
        session = conversation.session or {}
        context.terminal.say(
            str(session.get("title") or conversation.title or "No title yet. Set one with /title TITLE.")
        )
        return False
    title = checked_title(argument)
    if conversation.session is None:
        conversation.title = title
    else:
        conversation.service.put_session(conversation.session["id"], {"title": title})
        conversation.refresh()
    context.terminal.say(f"The title is now “{title}”.")
    return False


def _status(context: Context, conversation: Conversation, _argument: str) -> bool:
    session, terminal = conversation.refresh(), context.terminal
    if session is None:
        terminal.say("No messages yet; the first one begins a session.")
        return False
    where = (
        "here"
        if session["owner"] == "cli"
        else f"at {session.get('link') or session['owner']} (/resume brings it back)"
    )
    terminal.say(f"{display(session)} is {where}; {session['message_count']} messages; id {session['id']}")
    if session.get("turn_running"):
        terminal.say("The agent is answering.")
    if session.get("suspended"):
        terminal.say("It is suspended after repeated failures; the next message begins a new session.")
    if session.get("active_handoff"):
        handoff = conversation.service.handoff(session["active_handoff"])
        terminal.say(f"A handoff to {handoff['platform']} is running ({handoff['id']}):")
        Follower(context, conversation.service).show(handoff)
    return False


def _history(context: Context, conversation: Conversation, argument: str) -> bool:
    if argument and not argument.isdecimal():
        raise UsageProblem("Use /history or /history N.")
    session = conversation.refresh()
    if session is None:
        context.terminal.say("No messages yet.")
        return False
    count = int(session["message_count"])
    after = max(0, count - int(argument or _LAST))
    show(context.terminal, conversation.service.messages(session["id"], after=after))
    conversation.seen = max(conversation.seen, count)
    return False


def _new(context: Context, conversation: Conversation, argument: str) -> bool:
    conversation.leave(checked_title(argument))
    context.terminal.say("Your next message begins a new session. The old one is kept: see /sessions, /resume.")
    return False


def _help(context: Context, _conversation: Conversation, _argument: str) -> bool:
    width = max(len(command.usage) for command in SLASH.values())
    for command in SLASH.values():
        context.terminal.say(f"  {command.usage:<{width}}  {command.text}")
    context.terminal.say("  Enter sends; Alt-Enter (or Esc, Enter) starts a new line; Ctrl-C stops waiting.")
    return False


def _quit(_context: Context, _conversation: Conversation, _argument: str) -> bool:
    return True


SLASH = {
    "handoff": Slash("/handoff PLATFORM [CHAT]", "move this session to a chat", hand_over, "platform"),
    "resume": Slash("/resume [TITLE or ID] [--fork]", "bring a session here, or a copy of it", resume, "title"),
    "sessions": Slash("/sessions", "list your sessions and where they are", _sessions),
    "title": Slash("/title [TITLE]", "show or change the title", _title),
    "status": Slash("/status", "show where this session is and what runs", _status),
    "history": Slash("/history [N]", "show the last messages", _history),
    "new": Slash("/new [TITLE]", "begin a new session", _new),
    "help": Slash("/help", "show this list", _help),
    "quit": Slash("/quit", "leave; the session is kept", _quit),
}
SYNONYMS = {"exit": "quit", "q": "quit", "?": "help"}
