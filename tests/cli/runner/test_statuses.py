"""Effects of each answer of the service on a result, on a turn and on the runner."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from handoff_cli.runner.machine.journal import Entry, Journal
from handoff_cli.runner.results import result_body
from handoff_cli.runner.runner import Runner
from handoff_cli.runner.turn import Turn
from handoff_cli.runner.wire.verdicts import Answer, Verdict
from tests.cli.runner.conftest import Machine
from tests.support.fake_agents import NATIVE_ID
from tests.support.servers import DROP, Response, json_response

T = TypeVar("T")


class Spool:
    """A begun turn whose result is on the disk."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.state, self.sessions, self.proxy = machine, machine.state, machine.sessions, machine.proxy
        self.now = 1_000_000.0
        self.journal = Journal(self.state, lambda: self.now)
        self.thread = machine.hand_over()
        self.turn = machine.service.turn_of(self.thread)
        self.claimed = machine.service.claim(self.thread)
        self.begun = Entry(
            self.claimed.claim["turn_id"], self.turn.session_id, "c-1", fence=self.claimed.claim["fence"]
        )
        self.runner: Runner | None = None

    def entry(self, *, output: int = 10, reply: str = "The reply.") -> Entry:
        call = {"id": "c1", "type": "function", "function": {"name": "edit", "arguments": "{}"}}
        body = result_body(
            session_id=self.begun.session_id,
            fence=self.claimed.claim["fence"],
            outcome="done",
            messages=[
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c1", "content": "o" * output},
                {"role": "assistant", "content": reply},
            ],
            given=self.claimed.given,
            native_id=NATIVE_ID,
            summary={"steps": 1, "files": 0, "seconds": 3},
        )
        return self.journal.spool(self.begun, body)

    def deliver(self, entry: Entry | None = None) -> bool:
        entry = entry or self.entry()
        over = asyncio.run(self.with_runner(lambda runner: Turn(runner, entry, None).run()))
        return over.answer is not None and over.answer.verdict is Verdict.GO_ON

    def claim_again(self) -> None:
        """As a second process of this machine does, which knows the fence of the first from the disk."""
        path = f"/runners/{self.machine.identity.id}/turns/{self.begun.turn_id}/claim"
        body = {"session_id": self.begun.session_id, "claim_id": "c-2", "previous_fence": self.begun.fence}
        self.machine.service.user.http.post(path, json=body).raise_for_status()

    @property
    def kept(self) -> list[str]:
        return [entry.turn_id for entry in self.journal.all()]

    async def with_runner(self, work: Callable[[Runner], Awaitable[T]]) -> T:
        async with self.machine.runner() as runner:
            self.runner = replace(runner, journal=self.journal)
            return await work(self.runner)


@pytest.fixture
def spool(machine: Machine) -> Spool:
    return Spool(machine)


def test_an_accepted_result_is_dropped_from_the_disk(spool: Spool) -> None:
    assert spool.deliver()
    assert spool.turn.reply == "The reply."
    assert spool.kept == []


@pytest.mark.parametrize(
    "failure",
    [
        Response(500),
        Response(503, headers={"retry-after": "0"}),
        Response(429),
        Response(404, b"<html>not found</html>"),
        Response(403, b"<html>forbidden</html>"),
        Response(200, b"<html>Welcome to the hotel</html>"),
        DROP,
    ],
)
def test_a_service_that_cannot_answer_gets_the_result_again(spool: Spool, failure: Response) -> None:
    spool.proxy.fail("POST .*/result", response=failure, count=5)
    assert spool.deliver()
    assert spool.turn.reply == "The reply."


def test_a_lost_answer_makes_no_second_commit(spool: Spool) -> None:
    spool.proxy.fail("POST .*/result", lose=True)
    assert spool.deliver()
    assert spool.turn.reply == "The reply."
    assert len(spool.turn.results) == 2


@pytest.mark.parametrize("code", ["ended", "superseded", "other_result"])
def test_a_turn_that_is_over_drops_the_result(spool: Spool, code: str) -> None:
    spool.proxy.fail("POST .*/result", response=json_response({"code": code}, 409), count=99)
    assert not spool.deliver()
    assert len(spool.proxy.requests) == 1
    assert spool.kept == []
    assert spool.sessions.find(spool.turn.session_id)


def test_a_session_that_is_gone_is_forgotten(spool: Spool) -> None:
    spool.thread.say("/stop")
    spool.thread.wait_for("Stopped")
    spool.machine.service.user.http.delete(f"/sessions/{spool.turn.session_id}").raise_for_status()
    assert not spool.deliver()
    assert spool.kept == []
    assert spool.sessions.find(spool.turn.session_id) is None


def test_a_turn_that_is_gone_keeps_its_session(spool: Spool) -> None:
    spool.begun = replace(spool.begun, turn_id="never-offered")
    assert not spool.deliver()
    assert spool.kept == []
    assert spool.sessions.find(spool.turn.session_id)


@pytest.mark.parametrize(("status", "code"), [(401, "unauthenticated"), (403, "runner_revoked")])
def test_a_revoked_runner_keeps_the_result_and_stops(spool: Spool, status: int, code: str) -> None:
    spool.proxy.fail("POST .*/result", response=json_response({"code": code}, status), count=99)
    assert not spool.deliver()
    assert spool.kept == [spool.begun.turn_id]
    assert spool.runner
    assert spool.runner.halt.stopping.is_set()
    assert spool.runner.halt.reason
    assert spool.runner.halt.reason.exit_code == 5


