"""`handoff status` and `handoff config home`."""

import json

from tests.cli.conftest import Run
from tests.cli.stub_service import StubService


def _handoff(stub: StubService) -> None:
    stub.state.put_session("s1", {"title": "One"})
    stub.state.request_handoff({"session_id": "s1", "platform": "telegram", "epoch": 0}, "k")


def test_a_running_handoff_exits_3_and_shows_its_steps(run: Run, stub: StubService) -> None:
    _handoff(stub)
    stub.state.script.stop_after = 2
    done = run("status", "h1")
    assert done.returncode == 3
    assert "picked up" in done.stdout
    assert "handoff wait h1" in done.stdout


def test_a_completed_handoff_exits_0(run: Run, stub: StubService) -> None:
    _handoff(stub)
    for _ in range(10):
        stub.state.handoff("h1")
    done = run("status", "h1", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["state"] == "completed"


def test_a_failed_handoff_exits_1_with_its_reason(run: Run, stub: StubService) -> None:
    _handoff(stub)
    stub.state.cancel("h1")
    done = run("status", "h1")
    assert done.returncode == 1
    assert "cancelled on request" in done.stderr


def test_an_unknown_handoff_is_one_line(run: Run) -> None:
    done = run("status", "nope/../x")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "handoff: That is not a handoff's id. See yours with: handoff status\n"
    assert run("status", "nope").stderr == "handoff: There is no such handoff. See yours with: handoff status\n"


def test_a_refusal_in_json_mode_is_json_too(run: Run) -> None:
    done = run("status", "nope", "--json")
    assert json.loads(done.stdout)["error"]["code"] == "unknown_handoff"


def test_config_home_tells_the_service(run: Run, stub: StubService) -> None:
    done = run("config", "home", "slack", "C042")
    assert done.returncode == 0
    assert stub.state.homes["slack"] == "C042"
    assert "C042" in done.stdout
