"""What each answer of the service does to a result, to a turn and to the runner."""

import asyncio
import io
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from handoff_cli.config.sources import Configuration
from handoff_cli.runner.machine.files import private_directory, state_directory
from handoff_cli.runner.machine.identity import Identity
from handoff_cli.runner.machine.journal import Entry, Journal
from handoff_cli.runner.machine.sessions import HandedOver, Sessions
from handoff_cli.runner.report import Report, open_log
from handoff_cli.runner.results import result_body
from handoff_cli.runner.settings import Settings
from handoff_cli.runner.wire.service import RunnerService
from handoff_cli.runner.wire.verdicts import Answer, Verdict
from handoff_cli.runner.work.deliver import deliver
from handoff_cli.runner.work.parts import Parts
from handoff_cli.ui.terminal import Terminal
from tests.cli.runner.conftest import QUICK
from tests.support.fake_runner_service import TOKEN, FakeRunnerService
from tests.support.fault_proxy import FaultProxy
from tests.support.servers import DROP, Response, json_response

RUNNER = "runner-1"


class Spool:
    """A begun turn whose result is on the disk."""

    def __init__(self, home: Path, service: FakeRunnerService, proxy: FaultProxy) -> None:
        self.state = private_directory(state_directory({"HOME": str(home)}))
        self.service, self.proxy = service, proxy
        self.now = 1_000_000.0
        self.journal = Journal(self.state, lambda: self.now)
        self.sessions = Sessions(self.state)
        service.runners[RUNNER] = {"name": "laptop", "agents": []}
        self.session = service.add_session(RUNNER, "claude-code", "n1")
        self.sessions.add(HandedOver(self.session.id, "claude-code", "n1", "/src", proxy.url))
        self.turn = service.offer(self.session, "hello")
        self.turn.state, self.turn.fence, self.turn.begun_fence = "claimed", 1, 1
        self.parts: Parts | None = None

    def entry(self, *, output: int = 10, reply: str = "The reply.") -> Entry:
        call = {"id": "c1", "type": "function", "function": {"name": "edit", "arguments": "{}"}}
        body = result_body(
            session_id=self.session.id,
            fence=1,
            outcome="done",
            messages=[
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c1", "content": "o" * output},
                {"role": "assistant", "content": reply},
            ],
            given=["w1"],
            native_id="n1",
            summary={"steps": 1, "files": 0, "seconds": 3},
        )
        return self.journal.spool(Entry(self.turn.id, self.session.id, "claim-1", fence=1), body)

    def deliver(self, entry: Entry | None = None) -> bool:
        entry = entry or self.entry()
        return asyncio.run(self._with_parts(lambda parts: deliver(parts, entry)))

    @property
    def kept(self) -> list[str]:
        return [entry.turn_id for entry in self.journal.all()]

    async def _with_parts(self, work: Callable[[Parts], Awaitable[bool]]) -> bool:
        terminal = Terminal(io.StringIO(), io.StringIO(), io.StringIO(), environ={})
        async with RunnerService(Configuration(self.proxy.url, TOKEN, "test", "test"), RUNNER) as service:
            self.parts = Parts(
                identity=Identity(RUNNER, "laptop"),
                url=self.proxy.url,
                service=service,
                state=self.state,
                journal=self.journal,
                sessions=self.sessions,
                settings=Settings(),
                environ={},
                report=Report(terminal, open_log(self.state / "runner.log")),
                clock=QUICK,
            )
            return await work(self.parts)


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    with FakeRunnerService() as service, FaultProxy(service.url) as proxy:
        yield Spool(tmp_path, service, proxy)


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
    assert spool.turn.commits == 1


def test_a_lost_answer_makes_no_second_commit(spool: Spool) -> None:
    spool.proxy.fail("POST .*/result", lose=True)
    assert spool.deliver()
    assert (spool.turn.commits, len(spool.turn.results)) == (1, 2)


