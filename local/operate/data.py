"""Move the data of a deployment: export to a file, import from one. For the operator, with AWS credentials.

The same as `handoff data`, whose other side is a service on one machine.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from local.console import Console
from local.interruptible import interruptible
from local.transfer.commands import NotMoved, export_to, import_from
from shared.aws.tables import DynamoTables
from shared.errors import Conflict


def main(arguments: Sequence[str] | None = None, *, client: Any = None, cloudformation: Any = None) -> int:
    """Read or write the tables of a stack. Exit codes: 0 done, 1 failed or refused, 2 wrong usage."""
    os.umask(0o077)
    asked = _parser().parse_args(arguments)
    console = Console(is_json=asked.json)
    path: Path = asked.file.expanduser().absolute()
    try:
        tables = _tables(asked, client or boto3.client("dynamodb"), cloudformation)
        if asked.command == "import":
            return import_from(tables, path, console)
        return export_to(tables, path, console, now=time.time_ns() // 1_000_000, force=asked.force)
    except NotMoved as refused:
        return console.refuse(str(refused))
    except Conflict as conflict:
        return console.refuse(f"{conflict} Repeat the command: it goes on where it ended.")
    except (BotoCoreError, ClientError) as error:
        return console.refuse(f"AWS refused: {error} Check region, credentials and the stack's name, then repeat it.")
    except OSError as error:
        return console.refuse(f"{error.filename}: {error.strerror}.")


def _tables(asked: argparse.Namespace, client: Any, cloudformation: Any) -> DynamoTables:
    """Those that were named, or those of the stack. Raises NotMoved if it has none."""
    if asked.sessions_table and asked.handoffs_table:
        return DynamoTables(client, handoffs=asked.handoffs_table, sessions=asked.sessions_table)
    if not asked.stack:
        raise NotMoved("Name the stack, or both tables.")
    described = (cloudformation or boto3.client("cloudformation")).describe_stacks(StackName=asked.stack)["Stacks"][0]
    outputs = {output["OutputKey"]: output["OutputValue"] for output in described.get("Outputs", ())}
    try:
        return DynamoTables(client, handoffs=outputs["HandoffsTableName"], sessions=outputs["SessionsTableName"])
    except KeyError as missing:
        raise NotMoved(f"The stack {asked.stack} has no output {missing}. Is it one of Handoff?") from missing


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m local.operate.data", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    everywhere = argparse.ArgumentParser(add_help=False)
    everywhere.add_argument("file", type=Path)
    everywhere.add_argument("--stack", help="the name of the CloudFormation stack")
    everywhere.add_argument("--sessions-table", help="the stack's output SessionsTableName, instead of --stack")
    everywhere.add_argument("--handoffs-table", help="the stack's output HandoffsTableName, instead of --stack")
    everywhere.add_argument("--json", action="store_true", help="print one JSON value, for scripts")
    export = commands.add_parser("export", parents=[everywhere], help="write everything that lasts to a file")
    export.add_argument("--force", action="store_true", help="leave out what is under way instead of refusing")
    commands.add_parser("import", parents=[everywhere], help="write what a file holds, where nothing is yet")
    return parser


if __name__ == "__main__":
    sys.exit(interruptible(main, "Stopped. Repeat the command: an import goes on where it ended."))
