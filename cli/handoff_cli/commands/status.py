"""`handoff status`: how a handoff stands, read once; without an id, the newest ones."""

from handoff_cli.api.client import Service
from handoff_cli.api.transport import Json
from handoff_cli.context import Context
from handoff_cli.errors import HandoffFailed, StillRunning
from handoff_cli.handoff.outcome import failure, show_success
from handoff_cli.ui.tables import aligned
from handoff_cli.ui.texts import one_line

_SHOWN = 20


def run(context: Context) -> int:
    """0 if it worked, 1 if it did not, 3 if it is still running."""
    with context.service() as service:
        return _one(context, service) if context.args.id else _newest(context, service)


def _one(context: Context, service: Service) -> int:
    terminal = context.terminal
    handoff = service.handoff(context.args.id)
    context.follower(service).show(handoff)
    terminal.result(handoff)
    if not handoff["done"]:
        terminal.say(f"Still running. Wait for it with: {context.prog} wait {handoff['id']}")
        return StillRunning.exit_code
    if handoff.get("error"):
        terminal.problem(failure(handoff))
        return HandoffFailed.exit_code
    show_success(context, handoff, compared=False)
    return 0


def _newest(context: Context, service: Service) -> int:
    handoffs = service.handoffs()[:_SHOWN]
    context.terminal.result(handoffs)
    if not handoffs:
        context.terminal.say("No handoffs yet.")
        return 0
    for line in aligned([_row(handoff) for handoff in handoffs]):
        context.terminal.say(line)
    return 0


def _row(handoff: Json) -> list[str]:
    steps = handoff.get("steps") or [{}]
    error = handoff.get("error") or {}
    how = str(error.get("message") or steps[-1].get("label") or handoff.get("step"))
    title = one_line(str((handoff.get("session") or {}).get("title") or handoff["session_id"][:8]), 40)
    when = str(handoff.get("created_at") or "")[:16].replace("T", " ")
    return [handoff["id"], when, handoff["platform"], title, one_line(how, 60)]
