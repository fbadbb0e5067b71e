"""Finds the session that a person means; where the name fits several, they choose from a list."""

from handoff_cli.api.client import Service
from handoff_cli.api.transport import Json
from handoff_cli.context import Context
from handoff_cli.errors import Ambiguous, UsageProblem
from handoff_cli.sessions.names import display_table, find_session


def choose_session(context: Context, service: Service, name: str) -> Json:
    """The session of that name. Asks only at a terminal; raises Ambiguous with the candidates elsewhere."""
    try:
        return find_session(service, name)
    except Ambiguous as several:
        if not context.terminal.interactive or context.terminal.json_output:
            raise
        return ask_which(context, several.candidates)


def ask_which(context: Context, sessions: list[Json]) -> Json:
    """One of these, by its number. Raises UsageProblem if the person wants none of them."""
    if not sessions:
        raise UsageProblem("There are no sessions yet.")
    for number, line in enumerate(display_table(sessions), start=1):
        context.terminal.say(f"{number:>3}  {line}")
    try:
        answer = context.terminal.ask("Which one? Its number, or Enter for none: ")
    except (EOFError, KeyboardInterrupt):
        answer = ""
    if answer.isdecimal() and 1 <= int(answer) <= len(sessions):
        return sessions[int(answer) - 1]
    raise UsageProblem("None was chosen; nothing was changed.")
