"""`handoff config`: homes on the service, and this machine's config file."""

import getpass

from handoff_cli.config.file import write_value
from handoff_cli.config.sources import checked_url, config_path
from handoff_cli.context import Context
from handoff_cli.errors import UsageProblem


def run(context: Context) -> int:
    """Does the one action that was asked for."""
    actions = {"home": _home, "show": _show, "set": _set, "unset": _unset}
    return actions[context.args.action](context)


def _home(context: Context) -> int:
    args, terminal = context.args, context.terminal
    with context.service() as service:
        home = service.set_home(args.platform, args.chat)
    terminal.say(f"Handoffs to {home['platform']} now arrive in {home['chat']}.")
    terminal.result(home)
    return 0


def _show(context: Context) -> int:
    terminal, found = context.terminal, context.configuration()
    path = config_path(context.environ)
    terminal.say(f"url    {found.url}  (from {found.url_from})")
    terminal.say(f"token  {f'set  (from {found.token_from})' if found.token else 'not set'}")
    terminal.say(f"file   {path}{'' if path.exists() else '  (not there)'}")
    terminal.result(
        {
            "url": found.url,
            "url_from": found.url_from,
            "token": bool(found.token),
            "token_from": found.token_from,
            "file": str(path),
        }
    )
    return 0


def _set(context: Context) -> int:
    args, path = context.args, config_path(context.environ)
    value = (args.value if args.value is not None else _asked(context)).strip()
    if not value or any(not c.isprintable() or c.isspace() for c in value):
        raise UsageProblem(f"That is not a {args.key}. Nothing was changed.")
    if args.key == "url":
        value = checked_url(value, "the command line")
    write_value(path, args.key, value)
    context.terminal.say(f"Saved in {path}.")
    context.terminal.result({"file": str(path)})
    return 0


def _unset(context: Context) -> int:
    path = config_path(context.environ)
    write_value(path, context.args.key, None)
    context.terminal.say(f"Removed from {path}.")
    context.terminal.result({"file": str(path)})
    return 0


def _asked(context: Context) -> str:
    """A token is typed unseen, or piped in; it need not stand in the shell's history."""
    terminal = context.terminal
    if not terminal.interactive:
        return terminal.stdin.readline()
    try:
        return getpass.getpass("Token: ") if context.args.key == "token" else terminal.ask("URL: ")
    except EOFError:
        return ""
