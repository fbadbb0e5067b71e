"""The data of a deployment: its tables by their names, or by the name of the stack."""

import json
from pathlib import Path
from typing import Any

import pytest

from local.operate.data import main
from local.operate.deploy.aws import Account
from shared.store.bundle import Store
from tests.support.aws_session import Session, Stacks
from tests.support.tables import TableNames

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
