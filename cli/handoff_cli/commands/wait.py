"""`handoff wait`: follow a handoff that somebody started to its end."""

from handoff_cli.context import Context
from handoff_cli.handoff.follow import Patience
from handoff_cli.handoff.hand_over import see_through
from handoff_cli.handoff.outcome import report


def run(context: Context) -> int:
    """The same endings as `send`."""
    with context.service() as service:
        handoff = service.handoff(context.args.id)
        handoff = see_through(context, service, handoff, Patience.of(context.args.timeout))
    return report(context, handoff)
