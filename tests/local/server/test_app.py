"""The app of a service on one machine: all routes of all functions."""

import httpx
import pytest

from local.server.service import Server


@pytest.mark.parametrize("path", ["/links", "/tokens", "/users", "/runners/r/turns"])
def test_routes_of_all_functions_are_called(server: Server, path: str) -> None:
    headers = {"Authorization": f"Bearer {server.tokens['owner']}"}
    answer = httpx.get(server.url + path, headers=headers)

    assert answer.json().get("code") != "not_found", answer.text


def test_an_unknown_path_is_not_found(server: Server) -> None:
    headers = {"Authorization": f"Bearer {server.tokens['owner']}"}

    assert httpx.get(f"{server.url}/nothing", headers=headers).json()["code"] == "not_found"


def test_every_call_can_be_answered_when_the_service_is_healthy(server: Server) -> None:
    assert httpx.get(f"{server.url}/health").json() == {"status": "ok"}
    assert httpx.head(f"{server.url}/health").status_code == 405
