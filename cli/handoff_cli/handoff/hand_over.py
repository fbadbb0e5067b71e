"""Request a handoff and wait for its end; Ctrl-C at any moment reports the state."""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from handoff_cli.api.client import Service
from handoff_cli.api.transport import Json
from handoff_cli.context import Context
from handoff_cli.errors import CliError, Interrupted, Refused
from handoff_cli.handoff.follow import Follower, Patience

_NOT_REQUESTED = "Stopped before the handoff was requested. The session stays here."


@contextmanager
def before_request() -> Iterator[None]:
    """Ctrl-C inside says that no handoff was requested."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(_NOT_REQUESTED) from None


def request(context: Context, service: Service, body: Mapping[str, Any]) -> Json:
    """Request the handoff, once even if retried. Raises Interrupted on Ctrl-C."""
    try:
        return service.request_handoff(body, key=uuid.uuid4().hex)
    except KeyboardInterrupt:
        # The request may have arrived: ask the service.
        known = _newest(service, str(body["session_id"]))
        if known is None or known["done"]:
            raise Interrupted(_NOT_REQUESTED) from None
        raise Interrupted(_left_running(context, known)) from None


def wait_for_end(context: Context, service: Service, handoff: Json, patience: Patience) -> Json:
    """Wait for the end. Ctrl-C offers to cancel at a terminal; elsewhere it leaves the handoff running."""
    follower = Follower(context, service)
    while True:
        try:
            return follower.follow(handoff, patience)
        except KeyboardInterrupt:
            context.terminal.clear_progress()
            if not context.terminal.interactive:
                raise Interrupted(_left_running(context, handoff)) from None
            answer = _ask(context)
            if answer == "l":
                raise Interrupted(_left_running(context, handoff)) from None
            if answer == "c":
                handoff = _cancel(context, service, handoff)


def _ask(context: Context) -> str:
    """c, l or w; a second Ctrl-C or end of input is l."""
    terminal = context.terminal
    terminal.say()
    while True:
        try:
            answer = terminal.ask("The handoff is still running. [c]ancel it, [l]eave it running, or [w]ait? ")
        except (KeyboardInterrupt, EOFError):
            return "l"
        if answer[:1].lower() in {"c", "l", "w"}:
            return answer[0].lower()


def _cancel(context: Context, service: Service, handoff: Json) -> Json:
    try:
        return service.cancel(handoff["id"])
    except Refused as refusal:
        context.terminal.say(context.terminal.style(str(refusal), "yellow"))
        return service.handoff(handoff["id"])


def _left_running(context: Context, handoff: Json) -> str:
    return f"Stopped waiting; the handoff continues. Check with: {context.prog} status {handoff['id']}"


def _newest(service: Service, session_id: str) -> Json | None:
    try:
        return next(iter(service.handoffs({"session_id": session_id})), None)
    except CliError:
        return None
