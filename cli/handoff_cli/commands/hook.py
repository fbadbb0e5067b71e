"""`handoff hook AGENT`: what the hooks of agents call. Reads one event from stdin, answers on stdout, ends with 0."""

import json
import os
import threading
from dataclasses import replace
from pathlib import Path

from handoff_cli.context import Context
from handoff_cli.errors import CliError
from handoff_cli.inside.events import Answer, Block, Event, Tell, read_event, rendered
from handoff_cli.inside.notify import notify
from handoff_cli.inside.quick import nothing_to_do
from handoff_cli.inside.slash_command import parse
from handoff_cli.inside.state import StateFile
from handoff_cli.inside.texts import usage

_SECONDS = 9.0
_POST_SECONDS = 30.0
_LATE = "Handoff did not answer in time. Look with `handoff status`, and try again."


def hook(context: Context) -> int:
    """Always 0: some agents take another exit code for a refusal of the prompt."""
    if context.args.move:
        _move(context)
        return 0
    if context.args.notify is not None:
        _notify(context)
        return 0
    raw = context.terminal.stdin.buffer.read()
    if nothing_to_do(context.args.agent, raw, context.environ):
        return 0
    event = read_event(context.args.agent, json.loads(raw))
    if event is None:
        return 0
    context = replace(context, directory=event.directory)
    reply = _Reply(context, event)
    watchdog = threading.Timer(_SECONDS, reply.give_up)
    watchdog.daemon = True
    watchdog.start()
    reply.send(_answer(context, event))
    watchdog.cancel()
    return 0


def _answer(context: Context, event: Event) -> Answer:
    try:
        return _instruction(context, event)
    except (CliError, OSError) as error:
        return _problem(context, event, str(error))
    except Exception as error:  # noqa: BLE001 - a traceback would be shown in the agent, or be taken for a refusal
        return _problem(context, event, f"Internal error of Handoff ({type(error).__name__}: {error}).")


def _instruction(context: Context, event: Event) -> Answer:
    """The instruction to the agent; one look at a file for the prompts of a session that never left. Raises CliError, OSError."""
    file = StateFile.of(context.environ, event.agent, event.native_id)
    state = file.read()
    command = parse(event.prompt, event.agent, behind=state is not None) if event.prompt is not None else None
    if command is None and state is None:
        return Tell()
    # Only now: these bring the HTTP client.
    from handoff_cli.inside import journey, prompt_guard  # noqa: PLC0415

    if command is not None and command.perhaps and not journey.is_platform(context, command.platform):
        command = None
        if state is None:
            return Tell()
    if command is None:
        assert state is not None  # noqa: S101 - see above
        look = (
            prompt_guard.on_compact
            if event.compacts
            else prompt_guard.on_start
            if event.prompt is None
            else prompt_guard.on_prompt
        )
        return look(context, event, file, state)
    if command.verb == "help":
        return Block(usage(event))
    if command.verb == "status":
        return Block(prompt_guard.status(context, event, file, state))
    if command.verb == "back":
        return Block(journey.back(context, event, file, state))
    return Block(journey.out(context, event, file, state, command))


def _problem(context: Context, event: Event, text: str) -> Answer:
    if event.prompt is None and not event.compacts:
        return Tell(shown=f"Handoff: {context.terminal.to_copy(text)}")
    return Block(context.terminal.to_copy(text))


def _move(context: Context) -> None:
    from handoff_cli.inside.move import Job, move  # noqa: PLC0415 - only in the process that moves

    move(context, Job(**json.loads(context.terminal.stdin.buffer.read())))


def _notify(context: Context) -> None:
    args, raw = context.args, context.terminal.stdin.buffer.read()
    if not args.post:
        notify(args.agent, args.notify, raw, context.environ)
        return
    from handoff_cli.inside.send_notice import send_notice  # noqa: PLC0415 - only in the process that posts

    event = json.loads(raw)
    # Nothing waits for this process, so nothing would end it if the service hangs.
    watchdog = threading.Timer(_POST_SECONDS, os._exit, [0])
    watchdog.daemon = True
    watchdog.start()
    send_notice(replace(context, directory=Path(event["directory"])), args.agent, args.notify, event)


class _Reply:
    """One answer, either in time or when the time is over."""

    def __init__(self, context: Context, event: Event) -> None:
        self._context, self._event = context, event
        self._lock = threading.Lock()

    def send(self, found: Answer) -> None:
        with self._lock:
            self._write(found)
            if isinstance(found, Tell) and found.note:
                found.note.remove()

    def give_up(self) -> None:
        """End the process: what it waits for may be a call that nothing else can interrupt."""
        with self._lock:
            self._write(Block(_LATE) if self._event.prompt is not None else Tell(shown=_LATE))
            os._exit(0)

    def _write(self, found: Answer) -> None:
        if value := rendered(self._event, found):
            self._context.terminal.raw(json.dumps(value) + "\n")
