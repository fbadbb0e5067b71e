"""`handoff deploy` and `handoff destroy`: run the program that speaks with AWS, then let this CLI use the result."""

import getpass
import re
import socket
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from handoff_cli import __version__
from handoff_cli.commands.doctor import doctor
from handoff_cli.config.file import config_path, read_config, write_values
from handoff_cli.context import Context
from handoff_cli.errors import CliError
from handoff_cli.server_program import DEPLOY, ask_for_result, options

if TYPE_CHECKING:
    from handoff_cli.api.client import Service

_SEEN_SECONDS = 75.0
_PAUSE_SECONDS = 3.0
_PLACE = ("stack", "region", "profile", "settings", "json")
_FLAGS = (
    "user",
    "bundle",
    "snap_start",
    "yes",
    "dry_run",
    "policy",
    "new_token",
    "no_token",
    "switch",
    "take_webhooks",
)


def deploy(context: Context) -> int:
    """Exit codes are those of the program. What the doctor finds at the end is shown, and changes nothing about them."""
    args, path = context.args, config_path(context.environ)
    known = read_config(path)
    given = [*options(vars(args), *_PLACE, *_FLAGS, "replace_tables"), *(f"--set={one}" for one in args.set or ())]
    given += [f"--secret={one}" for one in args.secret or ()]
    if args.snap_start is False:
        given.append("--no-snap-start")
    if known.get("url") and known.get("token"):
        given.append(f"--known-url={known['url']}")
    given += [f"--default-user={_user()}", f"--machine={socket.gethostname()}", f"--version={__version__}"]
    code, result, _ = ask_for_result(context, DEPLOY, "apply", *given)
    token = result.pop("token", None)
    if token:
        write_values(path, {"url": result["url"], "token": token})
        context.terminal.say(f"This CLI uses it from now on: saved in {path}.")
    if code != 0 or args.dry_run or args.policy:
        if not args.policy:
            context.terminal.result(result)
        return code
    return examine(context, result, is_used=bool(token) or known.get("url") == result.get("url"))


def destroy(context: Context) -> int:
    """Exit codes are those of the program. A config file that names the removed service is changed."""
    given = options(vars(context.args), *_PLACE, "yes", "delete_data")
    code, result, _ = ask_for_result(context, DEPLOY, "destroy", *given)
    path = config_path(context.environ)
    if code == 0 and result.get("url") and read_config(path).get("url") == result["url"]:
        write_values(path, {"url": None, "token": None})
        context.terminal.say(f"Its URL and token are removed from {path}.")
    context.terminal.result(result)
    return code


def examine(context: Context, result: dict[str, Any], *, is_used: bool) -> int:
    """The doctor at the end, if this CLI uses the deployment; its result is part of that of the deploy."""
    if context.terminal.json_output or not is_used:
        context.terminal.result(result)
        if not is_used:
            context.terminal.say(f"To check it: {context.prog} doctor --stack {result['stack']}")
        return 0
    context.terminal.say()
    args = Namespace(**{**vars(context.args), "stack": result["stack"], "region": result["region"], "data": None})
    await_secrets(context, result.get("set_up") or [])
    if doctor(replace(context, args=args)) != 0:
        context.terminal.say(
            f"The deployment runs. What is still to do is above; check again: {context.prog} doctor --stack {args.stack}"
        )
    return 0


def await_secrets(context: Context, platforms: Sequence[str]) -> None:
    """Wait until the service knows these platforms: its functions look again for a missing secret after a minute.

    Says what it waits for. A service that does not answer is left to the doctor.
    """
    until, has_said = context.clock() + _SEEN_SECONDS, False
    try:
        with context.service() as service:
            while missing := _not_configured(service, platforms):
                if not has_said:
                    context.terminal.say(
                        f"Waiting until the functions that run have seen the secrets of {', '.join(missing)}: up to a minute ..."
                    )
                    has_said = True
                if context.clock() >= until:
                    again = f"{context.prog} platforms"
                    context.terminal.say(f"They have not yet. What is said below may be old; look again: {again}")
                    return
                context.sleep(_PAUSE_SECONDS)
    except CliError:
        return


def _not_configured(service: "Service", platforms: Sequence[str]) -> list[str]:
    if not platforms:
        return []
    known = {str(one["name"]) for one in service.platforms() if one.get("configured")}
    return [name for name in platforms if name not in known]


def _user() -> str:
    """The name of the first user if none was chosen: that of the account on this machine."""
    try:
        name = re.sub(r"[^A-Za-z0-9_-]", "", getpass.getuser())[:64]
    except (OSError, KeyError):
        name = ""
    return name if name and name != "root" else "owner"
