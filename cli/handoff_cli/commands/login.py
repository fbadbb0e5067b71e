"""`handoff login`: get the first token with the link that the bot has shown to a person who was invited."""

import getpass
import secrets
from urllib.parse import urlsplit, urlunsplit

from handoff_cli.api.client import Service
from handoff_cli.config.file import config_path, write_values
from handoff_cli.config.sources import Configuration, checked_url
from handoff_cli.context import Context
from handoff_cli.errors import UsageProblem

_PATH = "/login"


def login(context: Context) -> int:
    """Save the service's URL and the token in the config file. The link is read hidden: it is not an argument."""
    url, code = _parsed(context, _ask(context))
    path = config_path(context.environ)
    with Service(Configuration(url, None, "the link", None), sleep=context.sleep) as service:
        # Random, so that a repeat after a lost answer gives this client its token, and no other.
        made = service.login(code, secrets.token_urlsafe(32))
    write_values(path, {"url": url, "token": str(made["token"])})
    context.terminal.result({"user": made["user"], "url": url, "file": str(path)})
    context.terminal.say(
        f"You are {made['user']} at {url}. URL and token are saved in {path}, which only you can read."
    )
    context.terminal.say(f"Try it: {context.prog} chat")
    return 0


def _parsed(context: Context, text: str) -> tuple[str, str]:
    """The service's URL and the code."""
    parts = urlsplit(text)
    if not parts.fragment or not parts.path.endswith(_PATH):
        raise UsageProblem("This is not a login link: it has the form https://host/login#hl_… . Nothing was changed.")
    base = urlunsplit((parts.scheme, parts.netloc, parts.path.removesuffix(_PATH), "", ""))
    insecure = bool(getattr(context.args, "insecure", False))
    return checked_url(base, "the link", insecure=insecure), parts.fragment


def _ask(context: Context) -> str:
    terminal = context.terminal
    if not terminal.interactive:
        return terminal.stdin.readline().strip()
    try:
        return getpass.getpass("Paste the link that the bot sent you (it is not shown): ").strip()
    except EOFError:
        return ""
