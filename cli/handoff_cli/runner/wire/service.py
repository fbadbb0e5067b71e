"""The calls of the runner. No call raises for an answer or for a missing one: see `Answer`."""

import hashlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import IO, Any, Self
from urllib.parse import quote, urlencode

import httpx

from handoff_cli import __version__
from handoff_cli.api.transport import trust
from handoff_cli.config.sources import Configuration, is_loopback
from handoff_cli.runner.outgoing.opened import OpenedFile, TextFile
from handoff_cli.runner.wire.shapes import (
    MOVES,
    Begun,
    Claimed,
    Events,
    Messages,
    Registered,
    Session,
    Shape,
    StoredFile,
    Taken,
    TakenOrder,
    Turns,
    misfit,
)
from handoff_cli.runner.wire.verdicts import Answer, Verdict

PROTOCOL = 1
WAIT_SECONDS = 25
_SECONDS = 30.0
_CONNECT_SECONDS = 10.0
_CONNECTIONS = 100
_UPLOAD_TIME = httpx.Timeout(60.0, connect=_CONNECT_SECONDS)


class RunnerService:
    """A connection pool to one service, as one runner."""

    def __init__(self, configuration: Configuration, runner_id: str) -> None:
        self._runner = f"/runners/{quote(runner_id, safe='')}"
        headers = {"accept": "application/json", "user-agent": f"handoff-runner/{__version__}"}
        if configuration.token:
            headers["authorization"] = f"Bearer {configuration.token}"
        self.accepts: frozenset[str] = frozenset()
        """What the service takes beyond the first version of these calls, as it says when the runner registers."""
        self.file_limit = 0
        """The size of the largest file that it stores."""
        self._configuration = configuration
        self._client = httpx.AsyncClient(
            base_url=configuration.url,
            headers=headers,
            timeout=httpx.Timeout(_SECONDS, connect=_CONNECT_SECONDS),
            limits=httpx.Limits(max_connections=_CONNECTIONS),
            verify=trust(configuration.url),
            # Never use a proxy to reach this machine.
            trust_env=not is_loopback(configuration.url),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.aclose()

    async def register(
        self, *, name: str, agents: list[dict[str, Any]], orders: Sequence[str] = (), projects: Sequence[str] = ()
    ) -> Answer:
        """Say who this is, which agents it has, which orders it does and which projects are listed. Idempotent."""
        about = {"name": name, "version": __version__, "protocol": PROTOCOL, "agents": agents}
        more = {name: value for name, value in (("orders", [*orders]), ("projects", [*projects])) if value}
        answer = await self._registered({**about, **more})
        if answer.verdict is Verdict.OWN_BUG and more:
            # An older service refuses what it does not know, and says what it does. Else all goes at once: what is left
            # out for a moment is taken as given up.
            answer = await self._registered(about)
            if known := {name: value for name, value in more.items() if name in self.accepts}:
                answer = await self._registered({**about, **known})
        return answer

    async def _registered(self, body: Mapping[str, Any]) -> Answer:
        answer = await self._call("PUT", self._runner, body, shape=Registered)
        is_taken = answer.verdict is Verdict.GO_ON
        self.accepts = frozenset(answer.body.get("accepts") or ()) if is_taken else frozenset()
        self.file_limit = (answer.body.get("file_limit") or 0) if is_taken else 0
        return answer

    async def turns(self, *, wait: int, warm: Sequence[str] = ()) -> Answer:
        """Turns that may be claimed, and those of the `warm` sessions that are not this runner's any more.

        The service may hold the request for `wait` seconds.
        """
        query = urlencode([("wait", wait), *(("warm", session_id) for session_id in warm)])
        return await self._call("GET", f"{self._runner}/turns?{query}", shape=Turns, seconds=wait + _SECONDS)

    async def claim(self, turn_id: str, body: Mapping[str, Any]) -> Answer:
        """Take a turn. The same `claim_id` gets the same answer again."""
        return await self._call("POST", self._turn(turn_id, "claim"), body, shape=Claimed)

    async def begin(self, turn_id: str, body: Mapping[str, Any]) -> Answer:
        """Only an accepted one permits the prompt."""
        return await self._call("POST", self._turn(turn_id, "begin"), body, shape=Begun)

    async def events(self, turn_id: str, body: Mapping[str, Any]) -> Answer:
        """Heartbeat, progress and questions; the answer has decisions and steered words."""
        return await self._call("POST", self._turn(turn_id, "events"), body, shape=Events)

    async def result(self, turn_id: str, body: Mapping[str, Any]) -> Answer:
        """Commit the turn. Repeated, it is accepted again."""
        return await self._call("POST", self._turn(turn_id, "result"), body, shape=Taken)

    async def take_order(self, order_id: str, body: Mapping[str, Any]) -> Answer:
        """Take an order, to do it now. The same `claim_id` gets the same answer again."""
        return await self._call("POST", self._order(order_id, "take"), body, shape=TakenOrder)

    async def renew_order(self, order_id: str, body: Mapping[str, Any]) -> Answer:
        """It is still worked on."""
        return await self._call("POST", self._order(order_id, "renew"), body)

    async def answer_order(self, order_id: str, body: Mapping[str, Any]) -> Answer:
        """Say how an order ended. Repeated, it is accepted again."""
        return await self._call("POST", self._order(order_id, "answer"), body, shape=Taken)

    async def move_by_order(self, order_id: str, what: str, body: Mapping[str, Any]) -> Answer:
        """Store the `session` of a taken order, add `messages` to it, or request its `handoff`. Repeated, accepted again."""
        method = "PUT" if what == "session" else "POST"
        return await self._call(method, self._order(order_id, what), body, shape=MOVES[what])

    async def session(self, session_id: str) -> Answer:
        """Where a session is."""
        return await self._call("GET", f"/sessions/{quote(session_id, safe='')}", shape=Session)

    async def messages(self, session_id: str, *, after: int) -> Answer:
        """One page of the transcript."""
        path = f"/sessions/{quote(session_id, safe='')}/messages?limit=200&after={after}"
        return await self._call("GET", path, shape=Messages)

    async def store_file(self, session_id: str, file: OpenedFile | TextFile) -> Answer:
        """Store a file of a session, unless it is there; the answer has its `id`. Repeated, it is stored once."""
        about = {"sha256": file.sha256, "size": file.size, "type": file.media_type, "name": file.name}
        answer = await self._call("POST", f"/sessions/{quote(session_id, safe='')}/files", about, shape=StoredFile)
        upload = answer.body.get("upload") if answer.verdict is Verdict.GO_ON else None
        return await self._upload(answer, upload, file) if upload else answer

    async def _upload(self, answer: Answer, upload: Mapping[str, Any], file: OpenedFile | TextFile) -> Answer:
        """Put the bytes where the service says, without the token: that may be another server."""
        url = httpx.URL(upload["url"])
        own = httpx.URL(self._configuration.url)
        if url.scheme != "https" and url.host != own.host:
            return Answer(0, odd="an upload to another server without TLS")
        verify, is_here = trust(str(url)), is_loopback(str(url))
        try:
            async with httpx.AsyncClient(timeout=_UPLOAD_TIME, verify=verify, trust_env=not is_here) as client:
                put = await client.put(url, headers=dict(upload["headers"]), content=_streamed(file))
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError):
            return Answer(0)
        return answer if put.is_success else Answer(put.status_code, _problem(put))

    async def file(self, session_id: str, file_id: str, target: IO[bytes], *, most: int) -> str | None:
        """Write the bytes of a file, at most so many; returns their digest, or None if they did not come."""
        path = f"/sessions/{quote(session_id, safe='')}/files/{quote(file_id, safe='')}"
        try:
            async with self._client.stream("GET", path, timeout=_SECONDS) as answer:
                if answer.status_code != httpx.codes.FOUND:
                    return await _copied(answer, target, most)
                url = answer.headers.get("location", "")
            if not (url.startswith("https://") or is_loopback(url)):
                return None
            # Another server: it must not get the token.
            async with (
                httpx.AsyncClient(verify=trust(url), trust_env=not is_loopback(url)) as other,
                other.stream("GET", url, timeout=_SECONDS) as answer,
            ):
                return await _copied(answer, target, most)
        except (httpx.HTTPError, httpx.InvalidURL):
            return None

    def _order(self, order_id: str, what: str) -> str:
        return f"{self._runner}/orders/{quote(order_id, safe='')}/{what}"

    def _turn(self, turn_id: str, what: str) -> str:
        return f"{self._runner}/turns/{quote(turn_id, safe='')}/{what}"

    async def _call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        shape: type[Shape] = Shape,
        seconds: float = _SECONDS,
    ) -> Answer:
        content = None if body is None else json.dumps(body).encode()
        headers = {} if content is None else {"content-type": "application/json"}
        try:
            timeout = httpx.Timeout(seconds, connect=_CONNECT_SECONDS)
            answer = await self._client.request(method, path, content=content, headers=headers, timeout=timeout)
        except (httpx.HTTPError, httpx.InvalidURL, OSError):
            return Answer(0)
        return _answer(answer, shape)


