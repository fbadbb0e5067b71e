"""`handoff sessions`: the person's sessions, newest first, and where each one lives."""

from itertools import islice

from handoff_cli.context import Context
from handoff_cli.service import Json
from handoff_cli.tables import aligned
from handoff_cli.terminal import one_line


def run(context: Context) -> int:
    """Lists them."""
    terminal = context.terminal
    with context.service() as service:
        sessions = list(islice(service.sessions(), context.args.limit))
    terminal.result(sessions)
    if not sessions:
        terminal.say(f"No sessions yet. Begin one with: {context.prog} chat")
        return 0
    for line in table(sessions):
        terminal.say(line)
    return 0


def table(sessions: list[Json]) -> list[str]:
    """One line per session."""
    return aligned([_row(session) for session in sessions])


def _row(session: Json) -> list[str]:
    title = one_line(str(session.get("title") or "(no title)"), 48)
    when = str(session.get("updated_at") or "")[:16].replace("T", " ")
    lives = "here" if session["owner"] == "cli" else str(session.get("link") or session["owner"])
    return [session["id"][:12], title, f"{session['message_count']} messages", when, lives]
