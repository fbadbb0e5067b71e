"""Users of a deployment: add, list and remove users, their tokens and their accounts on platforms. For the operator."""

import argparse
import json
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from local.operate.deploy.aws import Account
from local.operate.deploy.problems import Stopped, explained
from shared.aws.files import S3Files
from shared.aws.tables import DynamoTables
from shared.domain.routes import Place
from shared.domain.tokens import FIRST, USUAL, Scope, Token, token_id
from shared.errors import RequestRefused
from shared.platforms import PLATFORMS
from shared.platforms.spec import PlatformSpec
from shared.store.bundle import Store, store_on
from shared.use_cases.people.authenticate import hash_of
from shared.use_cases.people.remove_user import remove_user
from shared.use_cases.people.tokens import issue_token, revoke_token

SUPPORTED = [spec for spec in PLATFORMS if spec.is_supported]
Rows = Sequence[Mapping[str, Any]]


def main(arguments: Sequence[str] | None = None, *, client: Any = None, s3: Any = None) -> int:
    """Change the tables with the AWS credentials of the environment."""
    asked = _parser().parse_args(arguments)
    asked.s3 = lambda: s3 or Account.of(profile=None, region=None).s3
    try:
        with explained("Check the names of the tables, too; it can be repeated."):
            tables = DynamoTables(client or _signed_in(), handoffs=asked.handoffs_table, sessions=asked.sessions_table)
            return COMMANDS[asked.command](store_on(tables), asked)
    except Stopped as stopped:
        return _refused(str(stopped))
    except RequestRefused as refused:
        return _refused(refused.message.partition(" List ")[0])
    except ValueError as refused:
        return _refused(f"{refused}. Nothing was added for that platform.")


def _signed_in() -> Any:
    account = Account.of(profile=None, region=None)
    sys.stderr.write(f"{account.line()}\n")
    return account.dynamodb


def _add_user(store: Store, asked: argparse.Namespace) -> int:
    _link_accounts(store, asked)
    return _add_token(store, asked)


def _identify(store: Store, asked: argparse.Namespace) -> int:
    _link_accounts(store, asked)
    return 0


def _link_accounts(store: Store, asked: argparse.Namespace) -> None:
    for spec in SUPPORTED:
        for account in getattr(asked, spec.name):
            store.accounts.add_identity(asked.user, spec.name, account)
    for home in asked.home:
        # Which chats are private is known here only where they have the id of their person; handoffs check the others.
        if store.accounts.user_of(home.platform, home.chat) not in (None, asked.user):
            raise ValueError(f"{home.route} is a private chat of another user")
        store.accounts.set_home(asked.user, home)


def _unidentify(store: Store, asked: argparse.Namespace) -> int:
    wanted = [(spec.name, account) for spec in SUPPORTED for account in getattr(asked, spec.name)]
    missing = [pair for pair in wanted if not store.accounts.remove_identity(asked.user, *pair)]
    for platform, account in missing:
        _refused(f"{asked.user} has no account {account} on {platform}, so nothing was unlinked there.")
    return 1 if missing else 0


def _list_users(store: Store, asked: argparse.Namespace) -> int:
    accounts = store.accounts
    rows = [
        {
            "user": user,
            "tokens": len(accounts.tokens(user)),
            "accounts": [f"{name} {one}" for name, some in accounts.all_identities(user).items() for one in some],
            "homes": [home.route for home in accounts.homes(user).values()],
        }
        for user in accounts.users()
    ]
    return _show(rows, asked)


def _remove_user(store: Store, asked: argparse.Namespace) -> int:
    if not (asked.handoffs_table and asked.files_bucket):
        return _refused(
            "Name the other table and the bucket as well: --handoffs-table, --files-bucket. Nothing was removed."
        )
    if not asked.yes:
        return _refused(f"This deletes {asked.user} with all sessions and transcripts. Add --yes if you mean it.")
    remove_user(store, S3Files(asked.s3(), asked.files_bucket), asked.user)
    sys.stderr.write(f"Removed {asked.user}. What is left in backups and logs: docs/data.md\n")
    return 0


def _list_tokens(store: Store, asked: argparse.Namespace) -> int:
    return _show([_token_row(token) for token in store.accounts.tokens(asked.user)], asked)


def _add_token(store: Store, asked: argparse.Namespace) -> int:
    now = time.time_ns() // 1_000_000
    expires_at = now + asked.days * 24 * 3600 * 1000 if asked.days else None
    scopes = frozenset(asked.scope) if asked.scope else FIRST if asked.command == "add-user" else USUAL
    issued = issue_token(store.accounts, asked.user, now=now, scopes=scopes, label=asked.label, expires_at=expires_at)
    if asked.json:
        return _show([{**_token_row(issued.token), "token": issued.plaintext}], asked)
    sys.stdout.write(f"{issued.plaintext}\n")
    sys.stderr.write("This is the token. It is shown only once. At the terminal: handoff config set token\n")
    return 0


