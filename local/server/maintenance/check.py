"""`handoff doctor`, the part for a service on one machine: its directory, its database, its process. Changes nothing."""

import argparse
import os
from collections.abc import Iterator
from shlex import quote

from local.chats.real import RealBots
from local.console import Console
from local.options import faults
from local.server.directory import DataDirectory, Unusable
from local.server.maintenance import check_database, check_files, check_process
from local.server.maintenance.finding import Finding
from local.server.settings_file import read_settings
from local.server.state_file import read_state


def check(asked: argparse.Namespace, console: Console) -> int:
    """Print all findings; whether one of them is a failure, the caller decides."""
    program = os.environ.get("HANDOFF_PROG") or "handoff"
    found = [finding.shown() for finding in findings(DataDirectory.at(asked.data), program)]
    return console.done({"checks": found}, "\n".join(f"{each['name']}: {each['detail']}" for each in found))


def findings(directory: DataDirectory, program: str) -> Iterator[Finding]:
    """Every check, whether the service runs or not."""
    if not directory.path.is_dir():
        yield Finding("data", ok=False, detail=f"There is no {directory.path}.", fix=f"{program} up")
        return
    where = "" if directory.is_usual(os.environ) else f" --data {quote(str(directory.path))}"
    start = f"{program} up{where}"
    yield from check_files.modes(directory)
    yield check_files.disk(directory)
    try:
        process = directory.running()
    except Unusable as problem:
        yield Finding("process", ok=False, detail=str(problem), fix=f"chmod u+rw {quote(f'{directory.path}/lock')}")
        process = None
    yield from check_process.process(directory, process, start)
    yield from check_database.database(directory, f"{program} restore FILE{where}")
    yield from check_process.env(directory, process, start)
    yield from _settings(directory, process)
    state = read_state(directory.state, process) if process else {}
    yield from check_process.relays(state, program)
    yield from check_process.unused_bots(directory, state, process)
    yield check_files.log(directory)


def _settings(directory: DataDirectory, process: str | None) -> Iterator[Finding]:
    """The configuration in the file. The rest that a running process was given is in its state."""
    edit = f"${{EDITOR:-vi}} {quote(str(directory.settings))}"
    try:
        settings = read_settings(directory.settings)
    except Unusable as problem:
        yield Finding("settings", ok=False, detail=str(problem).replace(" Nothing was started.", ""), fix=edit)
        return
    wrong = [*faults(settings), *RealBots.from_environment(settings).faults()]
    if wrong:
        yield Finding("settings", ok=False, detail=" ".join(wrong), fix=edit)
    elif settings:
        bots = RealBots.from_environment(settings).platforms
        yield Finding("settings", ok=True, detail=f"{len(settings)} variables; bots: {', '.join(bots) or 'none'}")
    state = read_state(directory.state, process) if process else {}
    agent = state.get("agent") or settings.get("HANDOFF_AGENT") or "rehearsal"
    if agent == "rehearsal":
        detail = "Only the rehearsal agent is set up, which has no model. `handoff up --help` shows how to name one."
        yield Finding("agent", ok=None, detail=detail, fix=f"set HANDOFF_AGENT: {edit}")
