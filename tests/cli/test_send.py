"""`handoff send`."""

import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from handoff_cli.transcripts.messages import digest
from tests.cli.conftest import Run, User
from tests.support.fault_proxy import FaultProxy
from tests.support.servers import Response, json_response

if TYPE_CHECKING:
    from tests.support.one_machine import OneMachine

EXAMPLE = Path(__file__).parents[2] / "examples" / "session.jsonl"
STEPS = ("requested", "picked up", "thread opened", "session moved", "agent confirmed", "completed")
UNAVAILABLE = Response(503, headers={"retry-after": "0"})


def _messages(count: int, size: int = 20) -> list[dict[str, str]]:
    return [{"role": "user" if n % 2 == 0 else "assistant", "content": f"{n} " + "ä" * size} for n in range(count)]


@pytest.fixture
def transcript(tmp_path: Path) -> str:
    path = tmp_path / "session.json"
    path.write_text(json.dumps(_messages(40)))
    return str(path)


def test_shows_every_step_the_link_and_the_way_back(run: Run, user: User) -> None:
    done = run("send", "telegram", "--transcript", str(EXAMPLE), "--title", "Flaky upload")
    assert done.returncode == 0, done.stderr
    assert [label for label in STEPS if label in done.stdout] == list(STEPS)
    assert "/telegram/-1001000000001/" in done.stdout
    assert "All 40 messages arrived" in done.stdout
    assert "handoff resume" in done.stdout
    assert [session["title"] for session in user.sessions] == ["Flaky upload"]


def test_messages_arrive_in_order_with_unknown_keys(run: Run, user: User, tmp_path: Path) -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "hi", "extra": {"b": 1, "a": [None]}},
        {"role": "assistant", "content": "ho"},
    ]
    path = tmp_path / "wrapped.json"
    path.write_text(json.dumps({"title": "Wrapped", "messages": messages}, indent=2))
    done = run("send", "telegram", "--transcript", str(path), "--json")
    (session,) = user.sessions
    assert list(user.api.messages(session["id"]))[:2] == messages
    assert json.loads(done.stdout)["receipt"]["digest"] == digest(messages)
    assert session["title"] == "Wrapped"


def test_a_large_transcript_is_sent_in_pieces(run: Run, proxy: FaultProxy) -> None:
    messages = _messages(60, size=30_000)
    lines = "\n".join(json.dumps(message, ensure_ascii=False) for message in messages)
    done = run("send", "telegram", "--transcript", "-", stdin=lines)
    assert done.returncode == 0, done.stderr
    bodies = [len(request.body) for request in proxy.calls("POST", "/sessions/[^/]+/messages")]
    assert len(bodies) > 5
    assert max(bodies) < 700 * 1024


def test_a_piece_is_stored_once_when_its_answer_is_lost(run: Run, proxy: FaultProxy, transcript: str) -> None:
    proxy.fail("POST /sessions/[^/]+/messages", lose=True)
    done = run("send", "telegram", "--transcript", transcript)
    assert done.returncode == 0, done.stderr
    assert "All 40 messages arrived" in done.stdout
    assert len(proxy.calls("POST", "/sessions/[^/]+/messages")) == 2


def test_a_lost_answer_to_the_request_makes_one_handoff(
    run: Run, proxy: FaultProxy, user: User, transcript: str
) -> None:
    proxy.fail("POST /handoffs", lose=True)
    done = run("send", "telegram", "--transcript", transcript)
    assert done.returncode == 0, done.stderr
    requests = proxy.calls("POST", "/handoffs")
    assert (len(requests), len({request.headers["idempotency-key"] for request in requests})) == (2, 1)
    assert len(user.api.handoffs()) == 1


def test_json_mode_prints_one_value_and_nothing_else(run: Run, transcript: str) -> None:
    done = run("send", "telegram", "--transcript", transcript, "--json")
    handoff = json.loads(done.stdout)
    assert handoff["done"] is True
    assert "/telegram/-1001000000001/" in handoff["thread"]["url"]
    assert done.stderr == ""


def test_it_polls_no_faster_than_the_service_allows(run: Run, proxy: FaultProxy, transcript: str) -> None:
    polled: list[float] = []

    def slow_down(handoff: Any) -> None:
        polled.append(time.monotonic())
        handoff["done"] = len(polled) > 3 and handoff["done"]
        handoff["poll_after_ms"] = 120

    proxy.fail("GET /handoffs/[^/]+", change=slow_down, count=99)
    assert run("send", "telegram", "--transcript", transcript).returncode == 0
    assert len(polled) > 3
    assert min(later - earlier for earlier, later in itertools.pairwise(polled)) >= 0.119


