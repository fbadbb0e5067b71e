"""`handoff platforms`: the platforms, their state and the user's home chats."""

from handoff_cli.api.transport import Json
from handoff_cli.context import Context
from handoff_cli.ui.text import aligned


def platforms(context: Context) -> int:
    """List the platforms."""
    with context.service() as service:
        found = service.platforms()
    context.terminal.result(found)
    for line in aligned([[str(platform["name"]), _state(platform, context.prog)] for platform in found]):
        context.terminal.say(line)
    return 0


def _state(platform: Json, prog: str) -> str:
    if not platform["supported"]:
        return "not supported yet"
    if not platform["configured"]:
        return f"not configured: the service has no bot for it: {prog} setup {platform['name']}"
    if not platform["home"]:
        return f"no home chat yet: {prog} link {platform['name']}"
    threads = "one thread per handoff" if platform["threads"] else "no threads: handoffs arrive in the chat"
    return f"ready, home chat {platform['home']['chat']}, {threads}"
