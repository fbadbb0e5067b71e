"""Commands that move sessions and show them."""

import argparse
from typing import Any

from handoff_cli.arguments.parts import (
    FILE,
    SESSION,
    add_argument,
    add_command,
    add_platform,
    add_session,
    add_timeout,
    count,
)
from handoff_cli.readers import READERS

FORMATS = ("messages", "jsonl", "markdown")


def chat(commands: Any) -> None:
    text = "Talk with the agent here; /handoff moves the session."
    chat = add_command(commands, "chat", text, "chat:chat", json_output=False)
    add_argument(
        chat, "--resume", metavar="TITLE|ID", completes=SESSION, help="continue this session, wherever it is now"
    )
    chat.add_argument("--title", metavar="T", help="title of a new session")


class _Tools(tuple[str, ...]):
    """The names of tools, for completion; on the command line an id may follow after a colon."""

    __slots__ = ()

    def __contains__(self, value: object) -> bool:
        name, colon, session = str(value).partition(":")
        return super().__contains__(name) and bool(session.strip()) == bool(colon)


def send_file(commands: Any) -> None:
    text = "Send a file to the thread of the agent that works in its directory."
    command = add_command(commands, "send-file", text, "send_file:send_file", connects=False)
    add_argument(command, "path", metavar="PATH", completes=FILE, help="a file in the directory of the session")
    command.add_argument("--caption", metavar="TEXT", help="a few words to go with it")
    command.add_argument("--session", metavar="ID", help="of several sessions in one directory, this one")


def send(commands: Any) -> None:
    send = add_command(commands, "send", "Hand a session over to a chat.", "send:send")
    add_platform(send)
    what = send.add_argument_group("what to hand over")
    add_argument(what, "--transcript", metavar="FILE", completes=FILE, help="JSON or JSONL messages; - is stdin")
    what.add_argument(
        "--from",
        dest="source",
        metavar="TOOL[:ID]",
        choices=_Tools(READERS),
        help=f"the session with that id, or the current one of this directory, of {', '.join(READERS)}",
    )
    add_argument(
        what, "--session", metavar="TITLE|ID", completes=SESSION, help="a session that the service already has"
    )
    what.add_argument("--title", metavar="T", help="title of the session")
    add_argument(
        what, "--message", metavar="FILE", completes=FILE, help="a first message to the agent there; - is stdin"
    )
    what.add_argument("--redact", action="store_true", help="mask likely secrets")
    where = send.add_argument_group("where and how")
    where.add_argument("--to", metavar="CHAT", help="a chat other than your home chat")
    where.add_argument("--require-thread", action="store_true", help="fail if no thread can be opened")
    where.add_argument("--replace", action="store_true", help="replace a session that is in the chat already")
    where.add_argument("--share", action="store_true", help="let other people that the service knows talk there too")
    add_argument(
        what,
        "--native",
        metavar="ID",
        help="with --transcript: the id of the session in your agent (run --agent acp:…)",
    )
    where.add_argument(
        "--runner",
        action=argparse.BooleanOptionalAction,
        help="your own agent on this machine answers, or the deployment's model (default: if a runner is on)",
    )
    where.add_argument("--no-wait", action="store_true", help="do not wait; check with `status`")
    where.add_argument("--yes", action="store_true", help="do not ask about likely secrets")
    add_timeout(where)


def handoffs(commands: Any) -> None:
    status = add_command(commands, "status", "Show the state of a handoff.", "handoffs:status")
    status.add_argument("id", metavar="ID", nargs="?", help="id of the handoff (default: list the newest)")
    wait = add_command(commands, "wait", "Wait for a handoff to end.", "handoffs:wait")
    wait.add_argument("id", metavar="ID", help="id of the handoff")
    add_timeout(wait)
    text = "Cancel a handoff that has not moved the session yet."
    cancel = add_command(commands, "cancel", text, "handoffs:cancel")
    cancel.add_argument("id", metavar="ID", help="id of the handoff")


def sessions(commands: Any) -> None:
    text = "Bring a session back to the terminal and show the new messages."
    resume = add_command(commands, "resume", text, "sessions:resume")
    add_session(resume)
    resume.add_argument("--fork", action="store_true", help="make a copy; the original stays where it is")
    sessions = add_command(commands, "sessions", "List your sessions, newest first.", "sessions:sessions")
    sessions.add_argument("--limit", metavar="N", type=count, default=20, help="at most N (default: 20)")
    history = add_command(commands, "history", "Show the messages of a session.", "sessions:history")
    add_session(history)
    history.add_argument("--last", metavar="N", type=count, help="only the last N messages")
    export = add_command(commands, "export", "Write a session to a file or to stdout.", "sessions:export")
    add_session(export)
    export.add_argument("--format", choices=FORMATS, default="messages", help="messages: a JSON array (default)")
    add_argument(export, "--output", "-o", metavar="FILE", completes=FILE, help="write to this file instead of stdout")
