"""Users of a deployment: add a user, issue or revoke a token, link accounts on platforms. For the operator."""

import argparse
import re
import sys
from collections.abc import Sequence
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from shared.aws.tables import DynamoTables
from shared.domain.routes import Place
from shared.platforms import PLATFORMS
from shared.ports.accounts import Accounts
from shared.store.accounts import TableAccounts
from shared.use_cases.people.authenticate import hash_of, new_token

SUPPORTED = [spec for spec in PLATFORMS if spec.is_supported]


def main(arguments: Sequence[str] | None = None, *, client: Any = None) -> int:
    """Change the Sessions table with the AWS credentials of the environment."""
    asked = _parser().parse_args(arguments)
    try:
        return _change(asked, client or boto3.client("dynamodb"))
    except (BotoCoreError, ClientError) as error:
        sys.stderr.write(f"AWS refused: {error}\nCheck region, credentials and the table's name, then try again.\n")
        return 1


def _change(asked: argparse.Namespace, dynamodb: Any) -> int:
    accounts = TableAccounts(DynamoTables(dynamodb, handoffs="", sessions=asked.sessions_table))
    if asked.command == "revoke-token":
        return _revoke(accounts, asked.token)
    try:
        _link_accounts(accounts, asked)
    except ValueError as refused:
        sys.stderr.write(f"{refused}. Nothing was added for that platform.\n")
        return 1
    if asked.command == "add-user":
        token = new_token(asked.user)
        accounts.add_token(asked.user, hash_of(token))
        sys.stdout.write(f"{token}\n")
        sys.stderr.write("This is the token. It is shown only once. At the terminal: handoff config set token\n")
    return 0


def _link_accounts(accounts: Accounts, asked: argparse.Namespace) -> None:
    for spec in SUPPORTED:
        for account in getattr(asked, spec.name):
            accounts.add_identity(asked.user, spec.name, account)
    for home in asked.home:
        accounts.set_home(asked.user, home)


def _revoke(accounts: Accounts, token: str) -> int:
    user_id = token.removeprefix("ho_").partition(".")[0]
    accounts.remove_token(user_id, hash_of(token))
    sys.stderr.write("Revoked. Requests with this token are now rejected.\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m local.operate.admin", description=__doc__)
    parser.add_argument("--sessions-table", required=True, help="the stack's output SessionsTableName")
    commands = parser.add_subparsers(dest="command", required=True)
    person = argparse.ArgumentParser(add_help=False)
    person.add_argument("user", type=_user, help="a short id of your choice, such as anna")
    for spec in SUPPORTED:
        person.add_argument(
            f"--{spec.name}", action="append", default=[], metavar="ID", help=f"the user's id on {spec.title}"
        )
    person.add_argument("--home", action="append", default=[], type=_home, metavar="PLATFORM=CHAT")
    commands.add_parser("add-user", parents=[person], help="add a user with a new token, or issue another token")
    commands.add_parser("identify", parents=[person], help="link a user's accounts on platforms, and set their homes")
    commands.add_parser("revoke-token", help="revoke a token").add_argument("token")
    return parser


def _user(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", text):
        raise argparse.ArgumentTypeError("a user id has 1 to 64 letters, digits, - or _")
    return text


def _home(text: str) -> Place:
    platform, _, chat = text.partition("=")
    names = [spec.name for spec in SUPPORTED]
    if platform not in names or not chat:
        raise argparse.ArgumentTypeError(f"write it as PLATFORM=CHAT, with one of {', '.join(names)}")
    return Place(platform, chat)


if __name__ == "__main__":
    sys.exit(main())
