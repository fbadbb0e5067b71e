"""Hundreds of malformed requests: never a 5xx, always a documented problem, and a rejection writes nothing."""

import gzip
import json
import random
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from local.service import LocalService
from shared.domain.messages import canonical, digest
from tests.support.api_user import ApiUser, add_user
from tests.support.malformed_requests import VALUES, Call, good_calls, malformed
from tests.support.platform_cases import DEFAULT_PLATFORM, PLATFORMS, SHARED_CHATS
from tests.support.problems import problem_code
from tests.support.snapshots import settled_snapshot, snapshot
from tests.support.waiting import eventually


@pytest.fixture(scope="module")
def quiet() -> Iterator[LocalService]:
    """A service that no other test writes to."""
    with LocalService(mode="in_process") as running:
        yield running


class Fuzzer:
    """Sends malformed requests and checks the response and the tables."""

    def __init__(self, service: LocalService) -> None:
        self.user = add_user(service)
        self.session_id = self.user.create_session()
        done = self.user.hand_off(self.user.create_session(), target=SHARED_CHATS[DEFAULT_PLATFORM])
        self.good = good_calls(self.session_id, done["id"])
        self.before = settled_snapshot(service)

    def send(self, call: Call) -> httpx.Response:
        headers = [("Content-Type", "application/json"), *call.headers.items()]
        named = dict(headers).items()
        request = self.user.http.build_request(
            call.method,
            "/",
            content=call.body,
            headers=[(name.encode(), value.encode("latin-1")) for name, value in named],
            extensions={"target": call.target.encode()},
        )
        return self.user.http.send(request)

    def check(self, call: Call) -> None:
        answer = self.send(call)
        what = f"{call.method} {call.target[:80]} {call.body[:200]!r} {dict(call.headers)}"[:400]
        assert answer.status_code < 500, (what, answer.text[:300])
        if answer.status_code >= 400:
            if call.method != "HEAD":
                problem_code(answer)
            assert snapshot(self.user.service) == self.before, f"rejected, but something was written: {what}"
        else:
            if answer.content:
                json.loads(answer.content, parse_constant=lambda name: pytest.fail(f"{name} in the answer to {what}"))
            self._wait_for(answer)

    def _wait_for(self, answer: httpx.Response) -> None:
        """Wait for the handoff or turn that the request started, so that the next snapshot is stable."""
        body = answer.json() if answer.content else {}
        if answer.status_code == 202 and "state" in body:
            self.user.wait_for_handoff(body["id"])
        elif answer.status_code == 202:
            eventually(lambda: not self.user.session(body["session"]["id"])["turn_running"])
        if answer.request.method != "GET":
            self.before = settled_snapshot(self.user.service)


def fuzz(service: LocalService, seed: int, count: int) -> None:
    chance = random.Random(seed)  # noqa: S311  # a seed reproduces a failure
    fuzzer = Fuzzer(service)
    for _ in range(count):
        fuzzer.check(malformed(chance, chance.choice(fuzzer.good)))


@pytest.mark.parametrize("seed", [1, 2])
def test_malformed_requests_get_a_documented_problem(quiet: LocalService, seed: int) -> None:
    fuzz(quiet, seed, 30)


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(100, 110))
def test_many_malformed_requests_get_documented_problems(quiet: LocalService, seed: int) -> None:
    fuzz(quiet, seed, 2000)


def test_an_odd_value_is_stored_unchanged(quiet: LocalService) -> None:
    user = add_user(quiet)
    session_id = user.create_session(count=0)
    kept: list[dict[str, Any]] = []
    for value in VALUES:
        raw = b'{"epoch":0,"after":%d,"messages":[{"role":"user","content":"x","v":%s}]}' % (len(kept), value)
        answer = user.http.post(
            f"/sessions/{session_id}/messages", content=raw, headers={"Content-Type": "application/json"}
        )
        if answer.status_code == 200:
            kept.append(json.loads(raw)["messages"][0])
        else:
            assert problem_code(answer) in ("malformed_json", "invalid_request")
    assert len(kept) > len(VALUES) // 2

    read = user.http.get(f"/sessions/{session_id}/messages")
    assert [canonical(message) for message in json.loads(read.content)["messages"]] == list(map(canonical, kept))
    done = user.hand_off(session_id, target=SHARED_CHATS[DEFAULT_PLATFORM])
    assert done["receipt"]["digest"] == digest(kept)
    assert done["receipt"]["message_count"] == len(kept)


def test_a_chunked_body_is_accepted(quiet: LocalService) -> None:
    user = add_user(quiet)
    session_id, raw = (
        user.create_session(count=0),
        json.dumps({"epoch": 0, "after": 0, "messages": [{"role": "user", "content": "é" * 900}]}),
    )
    pieces = (raw.encode()[at : at + 7] for at in range(0, len(raw.encode()), 7))

    answer = user.http.post(
        f"/sessions/{session_id}/messages", content=pieces, headers={"Content-Type": "application/json"}
    )

    assert answer.json() == {"message_count": 1, "epoch": 0}


@pytest.mark.parametrize("declared", ["chunked", "declared"])
def test_a_body_over_the_limit_is_rejected(quiet: LocalService, declared: str) -> None:
    user = add_user(quiet)
    session_id, piece = user.create_session(count=0), b" " * 65_536
    content = (piece for _ in range(17)) if declared == "chunked" else piece * 17

    answer = user.http.post(
        f"/sessions/{session_id}/messages", content=content, headers={"Content-Type": "application/json"}
    )

    assert problem_code(answer) == "body_too_large"


TARGETS = ["", " ", "\x00", "..", "../users/@me", "6001000000000000001/../..", ":", "%2e", "@x", "#general", "07001"]


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("target", TARGETS, ids=repr)
def test_a_malformed_target_fails_the_handoff(quiet: LocalService, platform: str, target: str) -> None:
    user: ApiUser = add_user(quiet)
    session_id = user.create_session(title="nowhere")

    answer = user.request_handoff(session_id, platform, target=target)

    if answer.status_code == 202:
        done = user.wait_for_handoff(answer.json()["id"])
        assert done["state"] == "failed", done
        assert done["error"]["message"]
    else:
        assert problem_code(answer) in ("invalid_request", "no_home")
    assert user.session(session_id)["owner"] == "cli"


def test_a_compressed_body_is_rejected(quiet: LocalService) -> None:
    user = add_user(quiet)
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}

    for body in (gzip.compress(b"{}"), b"\x1f\x8b123"):
        assert problem_code(user.http.post("/handoffs", content=body, headers=headers)) == "encoded_body"
