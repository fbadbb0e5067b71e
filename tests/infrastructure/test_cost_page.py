"""What docs/deploy.md says that an idle deployment costs, against what the template creates."""

import re
from typing import Any

import pytest

from local.paths import TEMPLATE
from tests.infrastructure.test_cost_safety import WATCHED

PAGE = TEMPLATE.parent / "docs" / "deploy.md"
CENTS = 0.05  # what "about" may hide


@pytest.fixture(scope="module")
def costs() -> dict[str, list[str]]:
    """The rows of the table, by the first words: arithmetic, a month, within the free tier."""
    table = PAGE.read_text().partition("| what | arithmetic |")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    return {name.strip("*"): cells for name, *cells in rows}


def row(costs: dict[str, list[str]], begins: str) -> list[str]:
    (found,) = [cells for name, cells in costs.items() if name.startswith(begins)]
    return found


def dollars(text: str) -> float:
    return float(re.findall(r"\$([\d.]+)", text)[0])


def count(resources: dict[str, Any], kind: str) -> int:
    return sum(resource["Type"] == kind for resource in resources.values())


def test_polling_of_all_queues_is_counted(costs: dict[str, list[str]], resources: dict[str, Any]) -> None:
    mappings = [r["Properties"] for r in resources.values() if r["Type"] == "AWS::Lambda::EventSourceMapping"]
    queues = [mapping for mapping in mappings if "Queue" in str(mapping["EventSourceArn"])]
    assert row(costs, "SQS: Lambda polls")[0].startswith(f"{len(queues)} × ")


def test_keys_of_all_tables_are_counted(costs: dict[str, list[str]], resources: dict[str, Any]) -> None:
    tables = count(resources, "AWS::DynamoDB::Table")
    calls = tables * 43_200 / 5
    named = row(costs, "KMS: the tables")[0]
    assert int(re.findall(r"= ([\d,]+)", named)[0].replace(",", "")) == pytest.approx(calls, rel=0.05)


def test_all_alarms_and_dashboards_are_counted(costs: dict[str, list[str]], resources: dict[str, Any]) -> None:
    assert row(costs, "alarms")[0].startswith(f"{len(WATCHED)} metrics × ")
    assert count(resources, "AWS::CloudWatch::Dashboard") == 1
    assert row(costs, "dashboard")[0] == "one"


@pytest.mark.parametrize("column", [1, 2])
def test_the_sum_is_that_of_the_rows(costs: dict[str, list[str]], column: int) -> None:
    rows = {name: dollars(cells[column]) for name, cells in costs.items()}
    assert rows.pop("together") == pytest.approx(sum(rows.values()), abs=CENTS)
