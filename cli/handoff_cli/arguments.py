"""The command line as data: every command, its arguments and the function that runs it."""

import argparse
from typing import Any

from handoff_cli import __version__
from handoff_cli.readers import READERS

FORMATS = ("messages", "jsonl", "markdown")
SCOPES = ("handoff", "read", "run", "admin")
SHELLS = ("bash", "zsh", "fish", "tcsh", "powershell")
# How the shell completes an argument; `completion` turns these into what shtab understands.
FILE, PLATFORM, SESSION = "file", "platforms", "sessions"

_EXIT_CODES = """\
exit codes:
  0 success   1 failed or refused   2 wrong usage   3 still running after the time-out
  4 service not reachable   130 interrupted"""


def parser(prog: str) -> argparse.ArgumentParser:
    """The whole command line; `run` in the result is `module:function` in `handoff_cli.commands`."""
    top = argparse.ArgumentParser(
        prog=prog,
        description="Move a live terminal agent session into a chat thread, and bring it back.",
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[_connection()],
    )
    top.add_argument("--version", action="version", version=f"handoff {__version__}", help="show the version and exit")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    for add in (_chat, _send, _handoffs, _sessions, _service, _tokens, _config, _completion):
        add(commands)
    return top


def _connection() -> argparse.ArgumentParser:
    """Options accepted before and after the command; SUPPRESS keeps the later one from erasing the earlier."""
    shared = argparse.ArgumentParser(add_help=False)
    group = shared.add_argument_group("connection")
    group.add_argument(
        "--url", default=argparse.SUPPRESS, help="URL of the service (default: HANDOFF_URL, config file, .local/env)"
    )
    group.add_argument(
        "--token", default=argparse.SUPPRESS, help="your token (better: HANDOFF_TOKEN or the config file)"
    )
    group.add_argument(
        "--insecure",
        action="store_true",
        default=argparse.SUPPRESS,
        help="allow an http:// URL beyond this machine (or set HANDOFF_INSECURE=1)",
    )
    return shared


def _command(commands: Any, name: str, text: str, run: str, *, json_output: bool = True) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text, parents=[_connection()])
    command.set_defaults(run=run)
    if json_output:
        command.add_argument("--json", action="store_true", help="print one JSON value, for scripts")
    return command


def _argument(container: Any, *names: str, completes: str = "", **options: Any) -> None:
    """An argument, and how the shell completes it."""
    container.add_argument(*names, **options).completes = completes


def _chat(commands: Any) -> None:
    text = "Talk with the agent here; /handoff moves the session."
    chat = _command(commands, "chat", text, "chat:chat", json_output=False)
    _argument(chat, "--resume", metavar="TITLE|ID", completes=SESSION, help="continue this session, wherever it is now")
    chat.add_argument("--title", metavar="T", help="title of a new session")


class _Tools(tuple[str, ...]):
    """The names of tools, for completion; on the command line an id may follow after a colon."""

    __slots__ = ()

    def __contains__(self, value: object) -> bool:
        name, colon, session = str(value).partition(":")
        return super().__contains__(name) and bool(session.strip()) == bool(colon)


def _send(commands: Any) -> None:
    send = _command(commands, "send", "Hand a session over to a chat.", "send:send")
    _platform(send)
    what = send.add_argument_group("what to hand over")
    _argument(what, "--transcript", metavar="FILE", completes=FILE, help="JSON or JSONL messages; - is stdin")
    what.add_argument(
        "--from",
        dest="source",
        metavar="TOOL[:ID]",
        choices=_Tools(READERS),
        help=f"the session with that id, or the current one of this directory, of {', '.join(READERS)}",
    )
    _argument(what, "--session", metavar="TITLE|ID", completes=SESSION, help="a session that the service already has")
    what.add_argument("--title", metavar="T", help="title of the session")
    _argument(what, "--message", metavar="FILE", completes=FILE, help="a first message to the agent there; - is stdin")
    what.add_argument("--redact", action="store_true", help="mask likely secrets")
    where = send.add_argument_group("where and how")
    where.add_argument("--to", metavar="CHAT", help="a chat other than your home chat")
    where.add_argument("--require-thread", action="store_true", help="fail if no thread can be opened")
    where.add_argument("--replace", action="store_true", help="replace a session that is in the chat already")
    where.add_argument("--no-wait", action="store_true", help="do not wait; check with `status`")
    where.add_argument("--yes", action="store_true", help="do not ask about likely secrets")
    _timeout(where)


