"""Put one runner together and let it run."""

from handoff_cli.config.sources import Configuration
from handoff_cli.context import Context
from handoff_cli.runner.agents.spec import Installed
from handoff_cli.runner.clock import Clock
from handoff_cli.runner.machine.files import private_directory, state_directory
from handoff_cli.runner.machine.identity import Identity
from handoff_cli.runner.machine.journal import Journal
from handoff_cli.runner.machine.sessions import Sessions
from handoff_cli.runner.program import Program
from handoff_cli.runner.report import Report, open_log
from handoff_cli.runner.runner import Fence, Runner
from handoff_cli.runner.settings import Settings
from handoff_cli.runner.wire.service import RunnerService

_LOG = "runner.log"
# A service that stops within ten seconds waits for its runner first.
_SUPERVISED_CANCEL, _SUPERVISED_STOP = 1.5, 5.0


async def serve(
    context: Context,
    configuration: Configuration,
    identity: Identity,
    settings: Settings,
    agents: list[Installed],
    *,
    fence: Fence,
    supervised: bool = False,
) -> int:
    """Run until the user stops it, or until stdin ends if it is `supervised`. The caller holds the runner's lock.

    Raises CliError.
    """
    state = private_directory(state_directory(context.environ))
    report = Report(context.terminal, open_log(state / _LOG))
    names = ", ".join(f"{agent.spec.title} {agent.version}".strip() for agent in agents)
    context.terminal.say(f"Runner “{identity.name}” ({identity.id[:8]}) for {configuration.url}")
    context.terminal.say(f"Agents: {names}. Log: {state / _LOG}")
    for agent in agents:
        if agent.unattended:
            context.terminal.warn(
                f"{agent.spec.title} is not made to ask before each step (unattended = true in runner.toml): what is said in "
                "its threads may run on this machine at once. They cannot be shared."
            )
    context.terminal.say("Sessions handed over from this machine are answered here. Ctrl-C stops it.")
    async with RunnerService(configuration, identity.id) as service:
        runner = Runner(
            identity=identity,
            url=configuration.url,
            service=service,
            state=state,
            journal=Journal(state),
            sessions=Sessions(state),
            settings=settings,
            environ=context.environ,
            report=report,
            fence=fence,
            clock=Clock(cancel=_SUPERVISED_CANCEL, stop=_SUPERVISED_STOP) if supervised else Clock(),
        )
        return await Program(runner, agents, once=bool(context.args.once), supervised=supervised).run()
