"""`handoff install` and `handoff uninstall`: make an agent understand `/handoff`, or undo that."""

import json
import os
import re
import shutil
import sys
from contextlib import suppress
from pathlib import Path

from handoff_cli.context import Context
from handoff_cli.errors import CliError, Interrupted, UsageProblem
from handoff_cli.inside import MCP
from handoff_cli.inside.setup.files import Change, apply, difference
from handoff_cli.inside.setup.integrations import INTEGRATIONS, Integration
from handoff_cli.inside.setup.plan import Record, RecordFile, plan_install, plan_removal
from handoff_cli.ui.text import aligned

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,49}")
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def install(context: Context) -> int:
    """0 if the agent understands `/handoff` now; asks before it writes."""
    args, terminal = context.args, context.terminal
    if args.list:
        return _list(context)
    if args.agent is None:
        raise UsageProblem(f"Name an agent: {context.prog} install {' | '.join((*INTEGRATIONS, MCP))}")
    if args.agent == MCP:
        return _show_mcp(context)
    integration = INTEGRATIONS[args.agent]
    notify = _notify(context, integration)
    changes, record = plan_install(integration, context.environ, _program(context), notify)
    if changes:
        _confirm(context, changes)
        # Before the first change: if this process dies in between, `uninstall` still knows what was there.
        _remember(RecordFile.of(context.environ, integration.name), record)
        for change in changes:
            apply(change)
        terminal.say(f"{integration.title} understands {integration.typed} now. {integration.then}")
    else:
        terminal.say(f"It is installed already: type {integration.typed} in {integration.title}.")
    if notify is not None:
        terminal.say(_where_notices_go(context, notify))
    terminal.say(f"Undo it with: {context.prog} uninstall {integration.name}")
    return 0


def _remember(file: RecordFile, record: Record) -> None:
    try:
        file.write(record)
    except OSError as error:
        raise UsageProblem(
            f"The files as they are cannot be kept in {file.path.parent}: {error.strerror}. Nothing was changed."
        ) from error


def _notify(context: Context, integration: Integration) -> str | None:
    """The platform for notices, empty for any; None for no notices. Without an option it stays as it is."""
    if context.args.no_notify:
        return None
    asked: str | None = context.args.notify
    if asked is None:
        return integration.notified(context.environ)
    if not integration.notices:
        able = ", ".join(each.name for each in INTEGRATIONS.values() if each.notices)
        raise UsageProblem(f"{integration.title} has no hooks for notices; these have: {able}. Nothing was changed.")
    if asked and not _NAME.fullmatch(asked):
        raise UsageProblem(f"“{asked}” is not the name of a platform. Nothing was changed.")
    return asked


def _where_notices_go(context: Context, notify: str) -> str:
    """Where they will appear, or what is missing. The hooks are installed either way."""
    from handoff_cli.handoff.destination import check_destination  # noqa: PLC0415 - brings the HTTP client

    try:
        with context.service() as service:
            if notify:
                check_destination(service, notify, target=None)
            homes = [str(each["name"]) for each in service.platforms() if each["configured"] and each["home"]]
    except CliError as error:
        return f"Notices: {error}"
    if not homes:
        return "Notices: you have no home chat yet. Send /sethome to the bot in a chat."
    where = notify or homes[0]
    return f"When it needs you or is done, your home chat on {where} gets one line: at most one a minute."


def uninstall(context: Context) -> int:
    """0 if nothing of it is left; asks before it writes."""
    integration = INTEGRATIONS[context.args.agent]
    record = RecordFile.of(context.environ, integration.name)
    changes = plan_removal(integration, context.environ)
    if changes:
        _confirm(context, changes)
        for change in changes:
            apply(change)
    for folder in sorted(record.read().folders, key=len, reverse=True):
        with suppress(OSError):  # something else is in it by now
            Path(folder).rmdir()
    record.remove()
    what = f"{integration.title} is as it was before." if changes else f"Nothing of Handoff is in {integration.title}."
    context.terminal.say(what)
    return 0


def _confirm(context: Context, changes: list[Change]) -> None:
    """Show the changes and ask. Raises Interrupted if the user declines, UsageProblem if they cannot be asked."""
    terminal = context.terminal
    for change in changes:
        for line in difference(change, context.environ.get("HOME", "")):
            colour = _COLOURS.get(line[:1])
            terminal.say(terminal.style(line, colour) if colour else line)
    if context.args.yes:
        return
    if not terminal.interactive:
        raise UsageProblem("Nothing was changed. Run it again with --yes to make these changes.")
    if terminal.ask("Make these changes? [y/N] ").strip().lower() not in {"y", "yes"}:
        raise Interrupted("Nothing was changed.")


def _program(context: Context) -> tuple[str, ...]:
    """How hooks start this program: by an absolute path, because they may have another PATH."""
    if checkout := context.environ.get("HANDOFF_CHECKOUT"):
        return (str(Path(checkout) / "handoff"),)
    started = Path(sys.argv[0])
    if started.name == "handoff" and os.access(started, os.X_OK):
        return (str(started.absolute()),)
    # -P: a file in the current directory must not be imported.
    return (sys.executable, "-P", "-m", "handoff_cli")


def _list(context: Context) -> int:
    rows = [_row(context, integration) for integration in INTEGRATIONS.values()]
    for line in aligned([*rows, [MCP, "any other agent", f"{context.prog} install {MCP} prints its configuration"]]):
        context.terminal.say(line)
    return 0


def _row(context: Context, integration: Integration) -> list[str]:
    here = shutil.which(integration.program, path=context.environ.get("PATH", "")) is not None
    notify = integration.notified(context.environ)
    installed = not plan_install(integration, context.environ, _program(context), notify)[0]
    partly = RecordFile.of(context.environ, integration.name).path.exists()
    more = "" if notify is None else ", with notices"
    state = (
        f"installed: {integration.typed}{more}" if installed else "needs `install` again" if partly else "not installed"
    )
    return [integration.name, integration.title if here else f"{integration.title} (not found)", state]


def _show_mcp(context: Context) -> int:
    command, *options = [*_program(context), "mcp"]
    context.terminal.say("Add this to the MCP servers of your agent:")
    servers = {"mcpServers": {"handoff": {"command": command, "args": options}}}
    context.terminal.block(json.dumps(servers, indent=2) + "\n")
    context.terminal.say("For an agent whose sessions Handoff can read, add its name: `mcp --agent codex`.")
    return 0