def _handoffs(commands: Any) -> None:
    status = _command(commands, "status", "Show the state of a handoff.", "handoffs:status")
    status.add_argument("id", metavar="ID", nargs="?", help="id of the handoff (default: list the newest)")
    wait = _command(commands, "wait", "Wait for a handoff to end.", "handoffs:wait")
    wait.add_argument("id", metavar="ID", help="id of the handoff")
    _timeout(wait)
    text = "Cancel a handoff that has not moved the session yet."
    cancel = _command(commands, "cancel", text, "handoffs:cancel")
    cancel.add_argument("id", metavar="ID", help="id of the handoff")


def _sessions(commands: Any) -> None:
    text = "Bring a session back to the terminal and show the new messages."
    resume = _command(commands, "resume", text, "sessions:resume")
    _session(resume)
    resume.add_argument("--fork", action="store_true", help="make a copy; the original stays where it is")
    sessions = _command(commands, "sessions", "List your sessions, newest first.", "sessions:sessions")
    sessions.add_argument("--limit", metavar="N", type=_count, default=20, help="at most N (default: 20)")
    history = _command(commands, "history", "Show the messages of a session.", "sessions:history")
    _session(history)
    history.add_argument("--last", metavar="N", type=_count, help="only the last N messages")
    export = _command(commands, "export", "Write a session to a file or to stdout.", "sessions:export")
    _session(export)
    export.add_argument("--format", choices=FORMATS, default="messages", help="messages: a JSON array (default)")
    _argument(export, "--output", "-o", metavar="FILE", completes=FILE, help="write to this file instead of stdout")


def _service(commands: Any) -> None:
    _command(commands, "platforms", "List the platforms, their state and your home chats.", "platforms:platforms")
    _command(commands, "doctor", "Check service, token, platforms and clock; suggest fixes.", "doctor:doctor")


def _tokens(commands: Any) -> None:
    tokens = _command(commands, "tokens", "List, create or revoke your tokens.", "tokens:tokens", json_output=False)
    actions = tokens.add_subparsers(dest="action", metavar="ACTION", required=True)
    _command(actions, "list", "List your tokens.", "tokens:tokens")
    new = _command(actions, "new", "Create a token and show it once.", "tokens:new")
    new.add_argument("--label", metavar="L", default="", help="what the token is for")
    new.add_argument("--scope", action="append", choices=SCOPES, help="may be repeated (default: as your own token)")
    new.add_argument("--days", metavar="N", type=_count, help="how long it is valid (default: until it is revoked)")
    revoke = _command(actions, "revoke", "Revoke a token; requests with it fail from then on.", "tokens:revoke")
    revoke.add_argument("id", metavar="ID", help="id of the token")


def _config(commands: Any) -> None:
    config = _command(commands, "config", "Show or change the configuration.", "config:show", json_output=False)
    actions = config.add_subparsers(dest="action", metavar="ACTION", required=True)
    _command(actions, "show", "Show the configuration and where it comes from.", "config:show")
    setting = _command(actions, "set", "Save the service's URL or your token in the config file.", "config:set_value")
    setting.add_argument("key", choices=("url", "token"))
    setting.add_argument("value", nargs="?", help="default: ask, or read it from stdin")
    unset = _command(actions, "unset", "Remove a value from the config file.", "config:unset_value")
    unset.add_argument("key", choices=("url", "token"))
    home = _command(actions, "home", "Set the chat where handoffs to a platform arrive.", "config:home")
    _platform(home)
    home.add_argument("chat", metavar="CHAT", help="id of the chat on that platform")


def _completion(commands: Any) -> None:
    text = "Print a completion script for your shell."
    completion = _command(commands, "completion", text, "completion:completion", json_output=False)
    completion.add_argument(
        "what",
        metavar="SHELL",
        choices=(*SHELLS, PLATFORM, SESSION),
        help=f"{', '.join(SHELLS)}; `{PLATFORM}` and `{SESSION}` print the names that the scripts complete",
    )


def _platform(command: argparse.ArgumentParser) -> None:
    help_text = "for example telegram; `handoff platforms` lists them"
    _argument(command, "platform", metavar="PLATFORM", completes=PLATFORM, help=help_text)


def _session(command: argparse.ArgumentParser) -> None:
    help_text = "title or id, or the beginning of one"
    _argument(command, "session", metavar="TITLE|ID", completes=SESSION, help=help_text)


def _timeout(command: Any) -> None:
    command.add_argument(
        "--timeout",
        metavar="S",
        type=_seconds,
        help="stop waiting after S seconds (default: 60 until it is picked up, then 15 minutes)",
    )


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise argparse.ArgumentTypeError(f"not a number of seconds: {text!r}")
    return value


def _count(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 10**9:
        raise argparse.ArgumentTypeError(f"not a number from 1: {text!r}")
    return int(text)
