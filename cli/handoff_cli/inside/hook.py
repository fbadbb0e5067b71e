"""Answer one call of an agent's hook. Ordinary prompts of sessions that never left cost one look at a file."""

from typing import TYPE_CHECKING

from handoff_cli.inside.events import Answer, Block, Event, Tell
from handoff_cli.inside.orders import parse
from handoff_cli.inside.state import StateFile
from handoff_cli.inside.texts import usage

if TYPE_CHECKING:
    from handoff_cli.context import Context


def answer(context: "Context", event: Event) -> Answer:
    """What the agent is to do now. Raises CliError and OSError."""
    file = StateFile.of(context.environ, event.agent, event.native_id)
    state = file.read()
    order = parse(event.prompt, event.agent, behind=state is not None) if event.prompt is not None else None
    if order is None and state is None:
        return Tell()
    # Only now: these bring the HTTP client.
    from handoff_cli.inside import fence, journey  # noqa: PLC0415

    if order is not None and order.perhaps and not journey.is_platform(context, order.platform):
        order = None
        if state is None:
            return Tell()
    if order is None:
        assert state is not None  # noqa: S101 - see above
        look = fence.on_compact if event.compacts else fence.on_start if event.prompt is None else fence.on_prompt
        return look(context, event, file, state)
    if order.verb == "help":
        return Block(usage(event))
    if order.verb == "status":
        return Block(fence.status(context, event, file, state))
    if order.verb == "back":
        return Block(journey.back(context, event, file, state))
    return Block(journey.out(context, event, file, state, order))
