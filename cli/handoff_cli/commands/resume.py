"""`handoff resume`: bring a session back, or copy it, and show what was said meanwhile."""

from handoff_cli.context import Context
from handoff_cli.sessions.bring_back import bring_back
from handoff_cli.sessions.choose import choose_session
from handoff_cli.sessions.names import display


def run(context: Context) -> int:
    """0 if the session is here now."""
    args, terminal = context.args, context.terminal
    with context.service() as service:
        returned = bring_back(service, choose_session(context, service, args.session), fork=args.fork)
    back = returned.session
    returned.show_messages(terminal)
    terminal.say(
        f"Copied as {display(back)}; the original stays where it is."
        if args.fork
        else f"{display(back)[:1].upper()}{display(back)[1:]} is back in the terminal."
    )
    terminal.say(f"Go on with: {context.prog} chat --resume {back['id'][:12]}")
    terminal.result({"session": back, "meanwhile": returned.messages if returned.was_away else []})
    return 0
