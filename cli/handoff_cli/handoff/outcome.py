"""Says how a handoff ended, and checks the receipt."""

from handoff_cli.api.transport import Json
from handoff_cli.context import Context
from handoff_cli.errors import HandoffFailed
from handoff_cli.handoff import receipt
from handoff_cli.ui.qr_code import show_code


def report(context: Context, handoff: Json, *, digest: str | None = None) -> int:
    """Shows link, receipt and way back; 1 if it failed or the receipt differs from `digest`."""
    terminal = context.terminal
    if handoff.get("error"):
        terminal.problem(failure(handoff))
        terminal.result(handoff)
        return HandoffFailed.exit_code
    if digest and (wrong := receipt.mismatch(handoff.get("receipt") or {}, digest)):
        terminal.problem(f"{wrong} Bring it back with: {context.prog} resume {handoff['session_id']}")
        terminal.result({**handoff, "error": {"code": "receipt_differs", "message": wrong}})
        return HandoffFailed.exit_code
    show_success(context, handoff, compared=digest is not None)
    terminal.result(handoff)
    return 0


def show_success(context: Context, handoff: Json, *, compared: bool) -> None:
    """Receipt, notice, link and the way back, in the order in which a person needs them."""
    terminal = context.terminal
    if proof := handoff.get("receipt"):
        equal = ", digest equal on both sides" if compared else ""
        count = _count(proof)
        arrived = "The one message" if count == 1 else f"All {count} messages"
        terminal.say(f"{arrived} arrived ({receipt.counted(proof.get('by_role') or {})}{equal}).")
    if handoff.get("notice"):
        terminal.say(terminal.style(f"Note: {handoff['notice']}", "yellow"))
    if link := (handoff.get("thread") or {}).get("url"):
        terminal.say(f"Go on here: {terminal.style(str(link), 'bold')}")
        show_code(terminal, str(link))
    if handoff.get("resume_hint"):
        terminal.say(terminal.to_copy(str(handoff["resume_hint"])))


def failure(handoff: Json) -> str:
    """Why it did not work, and where the session is now, in one line."""
    message = str(handoff["error"].get("message") or handoff["error"].get("code")).rstrip(". ")
    if "session" in message.lower():
        # The service has said already where the session is.
        return f"The handoff did not work: {message}."
    owner = (handoff.get("session") or {}).get("owner")
    where = "The session is intact in the terminal" if owner in {None, "cli"} else f"The session lives at {owner}"
    return f"The handoff did not work: {message}. {where}."


def _count(proof: Json) -> int:
    return int(proof.get("message_count") or sum((proof.get("by_role") or {}).values()))
