"""Move the data of a deployment: export to a file, import from one. For the operator, with AWS credentials.

The same as `handoff data`, whose other side is a service on one machine.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from local.console import Console
from local.interruptible import interruptible
from local.operate.deploy.aws import Account
from local.operate.deploy.owner import deployed
from local.operate.deploy.problems import Stopped, explained
from local.operate.deploy.settings import Settings
from local.transfer.commands import NotMoved, export_to, import_from
from shared.aws.files import S3Files
from shared.aws.tables import DynamoTables
from shared.errors import Conflict

_HOLDS = {"export": "Nothing was written.", "import": "What was written stays; a repeated import goes on there."}


def main(arguments: Sequence[str] | None = None, *, account: Account | None = None) -> int:
    """Read or write the tables of a stack. Exit codes: 0 done, 1 failed or refused, 2 wrong usage."""
    os.umask(0o077)
    asked = _parser().parse_args(arguments)
    console = Console(is_json=asked.json)
    path: Path = asked.file.expanduser().absolute()
    try:
        with explained(_HOLDS[asked.command]):
            account = account or Account.of(profile=asked.profile, region=asked.region)
            sys.stderr.write(f"{account.line()}\n")
            tables, files = _stores(asked, account)
            if asked.command == "import":
                return import_from(tables, path, console, files=files, yes=asked.yes)
            now = time.time_ns() // 1_000_000
            return export_to(tables, path, console, now=now, files=files, force=asked.force)
    except (NotMoved, Stopped) as refused:
        return console.refuse(str(refused))
    except Conflict as conflict:
        return console.refuse(f"{conflict} Repeat the command: it goes on where it ended.")
    except OSError as error:
        return console.refuse(f"{error.filename}: {error.strerror}.")


def _stores(asked: argparse.Namespace, account: Account) -> tuple[DynamoTables, S3Files | None]:
    """Those that were named, or those of the stack. Raises NotMoved or Stopped if it has none."""
    if asked.sessions_table and asked.handoffs_table:
        files = S3Files(account.client("s3"), asked.files_bucket) if asked.files_bucket else None
        return DynamoTables(account.dynamodb, handoffs=asked.handoffs_table, sessions=asked.sessions_table), files
    if not asked.stack:
        raise NotMoved("Name the stack, or both tables.")
    outputs = deployed(account, Settings(asked.stack, asked.region, asked.profile)).outputs
    tables = DynamoTables(
        account.dynamodb, handoffs=outputs["HandoffsTableName"], sessions=outputs["SessionsTableName"]
    )
    bucket = outputs.get("FilesBucketName")  # a stack of an earlier version has none
    return tables, S3Files(account.client("s3"), bucket) if bucket else None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m local.operate.data", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    everywhere = argparse.ArgumentParser(add_help=False)
    everywhere.add_argument("file", type=Path)
    everywhere.add_argument("--stack", help="the name of the CloudFormation stack")
    everywhere.add_argument("--region", help="default: AWS_REGION, AWS_DEFAULT_REGION, that of the profile")
    everywhere.add_argument("--profile", help="of the AWS CLI")
    everywhere.add_argument("--sessions-table", help="the stack's output SessionsTableName, instead of --stack")
    everywhere.add_argument("--handoffs-table", help="the stack's output HandoffsTableName, instead of --stack")
    everywhere.add_argument("--files-bucket", help="the stack's output FilesBucketName, beside the tables")
    everywhere.add_argument("--json", action="store_true", help="print one JSON value, for scripts")
    export = commands.add_parser("export", parents=[everywhere], help="write everything that lasts to a file")
    export.add_argument("--force", action="store_true", help="leave out what is under way instead of refusing")
    imported = commands.add_parser(
        "import", parents=[everywhere], help="write what a file holds, for users who are new"
    )
    imported.add_argument("--yes", action="store_true", help="do not ask; users, accounts and tokens are still named")
    return parser


if __name__ == "__main__":
    sys.exit(interruptible(main, "Stopped. Repeat the command: an import goes on where it ended."))
