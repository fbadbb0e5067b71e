"""`handoff status`, `handoff wait` and `handoff cancel`."""

from itertools import islice

from handoff_cli.api.client import Service
from handoff_cli.api.transport import Json
from handoff_cli.context import Context
from handoff_cli.errors import HandoffFailed, StillRunning
from handoff_cli.handoff.follow import Follower, Patience
from handoff_cli.handoff.hand_over import wait_for_end
from handoff_cli.handoff.outcome import failure, report, show_success
from handoff_cli.ui.text import aligned, one_line

_SHOWN = 20
_TITLES = 100  # sessions whose titles are read for the list: one page


def status(context: Context) -> int:
    """0 if the handoff succeeded, 1 if it failed, 3 if it is still running. Without an id: list the newest."""
    with context.service() as service:
        return _show_one(context, service) if context.args.id else _list(context, service)


def wait(context: Context) -> int:
    """Wait for the end; the same outcomes as `send`."""
    with context.service() as service:
        handoff = service.handoff(context.args.id)
        handoff = wait_for_end(context, service, handoff, Patience.of(context.args.timeout))
    return report(context, handoff)


def cancel(context: Context) -> int:
    """0 if the handoff is cancelled, 1 if it was too late."""
    with context.service() as service:
        handoff = service.cancel(context.args.id)
    owner = (handoff.get("session") or {}).get("owner")
    where = "in the terminal" if owner in {None, "cli"} else f"at {owner}"
    context.terminal.say(f"Cancelled. The session stays {where}.")
    context.terminal.result(handoff)
    return 0


def _show_one(context: Context, service: Service) -> int:
    terminal = context.terminal
    handoff = service.handoff(context.args.id)
    Follower(context, service).show(handoff)
    terminal.result(handoff)
    if not handoff["done"]:
        terminal.say(f"Still running. Wait for it with: {context.prog} wait {handoff['id']}")
        return StillRunning.exit_code
    if handoff.get("error"):
        terminal.problem(failure(handoff))
        return HandoffFailed.exit_code
    show_success(context, handoff, compared=False)
    return 0


def _list(context: Context, service: Service) -> int:
    handoffs = service.handoffs()[:_SHOWN]
    context.terminal.result(handoffs)
    if not handoffs:
        context.terminal.say("No handoffs yet.")
        return 0
    titles = {session["id"]: session.get("title") for session in islice(service.sessions(), _TITLES)}
    for line in aligned([_row(handoff, titles.get(handoff["session_id"])) for handoff in handoffs]):
        context.terminal.say(line)
    return 0


def _row(handoff: Json, title: str | None) -> list[str]:
    steps = handoff.get("steps") or [{}]
    error = handoff.get("error") or {}
    state = str(error.get("message") or steps[-1].get("label") or handoff.get("step"))
    session = one_line(title or handoff["session_id"][:8], 40)
    when = str(handoff.get("created_at") or "")[:16].replace("T", " ")
    return [handoff["id"], when, handoff["platform"], session, one_line(state, 60)]