def _revoke_token(store: Store, asked: argparse.Namespace) -> int:
    """By the user and the token's id, or by the token itself."""
    user, wanted = asked.user, asked.id
    if wanted is None:
        user, wanted = user.removeprefix("ho_").partition(".")[0], token_id(hash_of(asked.user))
    linked = revoke_token(store.accounts, user, wanted)
    sys.stderr.write("Revoked. Requests with this token are now rejected.\n")
    for each in linked:
        unlinking = f"unidentify {user} --{each.platform} {each.account}"
        sys.stderr.write(f"It has linked {each.account} on {each.platform}. To unlink it: {unlinking}\n")
    return 0


def _token_row(token: Token) -> Mapping[str, Any]:
    return {
        "id": token.id,
        "label": token.label,
        "scopes": sorted(scope.value for scope in token.scopes),
        "created": _day(token.created_at),
        "last_used": token.last_used,
        "expires": _day(token.expires_at),
    }


def _day(at: int | None) -> str | None:
    return datetime.fromtimestamp(at / 1000, UTC).date().isoformat() if at is not None else None


def _show(rows: Rows, asked: argparse.Namespace) -> int:
    """A table with aligned columns, or one JSON array."""
    if asked.json:
        sys.stdout.write(json.dumps(list(rows), indent=2) + "\n")
        return 0
    if not rows:
        sys.stderr.write("None.\n")
        return 0
    cells = [list(rows[0]), *([_cell(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        sys.stdout.write("  ".join(padded).rstrip() + "\n")
    return 0


def _cell(value: Any) -> str:
    return (", ".join(value) if isinstance(value, list) else str("" if value is None else value)) or "-"


def _refused(text: str) -> int:
    sys.stderr.write(f"{text}\n")
    return 1


COMMANDS: Mapping[str, Callable[[Store, argparse.Namespace], int]] = {
    "add-user": _add_user,
    "users": _list_users,
    "remove-user": _remove_user,
    "identify": _identify,
    "unidentify": _unidentify,
    "tokens": _list_tokens,
    "add-token": _add_token,
    "revoke-token": _revoke_token,
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m local.operate.admin", description=__doc__)
    parser.add_argument("--sessions-table", required=True, help="the stack's output SessionsTableName")
    parser.add_argument("--handoffs-table", default="", help="the stack's output HandoffsTableName, for remove-user")
    parser.add_argument("--files-bucket", default="", help="the stack's output FilesBucketName, for remove-user")
    parser.add_argument("--json", action="store_true", help="print one JSON array, for scripts")
    commands = parser.add_subparsers(dest="command", required=True)
    user, accounts, homes, rights = (argparse.ArgumentParser(add_help=False) for _ in range(4))
    user.add_argument("user", type=_user, help="a short id of your choice, such as anna")
    for spec in SUPPORTED:
        title = f"the user's id on {spec.title}"
        accounts.add_argument(
            f"--{spec.name}", action="append", default=[], type=_account_on(spec), metavar="ID", help=title
        )
    homes.add_argument("--home", action="append", default=[], type=_home, metavar="PLATFORM=CHAT")
    rights.add_argument("--label", default="", help="what the token is for")
    rights.add_argument(
        "--scope",
        action="append",
        type=Scope,
        choices=list(Scope),
        help="default: handoff, read, run; for add-user also link",
    )
    rights.add_argument("--days", type=int, help="how long it is valid; default: until it is revoked")
    commands.add_parser("add-user", parents=[user, accounts, homes, rights], help="add a user with a new token")
    commands.add_parser("users", help="list users")
    removal = commands.add_parser("remove-user", parents=[user], help="remove a user with everything that is theirs")
    removal.add_argument("--yes", action="store_true", help="delete, without this nothing happens")
    commands.add_parser("identify", parents=[user, accounts, homes], help="link accounts on platforms, and set homes")
    commands.add_parser("unidentify", parents=[user, accounts], help="unlink accounts on platforms")
    commands.add_parser("tokens", parents=[user], help="list a user's tokens")
    commands.add_parser("add-token", parents=[user, rights], help="issue another token")
    revoke = commands.add_parser("revoke-token", help="revoke a token by its user and id, or by the token itself")
    revoke.add_argument("user", metavar="USER|TOKEN")
    revoke.add_argument("id", nargs="?", metavar="ID")
    return parser


def _user(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", text):
        raise argparse.ArgumentTypeError("a user id has 1 to 64 letters, digits, - or _")
    return text


def _account_on(spec: PlatformSpec) -> Callable[[str], str]:
    def account(text: str) -> str:
        if not spec.is_person_id(text):
            raise argparse.ArgumentTypeError(f"{text!r} is not the id of a person on {spec.title}")
        return text

    return account


def _home(text: str) -> Place:
    platform, _, chat = text.partition("=")
    specs = {spec.name: spec for spec in SUPPORTED}
    if platform not in specs or not chat:
        raise argparse.ArgumentTypeError(f"write it as PLATFORM=CHAT, with one of {', '.join(specs)}")
    if not specs[platform].is_chat_id(chat):
        raise argparse.ArgumentTypeError(f"{chat!r} is not the id of a chat on {specs[platform].title}")
    return Place(platform, chat)


if __name__ == "__main__":
    sys.exit(main())
