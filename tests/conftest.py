"""Fixtures of many folders: a local cloud per process, new tables per test. Imports are lazy, to start fast."""

import os
import tracemalloc  # noqa: F401 - else pytest imports it in threads, and two at once see half of it
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis  # its plugin imports it at the end otherwise, and CPython 3.11 cannot parse in two threads
import pytest

from tests import tiers
from tests.support.processes import let_children_be_interrupted

if TYPE_CHECKING:
    from local.cloud.engine import Engine
    from shared.store.bundle import Store
    from tests.support.tables import TableNames


MUST_RUN_IN_CI = ("agents", "browser", "npm", "synapse", "terminal")

hypothesis.settings.register_profile("handoff", deadline=None)  # a loaded machine is slow without a defect
hypothesis.settings.load_profile("handoff")


def pytest_configure() -> None:
    let_children_be_interrupted()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--tier", choices=list(tiers.RUNS), help="run only what `make TIER` runs")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files of other tiers are not even imported."""
    target = config.getoption("--tier")
    if target is None or not collection_path.name.startswith("test_"):
        return None
    return True if not tiers.is_collected(_path_of(config, collection_path), target) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out marked tests and parameters of other tiers; name the group of each test for `--dist loadgroup`."""
    target = config.getoption("--tier")
    kept: list[pytest.Item] = []
    others: list[pytest.Item] = []
    for item in items:
        path = _path_of(config, item.path)
        tier = tiers.tier_of(item, path)
        (kept if target is None or tier in tiers.RUNS[target] else others).append(item)
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(tiers.group_of(item, path)))
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = kept


def _path_of(config: pytest.Config, path: Path) -> str:
    return path.relative_to(config.rootpath).as_posix()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A laptop may lack a browser, tmux or npm; with HANDOFF_NO_SKIPS, a test that needs them fails instead of skipping."""
    report = yield
    marked = any(item.get_closest_marker(name) for name in MUST_RUN_IN_CI)
    if (
        report.skipped
        and marked
        and not hasattr(report, "wasxfail")
        and "HANDOFF_NO_SKIPS" in os.environ
        and "older than" not in str(report.longrepr)
    ):
        report.outcome = "failed"
        report.longrepr = f"skipped, which HANDOFF_NO_SKIPS forbids: {report.longrepr}"
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line per reason: hundreds of tests skip for the same one, and would hide the failures."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in skipped)
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count} skipped: {reason}")
    terminalreporter.write_line(f"order: --randomly-seed={terminalreporter.config.getoption('randomly_seed', None)}")


@pytest.fixture(scope="session")
def engine() -> "Iterator[Engine]":
    """The local cloud of this worker process. Tests share it, so each uses its own names for what it creates."""
    from local.cloud.engine import Engine  # noqa: PLC0415  # moto takes long to import, and most tests do not need it

    engine = Engine.start()
    yield engine
    engine.stop()


@pytest.fixture(scope="session")
def dynamodb(engine: "Engine") -> Any:
    """One DynamoDB client for all tests of this process; clients are safe to share between threads."""
    return engine.client("dynamodb")


@pytest.fixture
def tables(dynamodb: Any) -> "Iterator[TableNames]":
    """Both tables of template.yaml, empty."""
    from tests.support.tables import fresh_tables  # noqa: PLC0415  # brings the SAM translator

    with fresh_tables(dynamodb) as names:
        yield names


@pytest.fixture
def store(dynamodb: Any, tables: "TableNames") -> "Store":
    """The store on fresh tables."""
    from shared.aws.tables import DynamoTables  # noqa: PLC0415  # brings botocore
    from shared.store.bundle import store_on  # noqa: PLC0415  # only with the above

    return store_on(DynamoTables(dynamodb, handoffs=tables.handoffs, sessions=tables.sessions))
