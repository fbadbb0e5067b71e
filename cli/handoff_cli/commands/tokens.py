"""`handoff tokens`: list, create and revoke the user's tokens."""

from datetime import UTC, datetime, timedelta
from typing import Any

from handoff_cli.api.transport import Json
from handoff_cli.context import Context
from handoff_cli.errors import UsageProblem
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
        try:
            body["expires_at"] = (datetime.now(UTC) + timedelta(days=args.days)).isoformat()
        except OverflowError:
            raise UsageProblem("A token ends before the year 10000: name fewer --days. No token was created.") from None
    with context.service() as service:
        made = service.create_token(body)
    context.terminal.result(made)
    context.terminal.say(str(made["token"]))
    context.terminal.stderr.write(f"This is token {made['id']}. It is shown only once.\n")
    return 0


def revoke(context: Context) -> int:
    """Revoke a token by its id, and name or unlink the accounts that it has linked."""
    wanted, unlink, say = context.args.id, context.args.unlink, context.terminal.say
    if "." in wanted:  # proxies write URLs into their logs
        raise UsageProblem("Name the id of the token, not the token itself. `handoff tokens list` shows the ids.")
    with context.service() as service:
        accounts = service.revoke_token(wanted, unlink=unlink)
    context.terminal.result({"id": wanted, "revoked": True, "accounts": accounts, "unlinked": unlink})
    say(f"Revoked {wanted}. Requests with it are rejected from now on.")
    for each in accounts:
        say(f"{'Unlinked' if unlink else 'It has linked'}: {each['account']} on {each['platform']}")
    if accounts and not unlink:
        say(f"What is said from there is still yours. To unlink: {context.prog} tokens revoke {wanted} --unlink")
    return 0


def _row(token: Json, current: str) -> list[str]:
    return [
        ("* " if token["id"] == current else "  ") + str(token["id"]),
        ", ".join(token["scopes"]),
        f"used {token['last_used']}" if token.get("last_used") else "never used",
        f"until {token['expires_at'][:10]}" if token.get("expires_at") else "no end",
        one_line(str(token.get("label") or ""), _LABEL_WIDTH),
    ]
