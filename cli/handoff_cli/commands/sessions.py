"""`handoff sessions`, `handoff resume`, `handoff history` and `handoff export`."""

from collections.abc import Callable
from itertools import islice
from pathlib import Path

from handoff_cli.context import Context
from handoff_cli.errors import UsageProblem
from handoff_cli.runner.way_back import wait_for_agent
from handoff_cli.sessions.bring_back import bring_back
from handoff_cli.sessions.find import choose_session, display, session_lines
from handoff_cli.transcripts.messages import Message
from handoff_cli.ui.messages import show, text_of
from handoff_cli.ui.text import json_text


def sessions(context: Context) -> int:
    """List the user's sessions, newest first, and where each one is."""
    terminal = context.terminal
    with context.service() as service:
        found = list(islice(service.sessions(), context.args.limit))
    terminal.result(found)
    for line in session_lines(found) or [f"No sessions yet. Begin one with: {context.prog} chat"]:
        terminal.say(line)
    return 0


def resume(context: Context) -> int:
    """0 if the session, or its copy, is in this terminal now."""
    args, terminal = context.args, context.terminal
    with context.service() as service:
        returned = bring_back(service, choose_session(context, service, args.session), fork=args.fork)
    back = returned.session
    native = None if args.fork else wait_for_agent(context, back["id"])
    returned.show_messages(terminal)
    name = display(back)
    terminal.say(
        f"Copied as {name}; the original stays where it is."
        if args.fork
        else f"{name[:1].upper()}{name[1:]} is back in the terminal."
    )
    if native:
        native.show(context)
    else:
        terminal.say(f"Continue with: {context.prog} chat --resume {back['id'][:12]}")
    extra = {"continue_with": native.command} if native else {}
    terminal.result({"session": back, "meanwhile": returned.messages if returned.was_away else [], **extra})
    return 0


def history(context: Context) -> int:
    """Show the messages of a session, wherever it is; reading does not move it."""
    args, terminal = context.args, context.terminal
    with context.service() as service:
        session = choose_session(context, service, args.session)
        after = max(0, int(session["message_count"]) - args.last) if args.last else 0
        messages = list(service.messages(session["id"], after=after))
    terminal.result(messages)
    if not terminal.json_output and not show(terminal, messages):
        terminal.say("No messages yet.")
    return 0


def export(context: Context) -> int:
    """Write the messages of a session, without the service's internal ones."""
    args = context.args
    with context.service() as service:
        session = choose_session(context, service, args.session)
        messages = [message for message in service.messages(session["id"]) if not message.get("internal")]
    text = _FORMATS["messages" if args.json else args.format](messages)
    if args.output is None:
        context.terminal.raw(text)
        return 0
    try:
        Path(args.output).write_text(text, "utf-8")
    except OSError as error:
        raise UsageProblem(f"{args.output} cannot be written: {error.strerror}.") from error
    context.terminal.stderr.write(f"{len(messages)} messages in {args.output}\n")
    return 0


def _jsonl(messages: list[Message]) -> str:
    return "".join(json_text(message, indent=None) for message in messages)


def _markdown(messages: list[Message]) -> str:
    text = "\n".join(f"## {message['role']}\n\n{text_of(message.get('content'))}\n" for message in messages)
    return text.encode("utf-8", "replace").decode()


_FORMATS: dict[str, Callable[[list[Message]], str]] = {"messages": json_text, "jsonl": _jsonl, "markdown": _markdown}
