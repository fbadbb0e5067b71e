"""`handoff config`: homes on the service, and this machine's config file."""

from handoff_cli.context import Context


def run(context: Context) -> int:
    """Does the one action that was asked for."""
    return {"home": _home}[context.args.action](context)


def _home(context: Context) -> int:
    args, terminal = context.args, context.terminal
    with context.service() as service:
        home = service.set_home(args.platform, args.chat)
    terminal.say(f"Handoffs to {home['platform']} now arrive in {home['chat']}.")
    terminal.result(home)
    return 0
