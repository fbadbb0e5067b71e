"""`handoff tokens`: list, create and revoke the user's tokens."""

from datetime import UTC, datetime, timedelta
from typing import Any

from handoff_cli.api.transport import Json
from handoff_cli.context import Context
from handoff_cli.ui.text import aligned, one_line

_LABEL_WIDTH = 40


def tokens(context: Context) -> int:
    """List the tokens; the one in use is marked."""
    with context.service() as service:
        found = service.tokens()
    context.terminal.result(found["tokens"])
    for line in aligned([_row(token, found["current"]) for token in found["tokens"]]):
        context.terminal.say(line)
    return 0


def new(context: Context) -> int:
    """Create a token. Only the token itself goes to stdout."""
    args = context.args
    body: dict[str, Any] = {"label": args.label}
    if args.scope:
        body["scopes"] = args.scope
    if args.days:
        body["expires_at"] = (datetime.now(UTC) + timedelta(days=args.days)).isoformat()
    with context.service() as service:
        made = service.create_token(body)
    context.terminal.result(made)
    context.terminal.say(str(made["token"]))
    context.terminal.stderr.write(f"This is token {made['id']}. It is shown only once.\n")
    return 0


def revoke(context: Context) -> int:
    """Revoke a token by its id."""
    with context.service() as service:
        service.revoke_token(context.args.id)
    context.terminal.result({"id": context.args.id, "revoked": True})
    context.terminal.say(f"Revoked {context.args.id}. Requests with it are rejected from now on.")
    return 0


def _row(token: Json, current: str) -> list[str]:
    return [
        ("* " if token["id"] == current else "  ") + str(token["id"]),
        ", ".join(token["scopes"]),
        f"used {token['last_used']}" if token.get("last_used") else "never used",
        f"until {token['expires_at'][:10]}" if token.get("expires_at") else "no end",
        one_line(str(token.get("label") or ""), _LABEL_WIDTH),
    ]
