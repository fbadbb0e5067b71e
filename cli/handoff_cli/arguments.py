"""The command line as data: every command, its arguments and the module that runs it."""

import argparse
from typing import Any

PLATFORMS = ("telegram", "slack", "discord")
SOURCES = ("claude-code", "codex", "hermes", "openai")
SHELLS = ("bash", "zsh", "fish")
FORMATS = ("messages", "jsonl", "markdown")

_EXIT_CODES = """\
exit codes:
  0 it worked   1 it failed or was refused   2 usage   3 still running after the time-out
  4 the service cannot be reached   130 interrupted"""


def parser(prog: str) -> argparse.ArgumentParser:
    """The whole command line; `run` in the result names the module of the command."""
    top = argparse.ArgumentParser(
        prog=prog,
        description="Move a live terminal agent session into a chat thread, and bring it back.",
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[_connection()],
    )
    top.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    for add in (_chat, _send, _handoffs, _sessions, _service, _config, _completion):
        add(commands)
    return top


class _Version(argparse.Action):
    """Looks the version up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - slow, and rarely wanted

        try:
            number = version("handoff-cli")
        except PackageNotFoundError:
            number = "of this checkout"
        parser.exit(message=f"handoff-cli {number}\n")


def _connection() -> argparse.ArgumentParser:
    """Accepted before and after the command; SUPPRESS keeps the later one from erasing the earlier."""
    shared = argparse.ArgumentParser(add_help=False)
    group = shared.add_argument_group("connection")
    group.add_argument(
        "--url", default=argparse.SUPPRESS, help="the service (default: HANDOFF_URL, config file, .local/env)"
    )
    group.add_argument(
        "--token", default=argparse.SUPPRESS, help="its token (better: HANDOFF_TOKEN or the config file)"
    )
    return shared


def _command(
    commands: Any, name: str, text: str, *, run: str | None = None, json_output: bool = True
) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text, parents=[_connection()])
    command.set_defaults(run=run or name)
    if json_output:
        command.add_argument("--json", action="store_true", help="print one JSON value, for scripts")
    return command


def _chat(commands: Any) -> None:
    chat = _command(commands, "chat", "Talk with the agent here; /handoff moves the session.", json_output=False)
    chat.add_argument("--resume", metavar="TITLE|ID", help="go on with this session, wherever it lives now")
    chat.add_argument("--title", metavar="T", help="what to call a new session")


def _send(commands: Any) -> None:
    send = _command(commands, "send", "Hand a session over to a chat.")
    send.add_argument("platform", metavar="PLATFORM", help=f"{', '.join(PLATFORMS)}")
    what = send.add_argument_group("what to hand over")
    what.add_argument("--transcript", metavar="FILE", help="JSON or JSONL messages; - is stdin")
    what.add_argument(
        "--from", dest="source", choices=SOURCES, help="the newest session of this directory in that tool"
    )
    what.add_argument("--session", metavar="TITLE|ID", help="a session that the service already has")
    what.add_argument("--title", metavar="T", help="what to call the session")
    what.add_argument("--message", metavar="FILE", help="first words of your own for the agent there; - is stdin")
    what.add_argument("--redact", action="store_true", help="mask what looks like a secret")
    where = send.add_argument_group("where and how")
    where.add_argument("--to", metavar="CHAT", help="a chat other than home")
    where.add_argument("--require-thread", action="store_true", help="fail rather than use the chat itself")
    where.add_argument("--replace", action="store_true", help="take the place of a session that lives there")
    where.add_argument("--no-wait", action="store_true", help="only ask for it; look again with `status`")
    where.add_argument("--yes", action="store_true", help="do not ask about likely secrets")
    _timeout(where)


def _handoffs(commands: Any) -> None:
    status = _command(commands, "status", "Show how a handoff stands.")
    status.add_argument("id", metavar="ID", nargs="?", help="the handoff's id (default: the newest handoffs)")
    wait = _command(commands, "wait", "Wait for a handoff to end.")
    wait.add_argument("id", metavar="ID", help="the handoff's id")
    _timeout(wait)
    cancel = _command(commands, "cancel", "Stop a handoff that has not moved the session yet.")
    cancel.add_argument("id", metavar="ID", help="the handoff's id")


def _sessions(commands: Any) -> None:
    resume = _command(commands, "resume", "Bring a session back to the terminal and show what was said meanwhile.")
    _session(resume)
    resume.add_argument("--fork", action="store_true", help="copy it instead; the original stays where it is")
    sessions = _command(commands, "sessions", "List your sessions, newest first.")
    sessions.add_argument("--limit", metavar="N", type=_count, default=20, help="at most N (default: 20)")
    history = _command(commands, "history", "Show what was said in a session.")
    _session(history)
    history.add_argument("--last", metavar="N", type=_count, help="only the last N messages")
    export = _command(commands, "export", "Take a session out, for your own tools.")
    _session(export)
    export.add_argument("--format", choices=FORMATS, default="messages", help="messages: a JSON array (default)")
    export.add_argument("--output", "-o", metavar="FILE", help="write there instead of stdout")


def _service(commands: Any) -> None:
    _command(commands, "platforms", "List platforms, whether they are ready, and your homes.")
    _command(commands, "doctor", "Check service, token, platforms and clock, each with a fix.")


def _config(commands: Any) -> None:
    config = _command(commands, "config", "Show or change the configuration.", json_output=False)
    actions = config.add_subparsers(dest="action", metavar="ACTION", required=True)
    _command(actions, "show", "Show what is in force and where it comes from.", run="config")
    setting = _command(actions, "set", "Keep the service's URL or token in the config file.", run="config")
    setting.add_argument("key", choices=("url", "token"))
    setting.add_argument("value", nargs="?", help="without it: asked for, or read from stdin")
    unset = _command(actions, "unset", "Remove a value from the config file.", run="config")
    unset.add_argument("key", choices=("url", "token"))
    home = _command(actions, "home", "Set the chat where handoffs to a platform arrive.", run="config")
    home.add_argument("platform", metavar="PLATFORM")
    home.add_argument("chat", metavar="CHAT", help="the chat's id on that platform")


def _completion(commands: Any) -> None:
    completion = _command(commands, "completion", "Print a completion script for your shell.", json_output=False)
    completion.add_argument("shell", choices=SHELLS)


def _session(command: argparse.ArgumentParser) -> None:
    command.add_argument("session", metavar="TITLE|ID", help="a title or id; their beginning is enough")


def _timeout(command: Any) -> None:
    command.add_argument(
        "--timeout",
        metavar="S",
        type=_seconds,
        help="stop waiting after S seconds (default: 60 to be picked up, then 15 minutes)",
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
