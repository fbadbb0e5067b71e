"""`handoff resume`: bring a session back, or copy it, and show what was said meanwhile."""

from handoff_cli.context import Context
from handoff_cli.naming import display, find_session
from handoff_cli.rendering import show
from handoff_cli.returning import bring_back, said_meanwhile


def run(context: Context) -> int:
    """0 if the session is here now."""
    args, terminal = context.args, context.terminal
    with context.service() as service:
        session = find_session(service, args.session)
        meanwhile = said_meanwhile(service, session)
        back = bring_back(service, session, fork=args.fork)
    if meanwhile:
        terminal.say(terminal.style("Said meanwhile:", "bold"))
        show(terminal, meanwhile)
    terminal.say(
        f"Copied as {display(back)}; the original stays where it is."
        if args.fork
        else f"{display(back)[:1].upper()}{display(back)[1:]} is back in the terminal."
    )
    terminal.say(f"Go on with: {context.prog} chat --resume {back['id'][:12]}")
    terminal.result({"session": back, "meanwhile": meanwhile})
    return 0
