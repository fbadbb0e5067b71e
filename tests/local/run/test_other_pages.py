"""Pages of other origins in Chromium, with and without DNS rebinding: they read nothing and change nothing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.local.run.conftest import LocalRun
from tests.support.browser import Browser, missing
from tests.support.processes import environment
from tests.support.servers import HttpServer, Request, Response

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(missing() is not None, reason=missing() or ""),
]
ATTACK = (Path(__file__).parent / "attack.js").read_text()
RUNTIME = "/2018-06-01/runtime"
SAY = '{"platform": "telegram", "chat": "7001", "user": "owner", "text": "from another page"}'
FAULT = '{"platform": "telegram", "kind": "forbidden", "count": 1}'
REMOVE = '{"platform": "telegram", "chat": "-1002"}'
HANDOFF = '{"platform": "telegram", "messages": [{"role": "user", "content": "x"}]}'


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser("--host-resolver-rules=MAP evil.example 127.0.0.1") as running:
        yield running


@pytest.fixture
def other_site() -> Iterator[HttpServer]:
    """Serves an empty page, and answers everything else to any page, so that the attack is known to work."""

    def answer(request: Request) -> Response:
        kind = "text/html" if request.path == "/" else "text/plain"
        allowed = {"access-control-allow-origin": origin} if (origin := request.headers.get("origin")) else {}
        return Response(
            body=b"open", headers={"content-type": kind, "access-control-allow-credentials": "true", **allowed}
        )

    with HttpServer(answer) as running:
        yield running


Target = tuple[int, str, str, str, str | None]


def targets(run: LocalRun) -> list[Target]:
    """Port, path to read, path to write to, body, path for a WebSocket: one Runtime API stands for all."""
    function = next(environment(pid) for pid in run.processes if "AWS_ENDPOINT_URL" in environment(pid))
    api, simulator, aws = run.api.port, run.simulator.port, httpx.URL(function["AWS_ENDPOINT_URL"]).port
    assert api and simulator and aws  # noqa: PT018 - for mypy
    runtime = next(port.number for port in run.ports if port.number not in (api, simulator, aws))
    return [
        (api, "/sessions", "/handoffs", HANDOFF, "/sessions"),
        (api, "/handoffs", "/webhooks/telegram", SAY, None),
        (simulator, "/state", "/say", SAY, "/discord/gateway"),
        (simulator, "/live", "/faults", FAULT, None),
        (simulator, "/static/app.js", "/remove", REMOVE, None),
        (aws, "/?Action=ListUsers&Version=2010-05-08", "/", "Action=CreateUser&UserName=x", "/"),
        (
            runtime,
            f"{RUNTIME}/invocation/next",
            f"{RUNTIME}/init/error",
            '{"errorType": "x"}',
            f"{RUNTIME}/invocation/next",
        ),
    ]


def everything(run: LocalRun) -> Any:
    """What a page could have changed: chats, faults, sessions, handoffs and processes; each function still answers."""
    with httpx.stream("GET", run.simulator.join("/live")) as live:
        scene = next(line for line in live.iter_lines() if line.startswith("data: "))
    with httpx.Client(base_url=run.api, headers={"Authorization": f"Bearer {run.variables['HANDOFF_TOKEN']}"}) as api:
        sessions, handoffs = api.get("/sessions"), api.get("/handoffs")
        invalid, unsigned = api.post("/handoffs", json={}), api.post("/webhooks/telegram", json={})
    statuses = [answer.status_code for answer in (sessions, handoffs, invalid, unsigned)]
    assert statuses == [200, 200, 422, 401]
    return scene, sessions.json(), handoffs.json(), run.processes


@pytest.mark.parametrize("host", ["127.0.0.1", "evil.example"])
def test_a_page_of_another_origin_reaches_nothing(
    local_run: LocalRun, browser: Browser, other_site: HttpServer, host: str
) -> None:
    before = everything(local_run)
    port = httpx.URL(other_site.url).port
    browser.open(f"http://{host}:{port}/")
    reached = [browser.run(ATTACK, f"http://127.0.0.1:{number}", *what) for number, *what in targets(local_run)]
    assert [one for one in reached if one] == []
    assert everything(local_run) == before
    open_server = browser.run(ATTACK, f"http://127.0.0.1:{port}", "/read", "/write", "x", None)
    assert {"cors GET: 200 open", "cors POST: 200 open"} <= set(open_server)
    assert [request.method for request in other_site.requests if request.path == "/write"].count("POST") >= 4


def test_a_rebound_page_reaches_nothing(local_run: LocalRun, browser: Browser) -> None:
    before = everything(local_run)
    reached = []
    for port, *what in targets(local_run):
        origin = f"http://evil.example:{port}"
        browser.open(f"{origin}/")
        assert browser.run("return location.origin") == origin
        answers = browser.run(ATTACK, origin, *what)
        assert [text for text in answers if text.startswith("cors GET: 403")], answers
        reached += [text for text in answers if ": 403" not in text]
    assert reached == []
    assert everything(local_run) == before
