"""`handoff run`: answer turns of sessions that this machine handed over with the user's own agents."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from handoff_cli.context import Context
from handoff_cli.errors import CliError, NotAccepted
from handoff_cli.server_program import remedy

if TYPE_CHECKING:
    from handoff_cli.runner.agents.spec import Installed
    from handoff_cli.runner.machine.locks import Lock
    from handoff_cli.runner.settings import Settings

_EXTRA = "handoff-live[runner]"
SUPERVISOR, SERVICE = "HANDOFF_SUPERVISOR", "handoff up"
_LOOK_SECONDS = 0.5


def run(context: Context) -> int:
    """0 when it was stopped, 5 if the service does not accept it, else the code of the error."""
    if os.name != "posix":
        raise CliError("The runner works on Linux and macOS. On Windows, run it in WSL.")
    if find_spec("acp") is None:
        raise CliError(f"The runner is not installed, only the client. Install it: {remedy(Path(sys.prefix), _EXTRA)}")
    from handoff_cli.commands import run_service, user_service  # noqa: PLC0415 - rarely used

    if context.args.uninstall:
        # The runner's id and results that it has not delivered are kept.
        return user_service.remove(context, run_service.NAME)
    if context.args.install:
        _agents(context, _settings(context))
        return run_service.install(context)
    try:
        return _start(context)
    except NotAccepted as problem:
        if context.environ.get(SUPERVISOR) != "launchd":
            raise
        # launchd starts a failed program again, whatever its exit code, and that would not help.
        context.terminal.problem(str(problem))
        return 0


def _settings(context: Context) -> "Settings":
    from handoff_cli.runner.settings import read_settings  # noqa: PLC0415 - see below

    return read_settings(context.environ)


def _start(context: Context) -> int:
    import asyncio  # noqa: PLC0415 - slow to import

    from handoff_cli.inside.fence import fenced  # noqa: PLC0415 - see above
    from handoff_cli.runner.machine.files import state_directory  # noqa: PLC0415 - see above
    from handoff_cli.runner.machine.identity import identify  # noqa: PLC0415 - see above
    from handoff_cli.runner.machine.locks import runner_lock  # noqa: PLC0415 - see above
    from handoff_cli.runner.serve import serve  # noqa: PLC0415 - see above

    configuration = context.configuration()
    settings = _settings(context)
    agents = _agents(context, settings)
    state = state_directory(context.environ)
    supervised = context.environ.get(SUPERVISOR) == SERVICE
    with runner_lock(state) as lock:
        if not lock.acquire():
            if not supervised:
                raise CliError("A runner of this machine is running already. Stop it first, or let it work.")
            context.terminal.say("Another runner of this machine is running. This one waits until it ends.")
            _wait_for(lock)
        identity = identify(state, context.args.name)
        return asyncio.run(
            serve(context, configuration, identity, settings, agents, fence=fenced, supervised=supervised)
        )


def _wait_for(lock: "Lock") -> None:
    """Until the other runner has ended; it may be one whose service was killed. Raises CliError if ours ends first."""
    import select  # noqa: PLC0415 - see above

    while not lock.acquire():
        if select.select([sys.stdin], [], [], _LOOK_SECONDS)[0]:
            raise CliError("The service that started this runner has ended.")


def _agents(context: Context, settings: "Settings") -> "list[Installed]":
    """The agents that can be started. Raises CliError, with what mends it, if there is none."""
    from handoff_cli.runner.agents import TABLE, agent_named, custom  # noqa: PLC0415 - see above
    from handoff_cli.runner.agents.find import NotInstalled, usable_agents  # noqa: PLC0415 - see above

    own = {name: custom(name, command) for name, command in settings.commands.items() if name not in TABLE}
    named = [own.get(name) or agent_named(name) for name in context.args.agent or []]
    found, problems = usable_agents(named or [*TABLE.values(), *own.values()], context.environ, settings)
    if named and problems:
        raise problems[0]
    serious = [problem for problem in problems if not isinstance(problem, NotInstalled)]
    if not found:
        raise (serious or problems)[0]
    for problem in serious:
        context.terminal.warn(str(problem))
    return found
