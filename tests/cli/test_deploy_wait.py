"""The end of `handoff deploy --secret`: functions that run see a new secret only after a while."""

import io
import json
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from handoff_cli.commands import deploy
from handoff_cli.commands.deploy import await_secrets
from handoff_cli.context import Context
from handoff_cli.ui.terminal import Terminal
from tests.support.servers import HttpServer, Request, Response

Wait = Callable[[Context], object]


def waited(
    tmp_path: Path, *, seen_after: float, platforms: Sequence[str] = ("telegram",), wait: Wait | None = None
) -> tuple[float, str]:
    """How long it waited for a service that knows the platform after so many seconds, and what it said."""
    now = [0.0]

    def answer(request: Request) -> Response:
        assert request.path == "/platforms"
        found = {
            "name": "telegram",
            "supported": True,
            "configured": now[0] >= seen_after,
            "home": None,
            "threads": True,
        }
        return Response(200, json.dumps({"platforms": [found]}).encode(), {"content-type": "application/json"})

    def sleep(seconds: float) -> None:
        now[0] += seconds

    said = io.StringIO()
    with HttpServer(answer) as server:
        environ = {"HOME": str(tmp_path), "HANDOFF_URL": server.url, "HANDOFF_TOKEN": "ho_x.y"}
        terminal = Terminal(said, said, io.StringIO(), environ=environ)
        context = Context(Namespace(), terminal, environ, tmp_path, clock=lambda: now[0], sleep=sleep)
        wait(context) if wait else await_secrets(context, platforms)
    return now[0], said.getvalue()


def test_it_waits_until_running_functions_see_the_secret_and_says_so(tmp_path: Path) -> None:
    seconds, said = waited(tmp_path, seen_after=60.0)
    assert 60 <= seconds < 66
    assert said == "Waiting until the functions that run have seen the secrets of telegram: up to a minute ...\n"


def test_it_does_not_wait_for_what_is_seen_at_once_or_was_not_stored(tmp_path: Path) -> None:
    assert waited(tmp_path, seen_after=0.0) == (0.0, "")
    assert waited(tmp_path, seen_after=60.0, platforms=()) == (0.0, "")


def test_it_waits_no_longer_than_a_secret_can_take(tmp_path: Path) -> None:
    seconds, said = waited(tmp_path, seen_after=1e9)
    assert 75 <= seconds < 80
    assert "look again: handoff platforms" in said


def test_a_deploy_waits_before_the_doctor_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = list[float]()

    def doctor(context: Context) -> int:
        looked_at.append(context.clock())
        return 0

    monkeypatch.setattr(deploy, "doctor", doctor)

    def examine(context: Context) -> None:
        deploy.examine(context, {"stack": "handoff", "region": "eu-west-1", "set_up": ["telegram"]}, is_used=True)

    seconds, said = waited(tmp_path, seen_after=60.0, wait=examine)
    assert looked_at == [seconds]
    assert seconds >= 60
    assert "secrets of telegram" in said
