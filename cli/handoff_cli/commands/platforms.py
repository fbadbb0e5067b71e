"""`handoff platforms`: which platforms there are, which are ready, and where home is."""

from handoff_cli.api.transport import Json
from handoff_cli.context import Context
from handoff_cli.ui.tables import aligned


def run(context: Context) -> int:
    """Lists them."""
    with context.service() as service:
        platforms = service.platforms()
    context.terminal.result(platforms)
    for line in aligned([[str(platform["name"]), _readiness(platform, context.prog)] for platform in platforms]):
        context.terminal.say(line)
    return 0


def _readiness(platform: Json, prog: str) -> str:
    if not platform["supported"]:
        return "not supported yet"
    if not platform["configured"]:
        return "not configured: the service has no bot for it"
    if not platform["home"]:
        return f"no home yet: {prog} config home {platform['name']} CHAT"
    threads = "a thread for each handoff" if platform["threads"] else "no threads: handoffs arrive in the chat itself"
    return f"ready, home is {platform['home']['chat']}, {threads}"
