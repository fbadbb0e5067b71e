"""`handoff cancel`: stop a handoff that has not moved the session yet."""

from handoff_cli.context import Context


def run(context: Context) -> int:
    """0 if it is cancelled; 1 if it was too late."""
    with context.service() as service:
        handoff = service.cancel(context.args.id)
    context.terminal.say("Cancelled. The session stays in the terminal.")
    context.terminal.result(handoff)
    return 0
