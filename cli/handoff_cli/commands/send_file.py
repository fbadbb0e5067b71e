"""`handoff send-file`: a file into the thread in which an agent works in its directory."""

import os

from handoff_cli.context import Context
from handoff_cli.runner.machine.files import state_directory
from handoff_cli.runner.machine.send_file import send_file as ask


def send_file(context: Context) -> int:
    """Send it by way of the runner, which checks it. Raises NotSent."""
    args = context.args
    path = os.path.abspath(context.directory / args.path)  # noqa: PTH100 - links are not followed, the runner refuses them
    text = ask(state_directory(context.environ), path, args.caption or "", session=args.session or "")
    if args.json:
        context.terminal.result({"text": text})
    else:
        context.terminal.say(text)
    return 0
