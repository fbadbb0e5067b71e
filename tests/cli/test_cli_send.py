"""`handoff send` against a service that keeps the contract."""

import itertools
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.stub_service import Fault, StubService
from tests.cli.stub_state import LINK, STEPS, digest

EXAMPLE = Path(__file__).parents[2] / "examples" / "session.jsonl"


def _messages(count: int, size: int = 20) -> list[dict[str, str]]:
    return [{"role": "user" if n % 2 == 0 else "assistant", "content": f"{n} " + "ä" * size} for n in range(count)]


@pytest.fixture
def transcript(tmp_path: Path) -> str:
    path = tmp_path / "session.json"
    path.write_text(json.dumps(_messages(40)))
    return str(path)


def test_sends_the_example_and_shows_every_step_link_and_way_back(run: Run, stub: StubService) -> None:
    done = run("send", "telegram", "--transcript", str(EXAMPLE), "--title", "Flaky upload")
    assert done.returncode == 0, done.stderr
    assert [label for _, label in STEPS if label in done.stdout] == [label for _, label in STEPS]
    assert LINK in done.stdout
    assert "All 40 messages arrived" in done.stdout
    assert "handoff resume" in done.stdout
    (session,) = stub.state.sessions.values()
    assert session["title"] == "Flaky upload"


def test_every_message_arrives_in_order_with_unknown_keys_kept(run: Run, stub: StubService, tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "hi", "extra": {"b": 1, "a": [None]}},
        {"role": "assistant", "content": "ho"},
    ]
    path = tmp_path / "wrapped.json"
    path.write_text(json.dumps({"title": "Wrapped", "messages": messages}, indent=2))
    done = run("send", "telegram", "--transcript", str(path), "--json")
    (session_id,) = stub.state.transcripts
    assert stub.state.transcripts[session_id][:2] == messages
    assert json.loads(done.stdout)["receipt"]["digest"] == digest(messages)
    assert stub.state.sessions[session_id]["title"] == "Wrapped"


def test_a_large_transcript_goes_in_pieces_far_below_the_limit(run: Run, stub: StubService) -> None:
    messages = _messages(60, size=30_000)
    lines = "\n".join(json.dumps(message, ensure_ascii=False) for message in messages)
    done = run("send", "telegram", "--transcript", "-", stdin=lines)
    assert done.returncode == 0, done.stderr
    bodies = [len(seen.body) for seen in stub.calls("POST", "/sessions/[^/]+/messages")]
    assert len(bodies) > 5
    assert max(bodies) < 700 * 1024


def test_a_piece_whose_answer_was_lost_is_sent_again_and_stored_once(
    run: Run, stub: StubService, transcript: str
) -> None:
    stub.faults.append(Fault("POST /sessions/[^/]+/messages", drop_after=True))
    done = run("send", "telegram", "--transcript", transcript)
    assert done.returncode == 0, done.stderr
    assert len(stub.calls("POST", "/sessions/[^/]+/messages")) == 2


def test_a_lost_answer_to_the_request_makes_one_handoff(run: Run, stub: StubService, transcript: str) -> None:
    stub.faults.append(Fault("POST /handoffs", drop_after=True))
    done = run("send", "telegram", "--transcript", transcript)
    assert done.returncode == 0, done.stderr
    assert len({seen.headers["idempotency-key"] for seen in stub.calls("POST", "/handoffs")}) == 1
    assert len(stub.state.handoffs) == 1


def test_json_mode_prints_one_value_and_nothing_else(run: Run, transcript: str) -> None:
    done = run("send", "telegram", "--transcript", transcript, "--json")
    handoff = json.loads(done.stdout)
    assert handoff["done"] is True
    assert handoff["thread"]["url"] == LINK
    assert done.stderr == ""


def test_polls_never_faster_than_the_service_allows(run: Run, stub: StubService, transcript: str) -> None:
    stub.state.script.poll_after_ms = 120
    run("send", "telegram", "--transcript", transcript)
    at = [seen.at for seen in stub.calls("GET", "/handoffs/[^/]+")]
    assert len(at) >= 5
    assert min(later - earlier for earlier, later in itertools.pairwise(at)) >= 0.119


def test_a_failed_handoff_exits_1_and_says_that_the_session_is_intact(
    run: Run, stub: StubService, transcript: str
) -> None:
    stub.state.script.stop_after = 3
    stub.state.script.error = {"code": "place_busy", "message": "The chat refused a new thread."}
    done = run("send", "telegram", "--transcript", transcript)
    assert done.returncode == 1
    assert "The chat refused a new thread. The session is intact" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_differing_digest_is_a_failure(run: Run, stub: StubService, transcript: str) -> None:
    stub.state.script.digest = "sha256:0000"
    done = run("send", "telegram", "--transcript", transcript, "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["code"] == "receipt_differs"
    assert "did not arrive as it was sent" in done.stderr


def test_a_handoff_that_outlasts_the_time_out_exits_3_and_says_how_to_look_again(
    run: Run, stub: StubService, transcript: str
) -> None:
    stub.state.script.stop_after = 2
    done = run("send", "telegram", "--transcript", transcript, "--timeout", "0.3")
    assert done.returncode == 3
    assert "handoff status h1" in done.stderr
    assert stub.calls("DELETE", "/handoffs/.*") == []


def test_a_service_that_is_away_for_a_moment_while_waiting_is_waited_for(
    run: Run, stub: StubService, transcript: str
) -> None:
    stub.faults.append(Fault("GET /handoffs/h1", status=503, headers={"retry-after": "0"}, count=6))
    done = run("send", "telegram", "--transcript", transcript)
    assert done.returncode == 0, done.stderr


def test_a_service_that_stays_away_while_waiting_ends_the_wait_with_a_hint(
    run: Run, stub: StubService, transcript: str
) -> None:
    stub.faults.append(Fault("GET /handoffs/h1", status=503, headers={"retry-after": "0"}, count=999))
    done = run("send", "telegram", "--transcript", transcript, "--timeout", "0.1")
    assert done.returncode == 4
    assert "handoff status h1" in done.stderr


@pytest.mark.parametrize(
    ("platform", "said"),
    [
        ("nix", "no platform “nix”"),
        ("matrix", "not supported yet"),
        ("discord", "not configured"),
        ("slack", "./handoff config home slack"),
    ],
)
def test_a_place_that_cannot_be_reached_is_refused_before_anything_is_written(
    run: Run, stub: StubService, transcript: str, platform: str, said: str
) -> None:
    done = run("send", platform, "--transcript", transcript, HANDOFF_PROG="./handoff")
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert {seen.method for seen in stub.seen} == {"GET"}


def test_a_refusal_of_the_service_is_told_in_its_words(run: Run, stub: StubService, transcript: str) -> None:
    problem = {"code": "place_busy", "detail": "Another session lives there. Use --replace, or another chat."}
    stub.faults.append(Fault("POST /handoffs", status=409, body=json.dumps(problem).encode()))
    done = run("send", "telegram", "--transcript", transcript)
    assert (done.returncode, done.stderr) == (1, f"handoff: {problem['detail']}\n")


def test_a_title_that_is_too_long_is_refused_before_anything_is_sent(
    run: Run, stub: StubService, transcript: str
) -> None:
    done = run("send", "telegram", "--transcript", transcript, "--title", "x" * 201)
    assert done.returncode == 2
    assert stub.seen == []
