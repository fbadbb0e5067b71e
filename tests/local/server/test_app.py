"""The app of a service on one machine: routes that are loaded late are there for the first request to them."""

import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from local.server.service import Server

ROOT = Path(__file__).resolve().parents[3]
LATE = "import sys, local.server.program; print('functions.request.runner_routes' in sys.modules)"


@pytest.mark.parametrize("path", ["/links", "/tokens", "/users", "/runners/r/turns"])
def test_late_routes_are_called(server: Server, path: str) -> None:
    headers = {"Authorization": f"Bearer {server.tokens['owner']}"}
    answer = httpx.get(server.url + path, headers=headers)

    assert answer.json().get("code") != "not_found", answer.text


def test_an_unknown_path_is_not_found(server: Server) -> None:
    headers = {"Authorization": f"Bearer {server.tokens['owner']}"}

    assert httpx.get(f"{server.url}/nothing", headers=headers).json()["code"] == "not_found"


def test_the_routes_of_runners_are_not_loaded_before_it_is_ready() -> None:
    done = subprocess.run([sys.executable, "-c", LATE], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["False"]
