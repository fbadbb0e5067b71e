"""`/handoff`: check in order, each refusal with what to do; then move, and step aside."""

from collections.abc import Callable

from handoff_cli.chat.conversation import Conversation
from handoff_cli.context import Context
from handoff_cli.errors import UsageProblem
from handoff_cli.following import Patience
from handoff_cli.handing_over import request, see_through
from handoff_cli.outcome import report
from handoff_cli.service import Json


def move(context: Context, conversation: Conversation, argument: str) -> bool:
    """True once the session lives in the chat. Raises CliError with the reason; the session is then intact here."""
    words = argument.split()
    platforms = conversation.service.platforms() if words else []
    for check in _CHECKS:
        check(words, platforms, context.prog)
    session = conversation.refresh() or conversation.ensure()
    if session.get("turn_running"):
        raise UsageProblem("The agent is still answering. Wait for its reply, then /handoff again.")
    digest = conversation.digest()
    body: Json = {"session_id": session["id"], "platform": words[0].lower(), "epoch": session["epoch"]}
    context.terminal.say(f"Handing over to {words[0].lower()}")
    handoff = request(context, conversation.service, {**body, "target": words[1]} if len(words) > 1 else body)
    handoff = see_through(context, conversation.service, handoff, Patience())
    if handoff.get("error"):
        # A handoff that came back has moved the session there and here again: the newer epoch is ours.
        conversation.session = conversation.service.session(session["id"])
    return report(context, handoff, digest=digest) == 0


def _usage(words: list[str], _platforms: list[Json], _prog: str) -> None:
    if not words or len(words) > 2:
        raise UsageProblem("Where to? Say /handoff telegram (or slack, discord); a chat other than home may follow.")


def _known(words: list[str], platforms: list[Json], _prog: str) -> None:
    if _named(words, platforms) is None:
        names = ", ".join(str(platform["name"]) for platform in platforms if platform["supported"])
        raise UsageProblem(f"There is no platform “{words[0]}”. Use one of: {names}.")


def _supported(words: list[str], platforms: list[Json], _prog: str) -> None:
    if not (_named(words, platforms) or {}).get("supported"):
        names = ", ".join(str(platform["name"]) for platform in platforms if platform["supported"])
        raise UsageProblem(f"{words[0]} is not supported yet. Use one of: {names}.")


def _configured(words: list[str], platforms: list[Json], prog: str) -> None:
    if not (_named(words, platforms) or {}).get("configured"):
        raise UsageProblem(f"{words[0]} is not configured: the service has no bot for it. `{prog} doctor` says more.")


def _has_home(words: list[str], platforms: list[Json], prog: str) -> None:
    if len(words) == 1 and not (_named(words, platforms) or {}).get("home"):
        raise UsageProblem(
            f"No home on {words[0]} yet. Say /sethome in the chat you want, or run `{prog} config home {words[0]} CHAT`."
        )


_CHECKS: tuple[Callable[[list[str], list[Json], str], None], ...] = (_usage, _known, _supported, _configured, _has_home)


def _named(words: list[str], platforms: list[Json]) -> Json | None:
    return next((platform for platform in platforms if platform["name"] == words[0].lower()), None)