def test_a_failed_handoff_exits_1_with_the_reason(run: Run, service: "OneMachine", transcript: str) -> None:
    service.simulator.arm("telegram", "forbidden", 1, on="open_thread")
    done = run("send", "telegram", "--transcript", transcript)
    assert done.returncode == 1
    assert "bot was kicked from the supergroup chat. The session is intact" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_wrong_digest_in_the_receipt_is_a_failure(run: Run, proxy: FaultProxy, transcript: str) -> None:
    def damage(handoff: Any) -> None:
        if handoff["receipt"]:
            handoff["receipt"]["digest"] = "sha256:0000"

    proxy.fail("GET /handoffs/[^/]+", change=damage, count=99)
    done = run("send", "telegram", "--transcript", transcript, "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["code"] == "receipt_differs"
    assert "did not arrive as it was sent" in done.stderr


def test_the_time_out_exits_3_and_says_how_to_check(
    run: Run, proxy: FaultProxy, user: User, hold: Callable[..., None], transcript: str
) -> None:
    hold("open_thread")
    done = run("send", "telegram", "--transcript", transcript, "--timeout", "0.3")
    assert done.returncode == 3
    (handoff,) = user.api.handoffs()
    assert f"handoff status {handoff['id']}" in done.stderr
    assert proxy.calls("DELETE", "/handoffs/.*") == []


def test_a_short_outage_while_waiting_is_tolerated(run: Run, proxy: FaultProxy, transcript: str) -> None:
    proxy.fail("GET /handoffs/[^/]+", response=UNAVAILABLE, count=6)
    done = run("send", "telegram", "--transcript", transcript)
    assert done.returncode == 0, done.stderr


def test_a_long_outage_while_waiting_ends_with_a_hint(run: Run, proxy: FaultProxy, transcript: str) -> None:
    proxy.fail("GET /handoffs/[^/]+", response=UNAVAILABLE, count=999)
    done = run("send", "telegram", "--transcript", transcript, "--timeout", "0.1")
    assert done.returncode == 4
    assert "handoff status " in done.stderr


@pytest.mark.parametrize(
    ("platform", "said"),
    [
        ("nix", "no platform “nix”"),
        ("pigeon", "not supported yet"),
        ("discord", "not configured"),
        ("slack", "./handoff link slack"),
    ],
)
def test_an_unusable_platform_is_refused_before_writing(
    run: Run, proxy: FaultProxy, transcript: str, platform: str, said: str
) -> None:
    proxy.fail("GET /platforms", change=without_discord)
    done = run("send", platform, "--transcript", transcript, HANDOFF_PROG="./handoff")
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert {request.method for request in proxy.requests} == {"GET"}


def without_discord(answer: Any) -> None:
    """The shared service has bots on all platforms: play one with no bot on Discord, and with a platform to come."""
    answer["platforms"].append(
        {"name": "pigeon", "supported": False, "configured": False, "home": None, "threads": False}
    )
    for platform in answer["platforms"]:
        platform["configured"] = platform["configured"] and platform["name"] != "discord"


def test_a_refusal_is_shown_with_the_reason(run: Run, proxy: FaultProxy, transcript: str) -> None:
    problem = {"code": "place_busy", "detail": "Another session is there. Use --replace, or another chat."}
    proxy.fail("POST /handoffs", response=json_response(problem, 409))
    done = run("send", "telegram", "--transcript", transcript)
    assert (done.returncode, done.stderr) == (1, f"handoff: {problem['detail']}\n")


def test_a_title_that_is_too_long_is_refused(run: Run, proxy: FaultProxy, transcript: str) -> None:
    done = run("send", "telegram", "--transcript", transcript, "--title", "x" * 201)
    assert done.returncode == 2
    assert proxy.requests == []


def test_a_stored_session_is_sent_with_all_options(run: Run, proxy: FaultProxy, user: User, tmp_path: Path) -> None:
    session_id = user.session("Flaky upload", _messages(2))
    words = tmp_path / "words.txt"
    words.write_text("Look at the diff first.\n")
    options = ["--to", "C0GENERAL", "--require-thread", "--replace", "--share"]
    options += ["--message", str(words), "--no-wait", "--json"]
    done = run("send", "slack", "--session", "flaky", *options)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["id"] == user.api.handoffs()[0]["id"]
    assert proxy.calls("POST", "/handoffs")[0].json == {
        "session_id": session_id,
        "platform": "slack",
        "epoch": 0,
        "target": "C0GENERAL",
        "message": "Look at the diff first.",
        "require_thread": True,
        "replace": True,
        "share": True,
    }
