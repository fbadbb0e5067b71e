"""Answer one call of an agent's hook. Ordinary prompts of sessions that never left cost one look at a file."""

from typing import TYPE_CHECKING

from handoff_cli.inside.events import Answer, Block, Event, Tell
from handoff_cli.inside.slash_command import parse
from handoff_cli.inside.state import StateFile
from handoff_cli.inside.texts import usage

if TYPE_CHECKING:
    from handoff_cli.context import Context


def answer(context: "Context", event: Event) -> Answer:
    """The instruction to the agent. Raises CliError and OSError."""
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
