"""Show how a handoff ended, and compare the receipt."""

from collections.abc import Mapping
from typing import Any

from handoff_cli.api.transport import Json
from handoff_cli.config.sources import is_loopback
from handoff_cli.context import Context
from handoff_cli.errors import HandoffFailed
from handoff_cli.ui.qr_code import show_code


def report(context: Context, handoff: Json, *, digest: str | None = None) -> int:
    """Show the outcome and return the exit code: 1 if it failed or the receipt's digest is not `digest`."""
    terminal = context.terminal
    if handoff.get("error"):
        terminal.problem(failure(handoff))
        terminal.result(handoff)
        return HandoffFailed.exit_code
    if digest and (wrong := _mismatch(handoff.get("receipt") or {}, digest)):
        terminal.problem(f"{wrong} Bring the session back with: {context.prog} resume {handoff['session_id']}")
        terminal.result({**handoff, "error": {"code": "receipt_differs", "message": wrong}})
        return HandoffFailed.exit_code
    show_success(context, handoff, compared=digest is not None)
    terminal.result(handoff)
    return 0


def show_success(context: Context, handoff: Json, *, compared: bool) -> None:
    """Show receipt, notice, link and how to bring the session back."""
    terminal = context.terminal
    if receipt := handoff.get("receipt"):
        roles = receipt.get("by_role") or {}
        count = int(receipt.get("message_count") or sum(roles.values()))
        arrived = "The one message" if count == 1 else f"All {count} messages"
        equal = ", same digest on both sides" if compared else ""
        terminal.say(f"{arrived} arrived ({counts(roles)}{equal}).")
    if handoff.get("notice"):
        terminal.say(terminal.style(f"Note: {handoff['notice']}", "yellow"))
    if (handoff.get("session") or {}).get("shared"):
        terminal.say(
            "Shared: other people there that the service knows may talk to the agent. /share off there ends it."
        )
    if link := (handoff.get("thread") or {}).get("url"):
        here = "   (a simulated chat: open it on this machine)" if is_loopback(str(link)) else ""
        terminal.say(f"Continue here: {terminal.style(str(link), 'bold')}{here}")
        show_code(terminal, str(link))
    if handoff.get("resume_hint"):
        terminal.say(terminal.to_copy(str(handoff["resume_hint"])))


def failure(handoff: Json) -> str:
    """Why the handoff failed and where the session is now, in one line."""
    message = str(handoff["error"].get("message") or handoff["error"].get("code")).rstrip(". ")
    if "session" in message.lower():
        # The service's message says already where the session is.
        return f"The handoff failed: {message}."
    owner = (handoff.get("session") or {}).get("owner")
    where = "The session is intact in the terminal" if owner in {None, "cli"} else f"The session is at {owner}"
    return f"The handoff failed: {message}. {where}."


def counts(roles: Mapping[str, int]) -> str:
    """`20 user, 18 assistant, 2 tool`."""
    return ", ".join(f"{count} {role}" for role, count in roles.items())


def _mismatch(receipt: Mapping[str, Any], expected: str) -> str | None:
    """The defect of a receipt; None if its digest proves that everything arrived."""
    arrived = receipt.get("digest")
    if arrived == expected:
        return None
    return (
        f"The transcript did not arrive as it was sent: the service has {receipt.get('message_count', '?')} messages "
        f"with digest {arrived}, expected {expected}."
    )
