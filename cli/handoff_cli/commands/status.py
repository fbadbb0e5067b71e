"""`handoff status`: how a handoff stands, read once."""

from handoff_cli.context import Context
from handoff_cli.errors import HandoffFailed, StillRunning
from handoff_cli.outcome import failure, show_success


def run(context: Context) -> int:
    """0 if it worked, 1 if it did not, 3 if it is still running."""
    terminal = context.terminal
    with context.service() as service:
        handoff = service.handoff(context.args.id)
        context.follower(service).show(handoff)
    terminal.result(handoff)
    if not handoff["done"]:
        terminal.say(f"Still running. Wait for it with: {context.prog} wait {handoff['id']}")
        return StillRunning.exit_code
    if handoff.get("error"):
        terminal.problem(failure(handoff))
        return HandoffFailed.exit_code
    show_success(terminal, handoff, compared=False)
    return 0
