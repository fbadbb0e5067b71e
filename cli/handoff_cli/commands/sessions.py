"""`handoff sessions`: the person's sessions, newest first, and where each one lives."""

from itertools import islice

from handoff_cli.context import Context
from handoff_cli.sessions.names import display_table


def run(context: Context) -> int:
    """Lists them."""
    terminal = context.terminal
    with context.service() as service:
        sessions = list(islice(service.sessions(), context.args.limit))
    terminal.result(sessions)
    if not sessions:
        terminal.say(f"No sessions yet. Begin one with: {context.prog} chat")
        return 0
    for line in display_table(sessions):
        terminal.say(line)
    return 0
