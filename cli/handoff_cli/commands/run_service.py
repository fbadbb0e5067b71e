"""`handoff run --install`: let the runner start with its user."""

from handoff_cli.commands import user_service
from handoff_cli.commands.projects import ask_to_bring
from handoff_cli.config.file import config_path
from handoff_cli.config.local_env import data_directory
from handoff_cli.context import Context
from handoff_cli.errors import NotAccepted, UsageProblem
from handoff_cli.own_program import own_program
from handoff_cli.runner.machine.files import state_directory
from handoff_cli.service_unit.unit import ServiceUnit

NAME = "handoff-runner"


def install(context: Context) -> int:
    """Write the unit and say how to start it. Raises CliError."""
    _check_sources(context)
    installed = user_service.install(context, unit(context))
    say = context.terminal.say
    say(f"{'Wrote' if installed.is_changed else 'Unchanged:'} {installed.path}")
    say("Keys of agents that are set only in this terminal are not seen by it; agents that are logged in work.")
    user_service.tell_commands(context, installed, remove_with=f"{context.prog} run --uninstall")
    ask_to_bring(context)
    return 0


def unit(context: Context) -> ServiceUnit:
    """The runner with the options of this command line. It holds no token: the runner reads the config file."""
    args = context.args
    options = [f"--agent={name}" for name in args.agent or []] + ([f"--name={args.name}"] if args.name else [])
    command, needed = own_program("run", *options)
    return ServiceUnit(
        NAME,
        "Handoff runner",
        command,
        state_directory(context.environ),
        {**user_service.places(context.environ), **needed},
        final=(UsageProblem.exit_code, NotAccepted.exit_code),
    )


def _check_sources(context: Context) -> None:
    """The service must find URL and token in files: it sees neither this command line nor this terminal."""
    found = context.configuration()
    files = {str(config_path(context.environ)), str(data_directory(context.environ) / "env")}
    for key, source in (("url", found.url_from), ("token", found.token_from)):
        if source not in files:
            raise UsageProblem(
                f"The {key} comes from {source or 'nowhere'}, which a service does not see. Save it first: "
                f"handoff config set {key}"
            )
