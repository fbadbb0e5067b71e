"""Handlers import only what they need at start-up: chat SDKs, agents and boto3 load when they are used."""

import subprocess
import sys
from collections.abc import Mapping

import pytest

from shared.agents import AGENTS
from shared.platforms import PLATFORMS

SPECS = [spec for spec in PLATFORMS if spec.adapter is not None]
ADAPTERS = {str(spec.adapter).partition(":")[0] for spec in SPECS}
SDKS = {module for spec in SPECS for module in spec.lazy_imports if module.startswith("shared.")}
"""The modules that import an SDK; the SDKs have no other importer."""
AGENT_MODULES = {spec.adapter.partition(":")[0] for spec in AGENTS}
WEB = {"fastapi", "starlette", "pydantic", "mangum"}
LATE = ADAPTERS | SDKS | AGENT_MODULES | {"boto3"}
FORBIDDEN = {("request", "status", "webhook"): LATE, ("process", "turn", "agent", "sweep"): LATE | WEB}
"""What the handlers of some functions, imported one after the other, must not load."""
LOADED_AHEAD = {
    "request": {"boto3"},
    "status": {"boto3"},
    "webhook": {"boto3"},
    "process": ADAPTERS | SDKS | {"boto3"},
    "turn": ADAPTERS | SDKS | {"boto3"},
    "agent": ADAPTERS | SDKS | {"boto3"},
    "sweep": set(),
}
AHEAD = {
    "AWS_LAMBDA_INITIALIZATION_TYPE": "provisioned-concurrency",
    "AWS_ACCESS_KEY_ID": "as Lambda sets it",
    "AWS_SECRET_ACCESS_KEY": "as Lambda sets it",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
    "HANDOFFS_TABLE": "handoffs",
    "SESSIONS_TABLE": "sessions",
}


def printed(code: str, env: Mapping[str, str] | None = None) -> list[str]:
    """The words that a new interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    return done.stdout.split()


@pytest.mark.parametrize("functions", FORBIDDEN)
def test_a_handler_loads_no_sdk_and_no_agent(functions: tuple[str, ...]) -> None:
    handlers = [f"functions.{function}.handler" for function in functions]
    loaded = set(printed(f"import {', '.join(handlers)}, sys; print(*sys.modules)"))

    assert loaded >= set(handlers)
    assert loaded & FORBIDDEN[functions] == set()


def test_a_service_on_one_machine_starts_without_large_packages() -> None:
    loaded = set(printed("import local.server.program, sys; print(*sys.modules)"))

    large = {"telegram", "slack_sdk", "discord", "boto3", "moto"}
    assert "local.server.http" in loaded
    assert loaded & large == set()


@pytest.mark.parametrize("package", ["shared.platforms", "shared.agents"])
def test_a_list_loads_only_the_standard_library(package: str) -> None:
    loaded = printed(f"import sys; before = set(sys.modules); import {package}; print(*set(sys.modules) - before)")

    assert {module.partition(".")[0] for module in loaded} - sys.stdlib_module_names == {"shared"}


@pytest.mark.parametrize("function", sorted(LOADED_AHEAD))
def test_a_handler_loaded_ahead_is_complete_and_offline(function: str) -> None:
    offline = "import os, socket, threading; socket.socket.connect = None"
    links = "[os.readlink(f'/proc/self/fd/{fd}') for fd in range(3, 99) if os.path.islink(f'/proc/self/fd/{fd}')]"
    opened = f"sum(link.startswith(('socket:', 'anon_inode:')) for link in {links})"
    code = (
        f"{offline}; import functions.{function}.handler, sys; print(threading.active_count(), {opened}, *sys.modules)"
    )
    threads, sockets, *loaded = printed(code, AHEAD)

    assert set(loaded) & LATE == LOADED_AHEAD[function]
    assert (threads, sockets) == ("1", "0")  # forks have no other threads, and would share an event loop
