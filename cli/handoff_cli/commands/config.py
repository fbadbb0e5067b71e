"""`handoff config`: home chats on the service, and the config file of this machine."""

import getpass

from handoff_cli.config.file import config_path, write_values
from handoff_cli.config.sources import checked_url
from handoff_cli.context import Context
from handoff_cli.errors import UsageProblem


def home(context: Context) -> int:
    """Set the chat where handoffs to a platform arrive."""
    args, terminal = context.args, context.terminal
    with context.service() as service:
        saved = service.set_home(args.platform, args.chat)
    terminal.say(f"Handoffs to {saved['platform']} now arrive in {saved['chat']}.")
    terminal.result(saved)
    return 0


def show(context: Context) -> int:
    """Show the configuration and where it comes from."""
    terminal, found = context.terminal, context.configuration()
    path = config_path(context.environ)
    terminal.say(f"url    {found.url}  (from {found.url_from})")
    terminal.say(f"token  {f'set  (from {found.token_from})' if found.token else 'not set'}")
    terminal.say(f"file   {path}{'' if path.exists() else '  (does not exist)'}")
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


def set_value(context: Context) -> int:
    """Save the URL or the token in the config file."""
    args, path = context.args, config_path(context.environ)
    value = (args.value if args.value is not None else _ask(context)).strip()
    if not value or any(not c.isprintable() or c.isspace() for c in value):
        raise UsageProblem(f"This is not a valid {args.key}. Nothing was changed.")
    if args.key == "url":
        value = checked_url(value, "the command line", insecure=bool(getattr(args, "insecure", False)))
    write_values(path, {args.key: value})
    context.terminal.say(f"Saved in {path}.")
    context.terminal.result({"file": str(path)})
    return 0


def unset_value(context: Context) -> int:
    """Remove the URL or the token from the config file."""
    path = config_path(context.environ)
    write_values(path, {context.args.key: None})
    context.terminal.say(f"Removed from {path}.")
    context.terminal.result({"file": str(path)})
    return 0


def _ask(context: Context) -> str:
    """Ask for the value, or read it from stdin; a token is not echoed."""
    terminal = context.terminal
    if not terminal.interactive:
        return terminal.stdin.readline()
    try:
        return getpass.getpass("Token: ") if context.args.key == "token" else terminal.ask("URL: ")
    except EOFError:
        return ""
