"""Ask the service where a session is that was handed over from inside an agent."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice

from handoff_cli.api.client import Service
from handoff_cli.api.transport import Json
from handoff_cli.config.sources import load
from handoff_cli.context import Context
from handoff_cli.errors import CliError, Refused
from handoff_cli.inside.state import State
from handoff_cli.transcripts.messages import Message
from handoff_cli.ui.messages import text_of

_READ_SECONDS = 7.0  # a cold start takes seconds; the hook itself gives up after nine
_LOOKED_THROUGH = 100
_CONTEXT_LIMIT = 9000
_LONGEST = 3000


@dataclass(frozen=True)
class Here:
    """It is in the terminal and nothing happened elsewhere, or it never left."""


@dataclass(frozen=True)
class Elsewhere:
    """It is in a chat, or on the way to it."""

    session: Json


@dataclass(frozen=True)
class Returned:
    """It is in the terminal again. `state` says what the agent must do and get first."""

    state: State


@dataclass(frozen=True)
class Unknown:
    """The service could not say."""

    reason: str


Whereabouts = Here | Elsewhere | Returned | Unknown


def service_of(context: Context, url: str = "") -> Service:
    """A client that does not wait long; for the service at which the session is, if that is known. Raises CliError."""
    if not url:
        configuration = context.configuration()
    else:
        configuration = load(
            url=url, token=None, environ=context.environ, directory=context.directory, insecure=url.startswith("http:")
        )
    return Service(configuration, sleep=context.sleep, read_seconds=_READ_SECONDS)


def locate(context: Context, state: State) -> Whereabouts:
    """One cheap request. Raises nothing that the service or the network causes."""
    if state.phase == "back":
        return Returned(state)
    try:
        with service_of(context, state.url) as service:
            session = service.session(state.session_id)
            if session["owner"] != "cli" or session.get("active_handoff"):
                return Elsewhere(session)
            return came_back(service, session, state)
    except Refused as refusal:
        if refusal.status != 404:
            return Unknown(str(refusal))
        # Nothing was stored before the move broke off; or the session was deleted after it had been elsewhere.
        return Here() if state.phase == "moving" else Returned(_returned(state, reload=True))
    except CliError as error:
        return Unknown(str(error))


def came_back(service: Service, session: Json, state: State, *, is_loaded: bool = False) -> Here | Returned:
    """The news for the agent about a session that is in the terminal again. Raises CliError."""
    runs_on = session.get("runs_on")
    if not runs_on and session["message_count"] <= state.sent:
        return Here()
    # With a runner the agent answered in the chat itself; it has not seen what the deployment's model said there.
    seen = session.get("native_seen") if runs_on else state.sent
    after = seen if isinstance(seen, int) else int(session["message_count"])
    missed = list(service.messages(session["id"], after=max(after, state.sent)))
    return Returned(_returned(state, reload=bool(runs_on) and not is_loaded, context=_context(missed, state.platform)))


def find_elsewhere(service: Service, native_id: str) -> Json | None:
    """A session of this native id that was handed over with `handoff send`, and is in a chat now. Raises CliError."""
    for session in islice(service.sessions(), _LOOKED_THROUGH):
        runs_on = session.get("runs_on") or {}
        if runs_on.get("native_id") == native_id and session["owner"] != "cli":
            return session
    return None


def _returned(state: State, *, reload: bool, context: str = "") -> State:
    return replace(state, phase="back", reload=reload, context=context)


def _context(messages: Iterable[Message], platform: str) -> str:
    """The newest messages that fit, for the model; empty if there are none."""
    said: list[str] = []
    room = _CONTEXT_LIMIT
    for message in reversed([m for m in messages if m["role"] in {"user", "assistant"} and not m.get("internal")]):
        text = text_of(message.get("content")).strip()
        if not text:
            continue
        line = f"{'User' if message['role'] == 'user' else 'Assistant'}: {text[:_LONGEST]}"
        room -= len(line)
        if room < 0:
            said.append("(earlier messages are left out)")
            break
        said.append(line)
    if not said:
        return ""
    opening = f"While this session was in {platform or 'a chat'}, another model answered there, and this was said:"
    return "\n\n".join([opening, *reversed(said)])
