"""The server as a program: options, messages, signals, exit codes."""

import os.path
import shlex
import sys
import time
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import replace
from pathlib import Path

from local.chats.real import RealBots
from local.interruptible import RESTART, heed_stops, is_stop_wanted, wait_for_signal
from local.options import faults
from local.paths import ROOT
from local.server.directory import Refused, Unusable
from local.server.http import LIMITS
from local.server.http_connections import raise_file_limit
from local.server.logs import hide, log_to
from local.server.options import Invalid, parse
from local.server.own_agent import own_agent
from local.server.service import Address, Server
from local.server.settings_file import read_settings
from shared.agents.registry import describe
from shared.errors import DataFileCorrupt, DataFileError, DataFileForeign, DataFileNewer

EXAMPLE = ROOT / "examples" / "session.jsonl"  # in a checkout only
STOPPED, CANNOT_START, WRONG_USAGE, REFUSED = 0, 1, 2, 3
START_AGAIN = -1
PORT_AGAIN = "HANDOFF_PORT_AGAIN"
"""Set for a restart in the same process, whose clients know the port."""
FINAL = (Refused, DataFileCorrupt, DataFileForeign, DataFileNewer)
"""A supervisor must not start it again: only a person can change what is wrong."""
SUPERVISOR = "HANDOFF_SUPERVISOR"


def run(arguments: Sequence[str], environment: MutableMapping[str, str], started: float, *, umask: int = -1) -> int:
    """Run until SIGINT or SIGTERM, or until a restart is wanted (START_AGAIN). Adds the settings to the environment.

    `umask` is the user's, for what agents write; -1 is that of this process. Raises KeyboardInterrupt while it starts.
    """
    code = _run(arguments, environment, started, umask)
    # launchd starts everything again that fails, whatever its code is.
    return STOPPED if code in (WRONG_USAGE, REFUSED) and _is_under_launchd(environment) else code


def _run(arguments: Sequence[str], environment: MutableMapping[str, str], started: float, umask: int) -> int:
    try:
        options = parse(arguments, environment)
        for name, value in read_settings(options.directory.settings).items():
            environment.setdefault(name, value)
    except (Invalid, Refused) as invalid:
        return _refuse(str(invalid), WRONG_USAGE)
    if wrong := [*faults(environment), *RealBots.from_environment(environment).faults()]:
        return _refuse("\n".join(wrong), WRONG_USAGE)
    server = Server(options.directory, environment, _address(options.address, environment))
    try:
        options.directory.create()
        _log_to(options.directory.log, environment)
        raise_file_limit(LIMITS)
        server.start()
    except (Unusable, DataFileError) as problem:
        return _refuse(str(problem), REFUSED if isinstance(problem, FINAL) else CANNOT_START)
    url, token = server.url, server.tokens["owner"]
    runner = own_agent(environment, url=url, token=token, umask=umask) if options.runs_agents else None
    try:
        hide(server.secret_texts)
        heed_stops()  # before it says that it is ready: a stop is no interruption then
        _say(_greeting(server, environment, runner.agents if runner else [], time.monotonic() - started))
        if runner:
            runner.start()
        port = server.http.port
        is_restart = wait_for_signal() == RESTART
        _say("\nRestarting ..." if is_restart else "\nStopping ...")
    finally:
        began = time.monotonic()
        if runner:
            runner.stop()  # before the service, which takes its last answer
        server.stop(began=began)
    if is_restart and not is_stop_wanted():
        environment[PORT_AGAIN] = str(port)
        return START_AGAIN
    _say(f"Stopped. Everything is kept in {options.directory.path}.")
    return STOPPED


def _address(asked: Address, environment: MutableMapping[str, str]) -> Address:
    """As asked for; after a restart with the port of before, if any would do."""
    before = environment.pop(PORT_AGAIN, "")
    return replace(asked, port=None, usual_port=int(before)) if before.isdigit() and not asked.port else asked


def _is_under_launchd(environment: Mapping[str, str]) -> bool:
    return environment.get(SUPERVISOR) == "launchd"


def _log_to(path: Path, environment: Mapping[str, str]) -> None:
    has_reader = not _is_under_launchd(environment)  # what launchd keeps of stderr grows without limit
    try:
        log_to(path, environment.get("LOG_LEVEL") or "INFO", to_terminal=has_reader)
    except OSError as error:
        raise Unusable(f"{path} cannot be written: {error.strerror}. Nothing was started.") from error


def _refuse(problem: str, code: int) -> int:
    sys.stderr.write(f"{problem}\n")
    return code


def _greeting(server: Server, environment: Mapping[str, str], agents: Sequence[str], seconds: float) -> str:
    """The addresses, and the commands to copy."""
    simulated = server.chats.simulator
    if simulated:
        platform = next(iter(server.chats.platform_urls()))
        chats = f"  Chats  {simulated.url}   (simulated, because no bot is set up: open it in a browser)\n"
    else:
        platform = server.bots.platforms[0]
        chats = "".join(f"  Chats  {line}\n" for line in server.bots.described(server.store))
    commands = "\n".join(f"  {line}" for line in _commands(server, environment, agents, platform))
    return f"""\
Ready in {seconds:.1f} s. Agent: {describe(server.engine.services.settings)}.

  API    {server.url}
{chats}  Data   {server.directory.path}

Hand a session over, from another terminal:

{commands}

Ctrl-C stops it; sessions, threads and tokens are kept. Events:
"""


def _commands(server: Server, environment: Mapping[str, str], agents: Sequence[str], platform: str) -> Iterator[str]:
    """The command to type in another terminal. Clients find the usual directory only."""
    program = environment.get("HANDOFF_PROG") or "./handoff"
    if not server.directory.is_usual(environment):
        yield f"set -a; . {shlex.quote(str(server.directory.path / 'env'))}; set +a"
    if EXAMPLE.is_file():
        yield f"{program} send {platform} --transcript {shlex.quote(os.path.relpath(EXAMPLE))}"
    else:
        yield f"{program} chat     # talk, then: /handoff {platform}"
        yield f"{program} send {platform} --transcript FILE"
    if server.chats.simulator:
        yield f"{program} setup {platform}     # your own bot in place of the simulated chats"
    if agents:
        yield f"{program} send {platform} --from {agents[0]}     # in its directory; your own agent answers in the thread"


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
