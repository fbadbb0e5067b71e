"""The data of a deployment: its tables by their names, or by the name of the stack."""

import json
import secrets
from pathlib import Path
from typing import Any

import pytest

from local.cloud.engine import Engine
from local.operate.data import main
from local.operate.deploy.aws import Account
from shared.aws.files import S3Files
from shared.store.bundle import Store
from tests.contracts.store.world import World
from tests.contracts.transfer.test_files import keep
from tests.support.aws_session import Session, Stacks
from tests.support.tables import TableNames, fresh_tables

ELSEWHERE = {"ApiUrl": "https://api.test", "SecretsPrefix": "/handoff"}


def test_a_stack_is_found_by_its_name(
    store: Store, dynamodb: Any, tables: TableNames, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store.accounts.add_token("anna", "a" * 64)
    stacks = Stacks({**ELSEWHERE, "HandoffsTableName": tables.handoffs, "SessionsTableName": tables.sessions})
    account = Account(Session(dynamodb=dynamodb, cloudformation=stacks))
    path = str(tmp_path / "export")

    exported = main(["export", path, "--stack", "handoff", "--json"], account=account)

    assert exported == 0
    assert json.loads(capsys.readouterr().out)["counts"]["users"] == 1
    names = ["--sessions-table", tables.sessions, "--handoffs-table", tables.handoffs]
    assert main(["import", path, *names, "--yes"], account=account) == 0
    assert "0 of 2 items were new" in capsys.readouterr().out


def test_bytes_of_files_move_from_a_bucket_and_into_one(
    store: Store, engine: Engine, tables: TableNames, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    s3, content = engine.client("s3"), bytes(range(256)) * 5_000
    old, new = (S3Files(s3, f"files-{secrets.token_hex(8)}") for _ in range(2))
    for files in (old, new):
        s3.create_bucket(Bucket=files._bucket)
    World(store).session("one")
    key = keep(store.sessions._tables, old, "one", content)
    names = {"HandoffsTableName": tables.handoffs, "SessionsTableName": tables.sessions}
    account = Account(
        Session(
            dynamodb=engine.client("dynamodb"),
            s3=s3,
            cloudformation=Stacks({**ELSEWHERE, **names, "FilesBucketName": old._bucket}),
        )
    )
    path = str(tmp_path / "export")

    assert main(["export", path, "--stack", "handoff", "--json"], account=account) == 0
    assert json.loads(capsys.readouterr().out)["counts"]["files"] == 1
    with fresh_tables(engine.client("dynamodb")) as target:
        given = [f"--sessions-table={target.sessions}", f"--handoffs-table={target.handoffs}"]
        assert main(["import", path, *given, "--yes"], account=account) == 1
        assert main(["import", path, *given, f"--files-bucket={new._bucket}", "--yes"], account=account) == 0

    assert b"".join(new.get(key)) == content


def test_errors_are_explained(dynamodb: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    account = Account(Session(dynamodb=dynamodb, cloudformation=Stacks(ELSEWHERE)))
    path = str(tmp_path / "export")
    names = ["--sessions-table", "no-such", "--handoffs-table", "no-such"]
    assert main(["export", path, *names], account=account) == 1
    assert "AWS refused" in capsys.readouterr().err
    assert main(["export", path, "--stack", "handoff"], account=account) == 1
    assert "not complete" in capsys.readouterr().err
    assert main(["import", path, "--stack", "handoff"], account=account) == 1
    assert main(["import", path], account=account) == 1
    assert "Name the stack" in capsys.readouterr().err
