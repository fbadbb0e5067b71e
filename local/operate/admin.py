"""People of a deployment: add a user, give a token, say who they are on each platform. Run by the operator."""

import argparse
import re
import sys
from collections.abc import Sequence
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from shared.aws.accounts import DynamoAccounts
from shared.aws.tables import Tables, token_key
from shared.domain.routes import Place
from shared.ports.accounts import Accounts
from shared.use_cases.people.authenticate import hash_of, new_token

PLATFORMS = ("telegram", "slack", "discord")


def main(arguments: Sequence[str] | None = None, *, client: Any = None) -> int:
    """Change the Sessions table as asked, with the AWS credentials of whoever runs it."""
    asked = _parser().parse_args(arguments)
    try:
        return _change(asked, client or boto3.client("dynamodb"))
    except (BotoCoreError, ClientError) as error:
        sys.stderr.write(
            f"AWS did not do it: {error}\nCheck region, credentials and the table's name, then try again.\n"
        )
        return 1


def _change(asked: argparse.Namespace, dynamodb: Any) -> int:
    tables = Tables(dynamodb, handoffs="", sessions=asked.sessions_table)
    accounts = DynamoAccounts(tables)
    if asked.command == "revoke-token":
        return _revoke(tables, asked.token)
    try:
        _identify(accounts, asked)
    except ValueError as refused:
        sys.stderr.write(f"{refused}. Nothing was added for that platform.\n")
        return 1
    if asked.command == "add-user":
        token = new_token(asked.user)
        accounts.add_token(asked.user, hash_of(token))
        sys.stdout.write(f"{token}\n")
        sys.stderr.write("This is the token, shown once. At the terminal: handoff config set token\n")
    return 0


def _identify(accounts: Accounts, asked: argparse.Namespace) -> None:
    for platform in PLATFORMS:
        for person in getattr(asked, platform):
            accounts.add_identity(asked.user, platform, person)
    for home in asked.home:
        accounts.set_home(asked.user, home)


def _revoke(tables: Tables, token: str) -> int:
    user_id = token.removeprefix("ho_").partition(".")[0]
    tables.delete_all([token_key(user_id, hash_of(token))])
    sys.stderr.write("Revoked: the next request with it is refused.\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m local.operate.admin", description=__doc__)
    parser.add_argument("--sessions-table", required=True, help="the stack's output SessionsTableName")
    commands = parser.add_subparsers(dest="command", required=True)
    person = argparse.ArgumentParser(add_help=False)
    person.add_argument("user", type=_user, help="a short id of your choice, such as anna")
    for platform in PLATFORMS:
        person.add_argument(
            f"--{platform}", action="append", default=[], metavar="ID", help=f"the person's own id on {platform}"
        )
    person.add_argument("--home", action="append", default=[], type=_home, metavar="PLATFORM=CHAT")
    commands.add_parser("add-user", parents=[person], help="a new user with a fresh token, or another token for one")
    commands.add_parser("identify", parents=[person], help="who a user is on a platform, and where their home is")
    commands.add_parser("revoke-token", help="let a token no longer open anything").add_argument("token")
    return parser


def _user(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", text):
        raise argparse.ArgumentTypeError("a user id has 1 to 64 letters, digits, - or _")
    return text


def _home(text: str) -> Place:
    platform, _, chat = text.partition("=")
    if platform not in PLATFORMS or not chat:
        raise argparse.ArgumentTypeError(f"write it as PLATFORM=CHAT, with one of {', '.join(PLATFORMS)}")
    return Place(platform, chat)


if __name__ == "__main__":
    sys.exit(main())
