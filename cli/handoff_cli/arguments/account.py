"""Commands about the service and your account: platforms, links, tokens, configuration."""

from typing import Any

from handoff_cli.arguments.parts import (
    DIRECTORY,
    PLATFORM,
    SESSION,
    add_argument,
    add_command,
    add_platform,
    add_stack,
    count,
)

SCOPES = ("handoff", "read", "run", "link", "admin")
SHELLS = ("bash", "zsh", "fish", "tcsh", "powershell")


def service(commands: Any) -> None:
    add_command(commands, "platforms", "List the platforms, their state and your home chats.", "link:platforms")
    text = "Check service, token, platforms and clock, and the data of a service on this machine; suggest fixes."
    doctor = add_command(commands, "doctor", text, "doctor:doctor")
    where = "the data directory of a service on this machine, if it is not the usual one"
    add_argument(doctor, "--data", metavar="DIR", completes=DIRECTORY, help=where)
    add_stack(doctor, "also ask AWS about this deployment, with your credentials")


def link(commands: Any) -> None:
    text = "Link your account on a chat platform with a code (needs the scope link); handoffs arrive there."
    link = add_command(commands, "link", text, "link:link")
    names = "default: the one that is set up"
    add_argument(link, "platform", metavar="PLATFORM", nargs="?", completes=PLATFORM, help=names)
    home = "let handoffs arrive in its chat with the bot even if they arrive elsewhere now"
    link.add_argument("--home", action="store_true", help=home)
    link.add_argument("--no-wait", action="store_true", help="do not wait until the code is used (nor does --json)")
    text = "Unlink your accounts on a platform (needs the scope link); what is said there is ignored from then on."
    add_platform(add_command(commands, "unlink", text, "link:unlink"))
    add_command(commands, "homes", "List where your handoffs arrive, and your linked accounts.", "link:homes")
    text = "Invite another person to this service with a code (needs the scopes admin and link)."
    invite = add_command(commands, "invite", text, "link:invite")
    invite.add_argument("name", metavar="NAME", help="a short name for them: letters, digits, - and _")
    add_argument(invite, "platform", metavar="PLATFORM", nargs="?", completes=PLATFORM, help=names)
    invite.add_argument("--no-wait", action="store_true", help="do not wait until the code is used (nor does --json)")
    text = "Get your token with the link that the bot sent you after an invitation; asks for the link, hidden."
    add_command(commands, "login", text, "login:login")


def tokens(commands: Any) -> None:
    tokens = add_command(commands, "tokens", "List, create or revoke your tokens.", "tokens:tokens", json_output=False)
    actions = tokens.add_subparsers(dest="action", metavar="ACTION", required=True)
    add_command(actions, "list", "List your tokens.", "tokens:tokens")
    new = add_command(actions, "new", "Create a token and show it once.", "tokens:new")
    new.add_argument("--label", metavar="L", default="", help="what the token is for")
    scopes = "may be repeated (default: as your own token, but neither link nor admin)"
    new.add_argument("--scope", action="append", choices=SCOPES, help=scopes)
    new.add_argument("--days", metavar="N", type=count, help="how long it is valid (default: until it is revoked)")
    text = "Revoke a token; requests with it fail from then on. Names the accounts that it has linked."
    revoke = add_command(actions, "revoke", text, "tokens:revoke")
    revoke.add_argument("id", metavar="ID", help="id of the token, as `handoff tokens list` shows it")
    accounts = "unlink these accounts, also when it is revoked already (needs the scope link)"
    revoke.add_argument("--unlink", action="store_true", help=accounts)


def config(commands: Any) -> None:
    config = add_command(commands, "config", "Show or change the configuration.", "config:show", json_output=False)
    actions = config.add_subparsers(dest="action", metavar="ACTION", required=True)
    add_command(actions, "show", "Show the configuration and where it comes from.", "config:show")
    setting = add_command(
        actions, "set", "Save the service's URL or your token in the config file.", "config:set_value"
    )
    setting.add_argument("key", choices=("url", "token"))
    setting.add_argument("value", nargs="?", help="default: ask, or read it from stdin")
    unset = add_command(actions, "unset", "Remove a value from the config file.", "config:unset_value")
    unset.add_argument("key", choices=("url", "token"))
    home = add_command(actions, "home", "Set the chat where handoffs to a platform arrive.", "config:home")
    add_platform(home)
    home.add_argument("chat", metavar="CHAT", help="id of the chat on that platform")


def completion(commands: Any) -> None:
    text = "Print a completion script for your shell."
    completion = add_command(commands, "completion", text, "completion:completion", json_output=False)
    completion.add_argument(
        "what",
        metavar="SHELL",
        choices=(*SHELLS, PLATFORM, SESSION),
        help=f"{', '.join(SHELLS)}; `{PLATFORM}` and `{SESSION}` print the names that the scripts complete",
    )
