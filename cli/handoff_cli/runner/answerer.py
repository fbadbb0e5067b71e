"""Who will answer in the thread: the user's own agent on this machine, or the deployment's model."""

from dataclasses import dataclass
from pathlib import Path

from handoff_cli.api.client import Service
from handoff_cli.api.transport import Json
from handoff_cli.context import Context
from handoff_cli.errors import CliError, UsageProblem
from handoff_cli.runner.agents import ACP, TABLE
from handoff_cli.runner.machine.files import state_directory
from handoff_cli.runner.machine.identity import known_identity
from handoff_cli.runner.machine.sessions import HandedOver, Sessions
from handoff_cli.transcripts.messages import Transcript


@dataclass(frozen=True)
class Answerer:
    """`runs_on` for the service, None for its model; and a sentence for the user."""

    runs_on: Json | None
    sentence: str


def choose_answerer(context: Context, service: Service, transcript: Transcript, session_id: str) -> Answerer | None:
    """Decide, and note the session on this machine before the service knows it; None if no agent could answer.

    Raises UsageProblem if the user asked for their own agent and it cannot answer.
    """
    # Hooks inside an agent hand over without a command line of their own.
    named = getattr(context.args, "native", None)
    agent, native_id = (ACP, named) if named else (transcript.source or "", transcript.native_id)
    forced, title = getattr(context.args, "runner", None), TABLE[agent].title if agent in TABLE else "agent"
    if forced is False or (agent not in TABLE and agent != ACP):
        if forced:
            raise UsageProblem("--runner needs a session of your agent: name it with --from, or --native with its id.")
        return None if forced is None else Answerer(None, "In the thread the deployment's model answers.")
    try:
        runner = _runner(context, service, agent, must_be_online=not forced) if native_id else None
    except CliError as problem:
        if forced:
            raise UsageProblem(str(problem)) from problem
        runner = None
    if runner is None or native_id is None:
        hint = "" if agent in TABLE and TABLE[agent].unsupported else f" To let your {title} answer: handoff run"
        return Answerer(None, f"In the thread the deployment's model answers.{hint}")
    directory = str(Path(transcript.cwd or context.directory).absolute())
    entry = HandedOver(session_id, agent, native_id, directory, service.configuration.url)
    Sessions(state_directory(context.environ)).add(entry)
    runs_on = {"runner": runner["id"], "agent": agent, "native_id": native_id}
    return Answerer(runs_on, f"In the thread your own {title} on this machine answers (runner “{runner['name']}”).")


def _runner(context: Context, service: Service, agent: str, *, must_be_online: bool) -> Json:
    """This machine's runner, as the service knows it. Raises CliError if it cannot answer for this agent."""
    mine = known_identity(state_directory(context.environ))
    if mine is None:
        raise CliError("This machine has no runner yet. Start it with: handoff run")
    found = next((runner for runner in service.runners() if runner["id"] == mine.id), None)
    if found is None or found.get("revoked"):
        raise CliError("The service does not know this machine's runner, or it was revoked. Start it with: handoff run")
    if agent not in [known.get("name") for known in found.get("agents") or []]:
        raise CliError(f"The runner of this machine does not run {agent}. Start it with: handoff run --agent {agent}")
    if must_be_online and not found.get("online"):
        raise CliError("The runner of this machine is not on. Start it with: handoff run")
    return found
