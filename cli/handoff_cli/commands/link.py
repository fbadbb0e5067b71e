"""`handoff link`, `unlink`, `homes`, `invite`: pair accounts on chat platforms, by a code instead of an id; `platforms`."""

from handoff_cli.api.client import Service
from handoff_cli.api.transport import Json
from handoff_cli.config.sources import is_loopback
from handoff_cli.context import Context
from handoff_cli.errors import CliError, StillRunning, UsageProblem
from handoff_cli.ui.qr_code import show_code
from handoff_cli.ui.text import aligned, one_line

_PATIENCE_SECONDS = 610.0
"""A little longer than a code is valid: the service says when it is over."""
_PAUSE_SECONDS = 1.0
_NAME_WIDTH = 60
_OVER = {
    "expired": "The code is too old: it was not used within 10 minutes. Nothing was linked. Make a new one the same way.",
    "void": "The code was sent where others could see it, so it is void. Nothing was linked. Make a new one, and send it in a "
    "private chat.",
}


def link(context: Context) -> int:
    """Link the user's account on a platform. Its private chat with the bot becomes the home if there is none."""
    args = context.args
    with context.service() as service:
        return pair(context, service, _platform(service, args.platform), home=args.home, no_wait=args.no_wait)


def pair(context: Context, service: Service, platform: str, *, home: bool = False, no_wait: bool = False) -> int:
    """Show a code and wait until it is used."""
    made = service.create_link(platform, home=home)
    where = "On this machine" if is_loopback(str(made.get("url"))) else "On the phone or computer where you use it"
    context.terminal.say(f"Link your account on {platform}. {where}:")
    return _wait(context, service, made, no_wait=no_wait)


def invite(context: Context) -> int:
    """Invite another person: a code with which they become a user of this service. Needs the scopes `admin` and `link`."""
    args = context.args
    with context.service() as service:
        made = service.invite(args.name, _platform(service, args.platform))
        say = context.terminal.say
        say(f"Pass this on to {args.name}, for {made['platform']}. The code is valid for 10 minutes and works once:")
        code = _wait(context, service, made, no_wait=args.no_wait)
        if code == 0 and not (args.no_wait or context.terminal.json_output):
            say(f"The bot has given {args.name} a link for `handoff login`, which is valid for half an hour.")
        return code


def unlink(context: Context) -> int:
    """Unlink the user's accounts on a platform."""
    platform = context.args.platform
    with context.service() as service:
        service.unlink(platform)
    context.terminal.result({"platform": platform, "linked": False})
    context.terminal.say(
        f"Unlinked: what you say on {platform} is ignored from now on, and handoffs do not arrive there. Sessions that live "
        f"there stay yours: `{context.prog} resume` brings them here."
    )
    return 0


def homes(context: Context) -> int:
    """List where handoffs arrive, and which accounts are read."""
    with context.service() as service:
        found = [each for each in service.platforms() if each["supported"] and each["configured"]]
    context.terminal.result(
        [{"platform": each["name"], "home": each["home"], "accounts": each.get("accounts") or []} for each in found]
    )
    if not found:
        context.terminal.say(f"No platform is set up yet: {context.prog} setup telegram")
    for line in aligned([_row(context, each) for each in found]):
        context.terminal.say(line)
    return 0


def _row(context: Context, platform: Json) -> list[str]:
    accounts = platform.get("accounts") or []
    if not accounts:
        return [platform["name"], "-", f"no account of yours is linked: {context.prog} link {platform['name']}"]
    home = (platform["home"] or {}).get("chat") or "no home: send /sethome in a chat"
    return [platform["name"], home, f"you are {', '.join(accounts)}"]


def _platform(service: Service, given: str | None) -> str:
    """The one that was named, or the only one that is set up."""
    if given:
        return given
    ready = [str(each["name"]) for each in service.platforms() if each["supported"] and each["configured"]]
    if len(ready) != 1:
        which = f"Choose one of: {', '.join(ready)}." if ready else "None is set up yet: handoff setup telegram"
        raise UsageProblem(f"Name the platform. {which}")
    return ready[0]


def _wait(context: Context, service: Service, made: Json, *, no_wait: bool) -> int:
    terminal = context.terminal
    if made.get("url"):
        terminal.say(f"\n  open   {terminal.style(str(made['url']), 'bold')}")
        show_code(terminal, str(made["url"]))
    terminal.say(f"  {'or send' if made.get('url') else 'send'} to the bot, in a private chat:   {made['text']}\n")
    if no_wait or terminal.json_output:  # the one JSON value must hold the code, so it comes at once
        terminal.result(made)
        return 0
    linked = _followed(context, service, made)
    name = f" {one_line(str(linked['account_name']), _NAME_WIDTH)}," if linked.get("account_name") else ""
    terminal.say(f"Linked:{name} {linked['platform']} account {linked['account']} is {linked['user']}.")
    if linked.get("invitation") or _home_on(service, str(linked["platform"])) == linked.get("home"):
        terminal.say("Handoffs arrive in its private chat with the bot, which has just been told so.")
    else:
        how = f"`{context.prog} link {linked['platform']} --home`"
        terminal.say(f"Handoffs arrive where they did. To change that, send /sethome in the chat, or use {how}.")
    return 0


def _home_on(service: Service, platform: str) -> str | None:
    found = next((each for each in service.platforms() if each["name"] == platform), {})
    return (found.get("home") or {}).get("chat")


def _followed(context: Context, service: Service, made: Json) -> Json:
    """The link once it was used. Raises CliError if it is over, StillRunning if it takes too long."""
    began = context.clock()
    context.terminal.progress("Waiting for the code ... (Ctrl-C ends the waiting; the code stays valid)")
    while context.clock() - began < _PATIENCE_SECONDS:
        found = next((each for each in service.links() if each["id"] == made["id"]), None)
        if found is None:
            raise CliError("The code was replaced by a newer one. Use that one.")
        if found["state"] == "linked":
            return found
        if found["state"] in _OVER:
            raise CliError(_OVER[str(found["state"])])
        context.sleep(_PAUSE_SECONDS)
    raise StillRunning("The code was not used in time. Nothing was linked.")


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
