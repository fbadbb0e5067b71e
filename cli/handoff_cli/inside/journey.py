"""The way to the chat and back, as a hook goes it: at most some seconds, whatever the network does."""

import time
import uuid
from dataclasses import asdict

from handoff_cli.context import Context
from handoff_cli.errors import CliError
from handoff_cli.inside import texts
from handoff_cli.inside.events import Event
from handoff_cli.inside.move import Job
from handoff_cli.inside.notify import start_hook
from handoff_cli.inside.slash_command import SlashCommand
from handoff_cli.inside.state import State, StateFile
from handoff_cli.inside.whereabouts import Elsewhere, Here, Unknown, came_back, find_elsewhere, locate, service_of
from handoff_cli.runner.machine.files import state_directory as runner_directory
from handoff_cli.runner.way_back import let_go
from handoff_cli.sessions.bring_back import resume_session

_WAIT_SECONDS = 7.0
_LOOK_SECONDS = 0.05
_STOP_SECONDS = 3.0


def is_platform(context: Context, name: str) -> bool:
    """Does the service know a platform of this name? False if it cannot be asked."""
    try:
        with service_of(context) as service:
            return any(known["name"] == name and known["supported"] for known in service.platforms())
    except CliError:
        return False


def out(context: Context, event: Event, file: StateFile, state: State | None, command: SlashCommand) -> str:
    """Move the session. The move goes on if it takes longer than the hook may."""
    if state is not None and not state.is_moving:
        found = None if state.phase == "failed" else locate(context, state)
        if isinstance(found, Elsewhere):
            return texts.elsewhere(event, found.session)
        if isinstance(found, Unknown):
            return texts.cannot_check(state, file, found.reason)
        file.remove()
    new = State("moving", uuid.uuid4().hex, platform=command.platform, began=time.time())
    if file.create(new):
        transcript, directory = str(event.transcript or ""), str(event.directory)
        where = (command.platform, command.message)
        job = Job(event.agent, event.native_id, transcript, directory, new.session_id, *where)
        start_hook([event.agent, "--move"], asdict(job), context.environ)
    return _outcome(context, event, file, command)


def _outcome(context: Context, event: Event, file: StateFile, command: SlashCommand) -> str:
    until = context.clock() + _WAIT_SECONDS
    while context.clock() < until:
        state = file.read()
        if state is None:
            return texts.HERE
        if state.phase == "failed":
            file.remove()
            return texts.not_moved(state)
        if state.phase != "moving":
            return texts.moved(event, state)
        context.sleep(_LOOK_SECONDS)
    return texts.on_its_way(event, State("moving", "", platform=command.platform))


def back(context: Context, event: Event, file: StateFile, state: State | None) -> str:
    """Bring the session back, also one that `handoff send` moved. Raises CliError."""
    if state is not None and state.phase == "back":
        return texts.returned(event, state)
    if state is not None and state.phase == "failed":
        file.remove()
        return texts.not_moved(state)
    if state is not None and state.is_moving:
        return texts.on_its_way(event, state)
    with service_of(context, state.url if state else "") as service:
        session = service.session(state.session_id) if state else find_elsewhere(service, event.native_id)
        if session is None:
            return f"{texts.HERE} It was not moved."
        # Nothing was written since the agent has loaded the session here, not even the beginning of a turn.
        is_loaded = state is not None and state.loaded != "" and state.loaded == session.get("version")
        if session["owner"] != "cli" or session.get("active_handoff"):
            session = resume_session(service, session)
        known = state or State("away", session["id"], url=service.configuration.url, sent=int(session["message_count"]))
        found = came_back(service, session, known, is_loaded=is_loaded)
    is_free = _is_free(context, event)
    if isinstance(found, Here):
        file.remove()
        return "The session is here again. Nothing was said elsewhere."
    file.write(found.state)
    busy = "" if is_free or not found.state.reload else texts.still_busy()
    return texts.returned(event, found.state) + busy


def _is_free(context: Context, event: Event) -> bool:
    """Has the runner's agent released the session? Waits a little: it was asked to stop just now."""
    lock = let_go(runner_directory(context.environ), event.agent, event.native_id)
    until = context.clock() + _STOP_SECONDS
    while not lock.is_free():
        if context.clock() >= until:
            return False
        context.sleep(_LOOK_SECONDS)
    return True
