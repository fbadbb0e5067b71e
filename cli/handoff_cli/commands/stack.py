"""The checks of a deployment on AWS, for which AWS is asked with the operator's credentials."""

from collections.abc import Iterator

from handoff_cli import __version__
from handoff_cli.api.transport import Json
from handoff_cli.config.file import config_path, read_config
from handoff_cli.context import Context
from handoff_cli.errors import CliError
from handoff_cli.server_program import DEPLOY, ask_quietly, options


def stack_checks(context: Context) -> Iterator[Json]:
    """What AWS says about the stack that `--stack` names; nothing without it."""
    if getattr(context.args, "stack", None) is None:
        return
    fix = f"{context.prog} deploy --stack {context.args.stack}"
    given = options(vars(context.args), "stack", "region", "profile")
    try:
        code, found, problem = ask_quietly(context, DEPLOY, "check", f"--version={__version__}", *given)
    except CliError as error:
        yield {"name": "aws", "ok": False, "detail": str(error)}
        return
    if code != 0:
        yield {"name": "aws", "ok": False, "detail": problem, "fix": "aws sts get-caller-identity"}
        return
    yield from found["checks"]
    used = read_config(config_path(context.environ)).get("url")
    if found.get("url") and used != found["url"]:
        detail = f"this CLI uses {used or 'no service'}, the stack answers at {found['url']}"
        yield {"name": "config", "ok": None, "detail": detail, "fix": f"{fix} --switch"}
