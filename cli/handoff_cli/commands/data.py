"""`handoff backup`, `restore` and `data`: become the program that looks after the data of a service."""

from typing import NoReturn

from handoff_cli.context import Context
from handoff_cli.errors import UsageProblem
from handoff_cli.server_program import MAINTAIN, MAINTAIN_STACK, become, options


def backup(context: Context) -> NoReturn:
    """Write a consistent copy of the database. Returns only by raising CliError."""
    _maintain(context, "backup", "data", "force", "json")


def restore(context: Context) -> NoReturn:
    """Put a backup in the place of the database. Returns only by raising CliError."""
    _maintain(context, "restore", "data", "json")


def export_data(context: Context) -> NoReturn:
    """Write what lasts to a file, of this machine or of a deployment. Returns only by raising CliError."""
    _move(context, "export", "force", "json")


def import_data(context: Context) -> NoReturn:
    """Write what a file holds, on this machine or into a deployment. Returns only by raising CliError."""
    _move(context, "import", "yes", "json")


def _move(context: Context, command: str, *names: str) -> NoReturn:
    if context.args.stack is None:
        if context.args.region is not None or context.args.profile is not None:
            raise UsageProblem("--region and --profile are for a deployment on AWS: name it with --stack.")
        _maintain(context, command, "data", *names)
    if context.args.data is not None:
        raise UsageProblem("--data is on this machine, --stack on AWS: name one of them.")
    given = options(vars(context.args), "stack", "region", "profile", *names)
    become(context, MAINTAIN_STACK, command, *given, "--", context.args.file)


def _maintain(context: Context, command: str, *names: str) -> NoReturn:
    given = options(vars(context.args), *names)
    become(context, MAINTAIN, command, *given, "--", context.args.file)
