"""The slash commands: a table of names, texts and what they do."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from handoff_cli.chat.conversation import Conversation
from handoff_cli.chat.moving import move
from handoff_cli.chat.resuming import resume
from handoff_cli.context import Context
from handoff_cli.errors import UsageProblem
from handoff_cli.handoff.prepare import checked_title
from handoff_cli.sessions.names import display, display_table
from handoff_cli.ui.rendering import show

_LISTED = 15
_LAST = 10


@dataclass(frozen=True)
class Slash:
    """One command; `run` returns True to leave the chat. `takes` says what completes its argument."""

    usage: str
    text: str
    run: Callable[[Context, Conversation, str], bool]
    takes: str = ""


def _sessions(context: Context, conversation: Conversation, _argument: str) -> bool:
    for line in display_table(list(islice(conversation.service.sessions(), _LISTED))) or ["No sessions yet."]:
        context.terminal.say(line)
    return False


def _title(context: Context, conversation: Conversation, argument: str) -> bool:
    if not argument:
        session = conversation.session or {}
        context.terminal.say(
            str(session.get("title") or conversation.title or "No title yet. Say /title and the title.")
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
        terminal.say("Nothing was said yet; the first words begin a session.")
        return False
    where = (
        "here"
        if session["owner"] == "cli"
        else f"at {session.get('link') or session['owner']} (/resume brings it back)"
    )
    terminal.say(f"{display(session)} lives {where}; {session['message_count']} messages; id {session['id']}")
    if session.get("turn_running"):
        terminal.say("The agent is answering.")
    if session.get("suspended"):
        terminal.say("It is suspended after repeated trouble; the next message begins a fresh one.")
    if session.get("active_handoff"):
        handoff = conversation.service.handoff(session["active_handoff"])
        terminal.say(f"A handoff to {handoff['platform']} is under way ({handoff['id']}):")
        context.follower(conversation.service).show(handoff)
    return False


def _history(context: Context, conversation: Conversation, argument: str) -> bool:
    if argument and not argument.isdecimal():
        raise UsageProblem("Say /history, or /history and a number of messages.")
    session = conversation.refresh()
    if session is None:
        context.terminal.say("Nothing was said yet.")
        return False
    count = int(session["message_count"])
    after = max(0, count - int(argument or _LAST))
    show(context.terminal, conversation.service.messages(session["id"], after=after))
    conversation.seen = max(conversation.seen, count)
    return False


def _new(context: Context, conversation: Conversation, argument: str) -> bool:
    conversation.leave(checked_title(argument))
    context.terminal.say("A new session begins with your next words. The old one is kept: /sessions, /resume.")
    return False


def _help(context: Context, _conversation: Conversation, _argument: str) -> bool:
    width = max(len(command.usage) for command in SLASH.values())
    for command in SLASH.values():
        context.terminal.say(f"  {command.usage:<{width}}  {command.text}")
    context.terminal.say("  Enter sends; Alt-Enter (or Esc, Enter) begins a new line; Ctrl-C stops waiting.")
    return False


def _quit(_context: Context, _conversation: Conversation, _argument: str) -> bool:
    return True


SLASH = {
    "handoff": Slash("/handoff PLATFORM [CHAT]", "move this session there; you go on in the chat", move, "platform"),
    "resume": Slash("/resume [TITLE or ID] [--fork]", "bring a session here, or a copy of it", resume, "title"),
    "sessions": Slash("/sessions", "list your sessions and where they live", _sessions),
    "title": Slash("/title [TITLE]", "show or change the title", _title),
    "status": Slash("/status", "where this session lives and what goes on", _status),
    "history": Slash("/history [N]", "the last messages", _history),
    "new": Slash("/new [TITLE]", "begin a new session", _new),
    "help": Slash("/help", "this list", _help),
    "quit": Slash("/quit", "leave; the session is kept", _quit),
}
SYNONYMS = {"exit": "quit", "q": "quit", "?": "help"}
