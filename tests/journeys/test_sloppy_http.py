"""Requests of sloppy clients, by the hundred: never a 5xx, always a documented problem, nothing written on refusal."""

import gzip
import json
import random
import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from local.service import LocalService
from shared.domain.messages import canonical, digest
from tests.journeys.hostile import add_user, code_of, settled, written
from tests.journeys.sloppy import VALUES, Call, good_calls, spoilt
from tests.support.desk import Desk, until


@pytest.fixture(scope="module")
def quiet() -> Iterator[LocalService]:
    """A service that nobody else writes to."""
    with LocalService(mode="in_process") as running:
        yield running


class Sloppy:
    """A client that sends anything, and looks at what became of it."""

    def __init__(self, service: LocalService) -> None:
        self.desk = add_user(service)
        self.session_id = self.desk.session()
        done = self.desk.hand_over(self.desk.session(), target="-1001000000001")
        self.good = good_calls(self.session_id, done["id"])
        self.before = settled(service)

    def send(self, call: Call) -> httpx.Response:
        headers = [("Content-Type", "application/json"), *call.headers.items()]
        named = dict(headers).items()
        request = self.desk.http.build_request(
            call.method,
            "/",
            content=call.body,
            headers=[(name.encode(), value.encode("latin-1")) for name, value in named],
            extensions={"target": call.target.encode()},
        )
        return self.desk.http.send(request)

    def check(self, call: Call) -> None:
        answer = self.send(call)
        what = f"{call.method} {call.target[:80]} {call.body[:200]!r} {dict(call.headers)}"[:400]
        assert answer.status_code < 500, (what, answer.text[:300])
        if answer.status_code >= 400:
            if call.method != "HEAD":
                code_of(answer)
            assert written(self.desk.service) == self.before, f"refused, and yet something was written: {what}"
        else:
            if answer.content:
                json.loads(answer.content, parse_constant=lambda name: pytest.fail(f"{name} in the answer to {what}"))
            self._wait_for(answer)

    def _wait_for(self, answer: httpx.Response) -> None:
        """Whatever was accepted is worked on: nothing else is asked before it has ended."""
        body = answer.json() if answer.content else {}
        if answer.status_code == 202 and "state" in body:
            self.desk.wait(body["id"])
        elif answer.status_code == 202:
            until(lambda: not self.desk.see(body["session"]["id"])["turn_running"])
        if answer.request.method != "GET":
            self.before = settled(self.desk.service)


def fuzz(service: LocalService, seed: int, count: int) -> None:
    chance = random.Random(seed)  # noqa: S311  # a seed makes a failure come back
    sloppy = Sloppy(service)
    for _ in range(count):
        sloppy.check(spoilt(chance, chance.choice(sloppy.good)))


@pytest.mark.parametrize("seed", [1, 2])
def test_sloppy_requests_are_refused_by_the_book_and_write_nothing(quiet: LocalService, seed: int) -> None:
    fuzz(quiet, seed, 60)


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(100, 110))
def test_many_sloppy_requests_are_refused_by_the_book_and_write_nothing(quiet: LocalService, seed: int) -> None:
    fuzz(quiet, seed, 2000)


def test_every_odd_value_that_is_stored_comes_back_as_it_was(quiet: LocalService) -> None:
    desk = add_user(quiet)
    session_id = desk.session(count=0)
    kept: list[dict[str, Any]] = []
    for value in VALUES:
        raw = b'{"epoch":0,"after":%d,"messages":[{"role":"user","content":"x","v":%s}]}' % (len(kept), value)
        answer = desk.http.post(
            f"/sessions/{session_id}/messages", content=raw, headers={"Content-Type": "application/json"}
        )
        if answer.status_code == 200:
            kept.append(json.loads(raw)["messages"][0])
        else:
            assert code_of(answer) in ("malformed_json", "invalid_request")
    assert len(kept) > len(VALUES) // 2

    read = desk.http.get(f"/sessions/{session_id}/messages")
    assert [canonical(message) for message in json.loads(read.content)["messages"]] == list(map(canonical, kept))
    done = desk.hand_over(session_id, target="-1001000000001")
    assert done["receipt"]["digest"] == digest(kept)
    assert done["receipt"]["message_count"] == len(kept)


def test_a_body_in_pieces_is_a_body(quiet: LocalService) -> None:
    desk = add_user(quiet)
    session_id, raw = (
        desk.session(count=0),
        json.dumps({"epoch": 0, "after": 0, "messages": [{"role": "user", "content": "é" * 900}]}),
    )
    pieces = (raw.encode()[at : at + 7] for at in range(0, len(raw.encode()), 7))

    answer = desk.http.post(
        f"/sessions/{session_id}/messages", content=pieces, headers={"Content-Type": "application/json"}
    )

    assert answer.json() == {"message_count": 1, "epoch": 0}


@pytest.mark.parametrize("declared", ["chunked", "declared"])
def test_a_body_over_the_limit_is_refused_however_it_comes(quiet: LocalService, declared: str) -> None:
    desk = add_user(quiet)
    session_id, piece = desk.session(count=0), b" " * 65_536
    content = (piece for _ in range(17)) if declared == "chunked" else piece * 17

    answer = desk.http.post(
        f"/sessions/{session_id}/messages", content=content, headers={"Content-Type": "application/json"}
    )

    assert code_of(answer) == "body_too_large"


TARGETS = ["", " ", "\x00", "..", "../users/@me", "6001000000000000001/../..", ":", "%2e", "@x", "#general", "07001"]


@pytest.mark.parametrize("platform", ["telegram", "slack", "discord"])
@pytest.mark.parametrize("target", TARGETS, ids=repr)
def test_a_target_that_is_no_chat_fails_the_handoff_and_reaches_nothing_else(
    quiet: LocalService, platform: str, target: str
) -> None:
    desk: Desk = add_user(quiet)
    session_id = desk.session(title=f"nowhere {uuid.uuid4().hex[:6]}")

    answer = desk.request(session_id, platform, target=target)

    if answer.status_code == 202:
        done = desk.wait(answer.json()["id"])
        assert done["state"] == "failed", done
        assert done["error"]["message"]
    else:
        assert code_of(answer) in ("invalid_request", "no_home")
    assert desk.see(session_id)["owner"] == "cli"


def test_a_compressed_body_is_no_json(quiet: LocalService) -> None:
    desk = add_user(quiet)
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}

    for body in (gzip.compress(b"{}"), b"\x1f\x8b123"):
        assert code_of(desk.http.post("/handoffs", content=body, headers=headers)) == "malformed_json"
