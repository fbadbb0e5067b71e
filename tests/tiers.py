"""Tiers: which tests `make fast`, `test`, `deep`, `real` and `soak` run. A tier collects no file of another one."""

from collections.abc import Iterator
from pathlib import PurePosixPath

import pytest

RUNS = {
    "fast": {"fast"},
    "test": {"fast", "test"},
    "deep": {"deep"},
    "real": {"real"},
    "soak": {"soak"},
}
"""The tiers of tests that each target runs: `make test` includes the fast ones."""

FILES = {
    # No service, no other process, no moto.
    "tests/bench": "fast",
    "tests/contracts/files": "fast test",
    "tests/contracts/store": "fast test deep",
    "tests/functions": "fast",
    "tests/mutants": "fast",
    "tests/shared": "fast",
    "tests/test_tiers.py": "fast",
    "tests/upgrades": "fast",
    # Programs, simulated platforms, or moto.
    "tests/functions/test_imports_stay_light.py": "test",
    "tests/shared/agents/http/test_example_agent.py": "test",
    "tests/shared/agents/test_registry.py": "test",
    "tests/shared/aws": "test",
    "tests/shared/platforms/discord/test_against_its_specification.py": "test",
    "tests/shared/platforms/discord/test_inbound.py": "test",
    "tests/shared/platforms/discord/test_presses.py": "test",
    "tests/shared/platforms/discord/test_simulated.py": "test",
    "tests/shared/platforms/slack/test_adapter.py": "test",
    "tests/shared/platforms/telegram/test_adapter.py": "test",
    "tests/shared/platforms/test_registry.py": "test",
    "tests/shared/sqlite/test_imports.py": "test",
    "tests/shared/sqlite/test_processes.py": "test",
    "tests/shared/sqlite/test_unusable_files.py": "test",
    "tests/shared/test_entry_points.py": "test",
    "tests/shared/test_on_lambda.py": "test",
    "tests/shared/voice": "test",
    # The whole service on each platform and engine, faults, programs that are installed or deployed.
    "tests/cli/inside/test_start_up.py": "deep",
    "tests/cli/runner/test_killed.py": "deep",
    "tests/cli/runner/test_long_turn.py": "deep",
    "tests/cli/runner/test_nothing_unshown.py": "deep",
    "tests/cli/test_first_handoff.py": "deep",
    "tests/cli/test_interruptions.py": "deep",
    "tests/cli/test_up.py": "deep",
    "tests/cli/test_wheel.py": "deep",
    "tests/docs/test_action.py": "deep",
    "tests/docs/test_commands_run.py": "deep",
    "tests/faults": "deep",
    "tests/faults/test_machine_kills.py": "deep soak",
    "tests/faults/test_random_kills.py": "deep soak",
    "tests/infrastructure/test_grants_in_use.py": "deep",
    "tests/infrastructure/test_template_lint.py": "deep",
    "tests/journeys": "deep",
    "tests/journeys/test_files.py": "test deep",
    "tests/journeys/test_handoff.py": "test",
    "tests/journeys/test_malformed_requests.py": "test soak",
    "tests/journeys/test_sent_files.py": "test deep",
    "tests/local/chats/relays/test_command.py": "deep",
    "tests/local/chats/relays/test_reconnect.py": "deep",
    "tests/local/chats/telegram/test_wire_against_aiogram.py": "deep",
    "tests/local/cloud/moto_patches/test_forgetting.py": "deep",
    "tests/local/cloud/runtime": "deep",
    "tests/local/operate/deploy": "deep",
    "tests/local/run": "deep",
    "tests/local/server/test_faulty_files.py": "deep",
    "tests/local/server/test_many_files.py": "deep",
    "tests/local/server/test_own_agent.py": "deep",
    "tests/local/server/test_restarts.py": "deep",
    "tests/local/server/test_slow_platform.py": "deep",
    "tests/release": "deep",
    # Programs of other makers.
    "tests/local/chats/simulator/test_page.py": "real",
    "tests/local/run/test_other_pages.py": "real",
    "tests/real_agents": "real",
    "tests/real_synapse": "real",
    "tests/soak": "soak",
    "tests/soak/test_load.py": "soak deep",
    # A mark puts some of their tests or parameters into another tier.
    "tests/cli/inside/test_plugins.py": "test deep",
    "tests/cli/runner/test_odd_answers.py": "test deep",
    "tests/cli/test_service_unit.py": "test deep",
    "tests/contracts/platform/test_contract.py": "test soak",
    "tests/contracts/platform/toy/test_toy_contract.py": "test deep soak",
    "tests/contracts/platform/toy/test_toy_journey.py": "test real",
    "tests/contracts/tables": "test deep",
    "tests/real_agents/test_last_moment.py": "soak",
    "tests/real_agents/test_warm_agents.py": "real soak",
    "tests/runner_walk": "test deep",
    "tests/shared/use_cases/handoffs/test_request_inline.py": "fast test",
    "tests/walk/test_walk.py": "test soak",
}
"""The tiers of each file, by the longest path that leads to it; all others are of `test`. The first one is that of its
tests, the others those of tests and parameters with a mark."""

MARKS = {"agents": "real", "browser": "real", "npm": "deep", "soak": "soak", "synapse": "real", "terminal": "real"}
"""The tier of a test or a parameter with one of these marks; the mark `tier` names it directly."""

SERVICES = {
    "tests/cli": "service",
    "tests/contracts/http": "service",
    "tests/local/run": "local_run",
    "tests/local/server": "server",
    "tests/real_agents": "server",
    "tests/real_synapse": "synapse",
}
"""Folders with a fixture that starts a service for all their tests: these run in one process, one after the other."""


def tiers_of_file(path: str) -> list[str]:
    """The tiers of a file, by its path from the root of the repository."""
    parents = [path, *map(str, PurePosixPath(path).parents)]
    return next((FILES[parent] for parent in parents if parent in FILES), "test").split()


def is_collected(path: str, target: str) -> bool:
    """Whether a file may have tests that the target runs."""
    return not RUNS[target].isdisjoint(tiers_of_file(path))


def tier_of(item: pytest.Item, path: str) -> str:
    """The tier of a test: its nearest mark decides, else its file. Raises ValueError if the file does not name it."""
    tiers = tiers_of_file(path)
    tier = next(_marked(item), tiers[0])
    if tier not in tiers:
        raise ValueError(f"{item.nodeid} is marked for make {tier}: name that tier beside {path} in tests/tiers.py")
    return tier


def group_of(item: pytest.Item, path: str) -> str:
    """The tests that one worker process runs in a row: those of a shared service, else of a class or a file."""
    for folder, fixture in SERVICES.items():
        if path.startswith(f"{folder}/") and fixture in getattr(item, "fixturenames", ()):
            return folder
    return item.nodeid.rpartition("::")[0]


def _marked(item: pytest.Item) -> Iterator[str]:
    for mark in item.iter_markers():
        if mark.name == "tier":
            yield mark.args[0]
        elif mark.name in MARKS:
            yield MARKS[mark.name]
