"""Who will answer in the thread: the user's own agent on this machine, or the deployment's model."""

from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from handoff_cli.api.client import Service
from handoff_cli.api.transport import Json
from handoff_cli.context import Context
from handoff_cli.errors import CliError, Refused, UsageProblem
from handoff_cli.runner.agents import ACP, TABLE
from handoff_cli.runner.machine.files import state_directory
from handoff_cli.runner.machine.identity import known_identity
from handoff_cli.runner.machine.sessions import HandedOver, Sessions, first_id
from handoff_cli.transcripts.messages import Transcript


@dataclass(frozen=True)
class Answerer:
    """`runs_on` for the service, None for its model; a sentence for the user, if there was a choice; and the session's id.

    `is_known`: the service has this session of the agent from before.
    """

    runs_on: Json | None
    sentence: str
    session_id: str
    is_known: bool = False


def choose_answerer(context: Context, service: Service, transcript: Transcript, session_id: str) -> Answerer:
    """Decide, and note the session on this machine before the service knows it; `session_id` is for a new one.

    Raises UsageProblem if the user asked for their own agent and it cannot answer, Refused for a session of an agent
    that lives in a thread already.
    """
    # Hooks inside an agent hand over without a command line of their own.
    named = getattr(context.args, "native", None)
    agent, native_id = (ACP, named) if named else (transcript.source or "", transcript.native_id)
    sessions = Sessions(state_directory(context.environ))
    known = _known(service, sessions, agent, native_id) if native_id else None
    forced, title = getattr(context.args, "runner", None), TABLE[agent].title if agent in TABLE else "agent"
    if forced is False or (agent not in TABLE and agent != ACP):
        if forced:
            raise UsageProblem("--runner needs a session of your agent: name it with --from, or --native with its id.")
        return Answerer(None, "" if forced is None else "In the thread the deployment's model answers.", session_id)
    try:
        runner = _runner(context, service, agent, must_be_online=not forced) if native_id else None
    except CliError as problem:
        if forced:
            raise UsageProblem(str(problem)) from problem
        runner = None
    if runner is None or native_id is None:
        hint = "" if agent in TABLE and TABLE[agent].unsupported else f" To let your {title} answer: handoff run"
        return Answerer(None, f"In the thread the deployment's model answers.{hint}", session_id)
    directory = str(Path(transcript.cwd or context.directory).absolute())
    session_id = known or first_id(str(runner["id"]), agent, native_id)
    sessions.add(HandedOver(session_id, agent, native_id, directory, service.configuration.url))
    runs_on = {"runner": runner["id"], "agent": agent, "native_id": native_id}
    sentence = f"In the thread your own {title} on this machine answers (runner “{runner['name']}”)."
    return Answerer(runs_on, sentence, session_id, known is not None)


def _known(service: Service, sessions: Sessions, agent: str, native_id: str) -> str | None:
    """The id under which the service has a session of an agent. Raises Refused if that lives in a thread."""
    kept = None
    for entry in sessions.named(agent, native_id, service.configuration.url):
        try:
            session = service.session(entry.session_id)
        except Refused as refusal:
            if refusal.status != HTTPStatus.NOT_FOUND:
                raise
            sessions.remove(entry.session_id)
            continue
        if session["owner"] != "cli":
            where = session.get("link") or session["owner"]
            detail = f"That session lives in a thread already: {where} To take it back: handoff resume {session['id']}"
            raise Refused({"code": "moved", "detail": detail, "link": session.get("link")}, status=HTTPStatus.CONFLICT)
        kept = entry.session_id
    return kept


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
