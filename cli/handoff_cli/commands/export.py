"""`handoff export`: a session in a form that other tools read."""

from collections.abc import Callable
from pathlib import Path

from handoff_cli.context import Context
from handoff_cli.errors import UsageProblem
from handoff_cli.sessions.choose import choose_session
from handoff_cli.sessions.transcripts import Message
from handoff_cli.ui.rendering import words
from handoff_cli.ui.texts import json_text


def run(context: Context) -> int:
    """Writes the messages as they were said, without those that the service made for itself."""
    args = context.args
    with context.service() as service:
        session = choose_session(context, service, args.session)
        messages = [message for message in service.messages(session["id"]) if not message.get("internal")]
    text = FORMATS["messages" if args.json else args.format](messages)
    if args.output is None:
        context.terminal.raw(text)
        return 0
    try:
        Path(args.output).write_text(text, "utf-8")
    except OSError as error:
        raise UsageProblem(f"{args.output} cannot be written: {error.strerror}.") from error
    context.terminal.stderr.write(f"{len(messages)} messages in {args.output}\n")
    return 0


def _messages(messages: list[Message]) -> str:
    return json_text(messages)


def _jsonl(messages: list[Message]) -> str:
    return "".join(json_text(message, indent=None) for message in messages)


def _markdown(messages: list[Message]) -> str:
    text = "\n".join(f"## {message['role']}\n\n{words(message.get('content'))}\n" for message in messages)
    return text.encode("utf-8", "replace").decode()


FORMATS: dict[str, Callable[[list[Message]], str]] = {"messages": _messages, "jsonl": _jsonl, "markdown": _markdown}
