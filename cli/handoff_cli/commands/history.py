"""`handoff history`: what was said in a session."""

from handoff_cli.context import Context
from handoff_cli.sessions.choose import choose_session
from handoff_cli.ui.rendering import show


def run(context: Context) -> int:
    """Shows it, wherever the session lives; reading moves nothing."""
    args, terminal = context.args, context.terminal
    with context.service() as service:
        session = choose_session(context, service, args.session)
        after = max(0, int(session["message_count"]) - args.last) if args.last else 0
        messages = list(service.messages(session["id"], after=after))
    terminal.result(messages)
    if not terminal.json_output and not show(terminal, messages):
        terminal.say("Nothing was said yet.")
    return 0
