"""The data of a deployment: its tables by their names, or by the name of the stack."""

import json
from pathlib import Path
from typing import Any

import pytest

from local.operate.data import main
from shared.store.bundle import Store
from tests.support.tables import TableNames


class Stacks:
    """What CloudFormation tells of one stack."""

    def __init__(self, outputs: dict[str, str]) -> None:
        self._outputs = [{"OutputKey": name, "OutputValue": value} for name, value in outputs.items()]

    def describe_stacks(self, StackName: str) -> dict[str, Any]:  # noqa: N803  # as boto3 calls it
        assert StackName == "handoff"
        return {"Stacks": [{"Outputs": self._outputs}]}


def test_a_stack_is_found_by_its_name(
    store: Store, dynamodb: Any, tables: TableNames, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store.accounts.add_token("anna", "a" * 64)
    stacks = Stacks({"HandoffsTableName": tables.handoffs, "SessionsTableName": tables.sessions})
    path = str(tmp_path / "export")

    exported = main(["export", path, "--stack", "handoff", "--json"], client=dynamodb, cloudformation=stacks)

    assert exported == 0
    assert json.loads(capsys.readouterr().out)["counts"]["users"] == 1
    names = ["--sessions-table", tables.sessions, "--handoffs-table", tables.handoffs]
    assert main(["import", path, *names], client=dynamodb) == 0
    assert "0 of 2 items were new" in capsys.readouterr().out


def test_errors_are_explained(dynamodb: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "export")
    names = ["--sessions-table", "no-such", "--handoffs-table", "no-such"]
    assert main(["export", path, *names], client=dynamodb) == 1
    assert "AWS refused" in capsys.readouterr().err
    assert main(["export", path, "--stack", "handoff"], client=dynamodb, cloudformation=Stacks({})) == 1
    assert "no output 'HandoffsTableName'" in capsys.readouterr().err
    assert main(["import", path, "--stack", "handoff"], client=dynamodb, cloudformation=Stacks({})) == 1
    assert main(["import", path], client=dynamodb) == 1
    assert "Name the stack" in capsys.readouterr().err