async def _copied(answer: httpx.Response, target: IO[bytes], most: int) -> str | None:
    digest, count = hashlib.sha256(), 0
    if answer.status_code != httpx.codes.OK:
        return None
    async for chunk in answer.aiter_raw():
        count += len(chunk)
        if count > most:
            return None
        digest.update(chunk)
        target.write(chunk)
    return digest.hexdigest()


def _answer(answer: httpx.Response, shape: type[Shape]) -> Answer:
    try:
        body = answer.json()
    except (ValueError, RecursionError):
        body = None
    if answer.is_success and not isinstance(body, dict):
        # Not from the service, whatever the status says: a page of a hotel's network, for example.
        return Answer(0, odd=f"HTTP {answer.status_code} without a JSON object")
    if answer.is_success and (odd := misfit(body, shape)):
        return Answer(0, odd=f"HTTP {answer.status_code} with odd fields ({odd})")
    return Answer(answer.status_code, body if isinstance(body, dict) else {}, _seconds(answer))


def _problem(answer: httpx.Response) -> dict[str, Any]:
    """What the service says of it; storage of others says it in its own way."""
    try:
        body = answer.json()
    except (ValueError, RecursionError):
        body = None
    return body if isinstance(body, dict) else {}


async def _streamed(file: OpenedFile | TextFile) -> AsyncIterator[bytes]:
    for block in file.read():
        yield block


def _seconds(answer: httpx.Response) -> float:
    try:
        return max(0.0, min(300.0, float(str(answer.headers.get("retry-after", "")))))
    except ValueError:
        return 0.0