@pytest.mark.parametrize("code", ["ended", "moved", "superseded", "other_result"])
def test_a_turn_that_is_over_drops_the_result(spool: Spool, code: str) -> None:
    spool.proxy.fail("POST .*/result", response=json_response({"code": code}, 409), count=99)
    assert not spool.deliver()
    assert len(spool.proxy.requests) == 1
    assert spool.kept == []
    assert spool.sessions.find(spool.session.id)


def test_a_session_that_is_gone_is_forgotten(spool: Spool) -> None:
    del spool.service.sessions[spool.session.id]
    assert not spool.deliver()
    assert spool.kept == []
    assert spool.sessions.find(spool.session.id) is None


def test_a_turn_that_is_gone_keeps_its_session(spool: Spool) -> None:
    entry = spool.entry()
    del spool.service.turns[spool.turn.id]
    assert not spool.deliver(entry)
    assert spool.kept == []
    assert spool.sessions.find(spool.session.id)


@pytest.mark.parametrize("status", [401, 403])
def test_a_revoked_runner_keeps_the_result_and_stops(spool: Spool, status: int) -> None:
    spool.proxy.fail("POST .*/result", response=json_response({"code": "runner_revoked"}, status), count=99)
    assert not spool.deliver()
    assert spool.kept == [spool.turn.id]
    assert spool.parts
    assert spool.parts.halt.stopping.is_set()
    assert spool.parts.halt.reason
    assert spool.parts.halt.reason.exit_code == 5


def test_a_runner_that_is_too_old_keeps_the_result_and_claims_nothing(spool: Spool) -> None:
    spool.proxy.fail("POST .*/result", response=json_response({"code": "runner_too_old"}, 426))
    assert not spool.deliver()
    assert spool.kept == [spool.turn.id]
    assert spool.parts
    assert not spool.parts.halt.claiming
    assert not spool.parts.halt.stopping.is_set()


def test_a_result_that_is_too_large_loses_tool_output_first(spool: Spool) -> None:
    spool.proxy.fail("POST .*/result", response=json_response({"code": "too_large"}, 413))
    assert spool.deliver(spool.entry(output=2000))
    assert spool.turn.reply == "The reply."
    assert len(spool.turn.results[0]["messages"][1]["content"]) <= 200


def test_a_result_that_stays_too_large_loses_text_but_is_sent(spool: Spool) -> None:
    spool.proxy.fail("POST .*/result", response=json_response({"code": "too_large"}, 413), count=4)
    assert spool.deliver(spool.entry(output=2000, reply="r" * 200_000))
    assert len(spool.turn.reply) <= 8 * 1024
    sizes = [len(request.body) for request in spool.proxy.requests]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("status", [400, 422])
def test_a_result_that_is_not_understood_is_sent_once_more_as_failed(spool: Spool, status: int) -> None:
    spool.proxy.fail("POST .*/result", response=json_response({"code": "invalid"}, status))
    assert spool.deliver()
    assert spool.turn.results[0]["outcome"] == "failed"
    assert f"status={status} code=invalid" in (spool.state / "runner.log").read_text()


def test_there_is_no_third_attempt(spool: Spool) -> None:
    spool.proxy.fail("POST .*/result", response=json_response({"code": "invalid"}, 422), count=99)
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
    ("answer", "verdict"),
    [
        (Answer(200), Verdict.GO_ON),
        (Answer(0), Verdict.RETRY),
        (Answer(408), Verdict.RETRY),
        (Answer(409, {"code": "taken"}), Verdict.TAKEN),
        (Answer(409, {"code": "new_kind"}), Verdict.OVER),
        (Answer(400, {"code": "invalid"}), Verdict.OWN_BUG),
        (Answer(401), Verdict.REVOKED),
        (Answer(404, {"code": "unknown_turn"}), Verdict.GONE),
        (Answer(405, {"code": "method"}), Verdict.OWN_BUG),
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
