"""`handoff status`, `handoff wait` and `handoff cancel`."""

import json
from collections.abc import Callable

import pytest

from tests.cli.conftest import Run, User

MESSAGES = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]


@pytest.fixture
def session(user: User) -> str:
    return user.session("Flaky upload", MESSAGES)


@pytest.fixture
def running(user: User, session: str, hold: Callable[..., None]) -> str:
    """The id of a handoff that waits for Telegram."""
    hold("open_thread")
    return user.request_handoff(session)


def test_wait_follows_to_the_end(run: Run, user: User, session: str) -> None:
    done = run("wait", user.request_handoff(session))
    assert (done.returncode, "/telegram/-1001000000001/" in done.stdout) == (0, True)


def test_wait_gives_up_after_its_time_out(run: Run, running: str) -> None:
    assert run("wait", running, "--timeout", "0.2").returncode == 3


def test_cancel_in_time(run: Run, user: User, running: str) -> None:
    assert run("cancel", running, "--json").returncode == 0
    status = run("status", running)
    assert (status.returncode, "cancelled" in status.stderr.lower()) == (1, True)


def test_cancel_after_the_move_is_too_late(run: Run, user: User, session: str) -> None:
    done = run("cancel", user.hand_over(session)["id"], "--json")
    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (1, "too_late")


def test_a_running_handoff_exits_3(run: Run, running: str) -> None:
    done = run("status", running)
    assert done.returncode == 3
    assert "requested" in done.stdout
    assert f"handoff wait {running}" in done.stdout


def test_a_completed_handoff_exits_0(run: Run, user: User, session: str) -> None:
    done = run("status", user.hand_over(session)["id"], "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["state"] == "completed"


def test_without_an_id_status_lists_the_newest(run: Run, user: User, session: str) -> None:
    assert run("status").stdout == "No handoffs yet.\n"
    handoff = user.hand_over(session)
    (line,) = run("status").stdout.splitlines()
    assert [part in line for part in (handoff["id"], "telegram", "Flaky upload", "completed")] == [True] * 4


def test_a_session_without_a_title_is_listed_by_its_id(run: Run, user: User) -> None:
    session = user.session(messages=MESSAGES)
    user.hand_over(session)
    (line,) = run("status").stdout.splitlines()
    assert session[:8] in line


def test_an_unknown_handoff_is_one_line(run: Run) -> None:
    done = run("status", "nope/../x")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "handoff: This is not the id of a handoff. List yours with: handoff status\n"
    assert run("status", "nope").stderr == "handoff: There is no such handoff. List yours with: handoff status\n"


def test_a_refusal_in_json_mode_is_json_too(run: Run) -> None:
    done = run("status", "nope", "--json")
    assert json.loads(done.stdout)["error"]["code"] == "unknown_handoff"