def test_a_runner_that_is_too_old_keeps_the_result_and_claims_nothing(spool: Spool) -> None:
    spool.proxy.fail("POST .*/result", response=json_response({"code": "runner_too_old"}, 426))
    assert not spool.deliver()
    assert spool.kept == [spool.begun.turn_id]
    assert spool.runner
    assert not spool.runner.halt.claiming
    assert not spool.runner.halt.stopping.is_set()


def test_a_result_that_is_too_large_loses_tool_output_first(spool: Spool) -> None:
    spool.proxy.fail("POST .*/result", response=json_response({"code": "body_too_large"}, 413))
    assert spool.deliver(spool.entry(output=2000))
    assert spool.turn.reply == "The reply."
    assert len(spool.turn.results[-1]["messages"][1]["content"]) <= 200


def test_a_result_that_stays_too_large_loses_text_but_is_sent(spool: Spool) -> None:
    spool.proxy.fail("POST .*/result", response=json_response({"code": "body_too_large"}, 413), count=4)
    assert spool.deliver(spool.entry(output=2000, reply="r" * 200_000))
    assert len(spool.turn.reply) <= 8 * 1024
    sizes = [len(request.body) for request in spool.proxy.requests]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize(("status", "code"), [(400, "malformed_json"), (422, "invalid_request")])
def test_a_result_that_is_not_understood_is_sent_once_more_as_failed(spool: Spool, status: int, code: str) -> None:
    spool.proxy.fail("POST .*/result", response=json_response({"code": code}, status))
    assert spool.deliver()
    assert spool.turn.results[-1]["outcome"] == "failed"
    assert f"status={status} code={code}" in (spool.state / "runner.log").read_text()


def test_there_is_no_third_attempt(spool: Spool) -> None:
    spool.proxy.fail("POST .*/result", response=json_response({"code": "invalid_request"}, 422), count=99)
    assert not spool.deliver()
    assert len(spool.proxy.requests) == 2
    assert spool.kept == []


def test_a_result_is_given_up_after_a_day(spool: Spool) -> None:
    entry = spool.entry()
    spool.now += 24 * 3600 + 1
    assert not spool.deliver(entry)
    assert spool.proxy.requests == []
    assert spool.kept == []


def test_the_spool_is_closed_to_others(spool: Spool) -> None:
    spool.entry()
    modes = {path: path.stat().st_mode & 0o077 for path in spool.state.rglob("*")}
    assert not any(modes.values()), modes


@pytest.mark.parametrize(
    ("url", "user"), [("https://elsewhere.example", "owner"), ("", "eve"), ("https://elsewhere.example", "")]
)
def test_a_result_is_told_only_to_its_own_service_and_user(spool: Spool, url: str, user: str) -> None:
    spool.now = time.time()
    here = spool.machine.proxy.url
    spool.begun = replace(spool.begun, url=url or here, user=user)
    spool.entry()
    (spool.state / "turns" / "legacy.json").write_text(
        json.dumps({"turn_id": "legacy", "session_id": "unknown", "claim_id": "c", "result": {}})
    )
    spool.machine.start()
    spool.machine.wait(lambda: spool.proxy.calls("GET", ".*/turns"))
    spool.machine.stop()
    assert spool.proxy.calls("POST", ".*") == []
    assert spool.kept == sorted([spool.begun.turn_id, "legacy"])
    assert "2 turns of another service or user kept" in spool.machine.output.getvalue()

    spool.begun = replace(spool.begun, url=here, user="owner")
    spool.entry()
    spool.machine.start()
    assert spool.machine.answer(spool.turn) == "The reply."
    spool.machine.wait(lambda: spool.kept == ["legacy"])


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (Answer(200), Verdict.GO_ON),
        (Answer(0), Verdict.RETRY),
        (Answer(408), Verdict.RETRY),
        (Answer(409, {"code": "taken"}), Verdict.TAKEN),
        (Answer(409, {"code": "new_kind"}), Verdict.OVER),
        (Answer(400, {"code": "malformed_json"}), Verdict.OWN_BUG),
        (Answer(401), Verdict.REVOKED),
        (Answer(404, {"code": "unknown_turn"}), Verdict.GONE),
        (Answer(405, {"code": "method_not_allowed"}), Verdict.OWN_BUG),
        (Answer(599), Verdict.RETRY),
    ],
)
def test_the_table_of_verdicts(answer: Answer, verdict: Verdict) -> None:
    assert answer.verdict is verdict


def test_a_damaged_file_of_the_journal_is_removed(spool: Spool) -> None:
    (spool.state / "turns" / "bad.json").write_text("{")
    (spool.state / "turns" / "odd.json").write_text(json.dumps({"what": 1}))
    assert spool.kept == []
    assert list((spool.state / "turns").iterdir()) == []


def test_a_body_is_always_below_the_services_limit(spool: Spool) -> None:
    messages: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": str(n), "content": "é" * 1000} for n in range(2000)
    ]
    body = result_body(
        session_id="s",
        fence=1,
        outcome="done",
        messages=[*messages, {"role": "assistant", "content": "r" * 200_000}],
        given=[],
        native_id="n",
        summary={},
    )
    assert len(json.dumps(body)) <= 1000 * 1024
    assert body["messages"][-1]["content"] == "r" * 200_000
