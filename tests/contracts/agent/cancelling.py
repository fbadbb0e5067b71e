"""The contract of a request that is cancelled: of every agent, and of every agent that calls a server."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from shared.errors import AgentCancelled
from shared.ports.agents import Agent, Cancellation
from tests.contracts.agent.contract import AgentContract, HurriedClock, RemoteAgentContract
from tests.support.certificates import server_context
from tests.support.servers import HANG, STALL, WAIT_SECONDS, HttpServer, Response

PROMPT = 2.0  # seconds until AgentCancelled; one is promised, and the machine may be loaded


class WatchedCancellation(Cancellation):
    """Pauses as the real one does, and tells that a pause has begun."""

    def __init__(self) -> None:
        super().__init__()
        self._pausing = threading.Event()

    def wait(self, seconds: float) -> bool:
        self._pausing.set()
        return super().wait(seconds)

    def paused(self) -> None:
        wait_for(self._pausing)


def wait_for(event: threading.Event) -> None:
    assert event.wait(WAIT_SECONDS)


def cancel_when(reached: Callable[[], object], agent: Agent, cancellation: Cancellation) -> None:
    """Ask in a thread, cancel when `reached` returns, and expect AgentCancelled promptly."""
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(agent.reply, HurriedClock().turn(cancellation=cancellation))
        try:
            reached()
        finally:
            began = time.monotonic()
            cancellation.cancel()
        with pytest.raises(AgentCancelled):
            asked.result(WAIT_SECONDS)
        assert time.monotonic() - began < PROMPT


class CancellableContract(AgentContract):
    """For every agent: the test class provides `working`, which returns when `slow_agent` is at work."""

    @pytest.fixture
    def cancellation(self) -> WatchedCancellation:
        return WatchedCancellation()

    def test_one_that_is_cancelled_already_does_not_begin(
        self, slow_agent: Agent, clock: HurriedClock, cancellation: WatchedCancellation
    ) -> None:
        cancellation.cancel()
        with pytest.raises(AgentCancelled):
            slow_agent.reply(clock.turn(cancellation=cancellation))

    def test_one_at_work_is_cancelled(
        self, slow_agent: Agent, working: Callable[[], object], cancellation: WatchedCancellation
    ) -> None:
        cancel_when(working, slow_agent, cancellation)


class CancellableRemoteContract(RemoteAgentContract, CancellableContract):
    """For every agent that calls a server: the server sees that the connection closes."""

    @pytest.fixture
    def working(self, server: HttpServer) -> Callable[[], object]:
        return lambda: server.received(1)

    @pytest.fixture
    def _trusted(self, certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate.with_suffix(".crt")))
        monkeypatch.setenv("AWS_CA_BUNDLE", str(certificate.with_suffix(".crt")))

    @pytest.fixture(params=["http", "https"])
    def provider(self, request: pytest.FixtureRequest, certificate: Path, _trusted: None) -> Iterator[HttpServer]:
        with HttpServer(tls=server_context(certificate) if request.param == "https" else None) as running:
            yield running

    def test_one_that_is_cancelled_already_sends_nothing(
        self, agent: Agent, server: HttpServer, clock: HurriedClock, cancellation: WatchedCancellation
    ) -> None:
        cancellation.cancel()
        with pytest.raises(AgentCancelled):
            self.ask(agent, clock, cancellation=cancellation)
        assert self.ask(agent, clock) == "a fine answer"
        assert len(server.received(1)) == len(server.requests)

    def test_a_request_without_an_answer_is_closed(
        self, make: Callable[..., Agent], provider: HttpServer, cancellation: WatchedCancellation
    ) -> None:
        provider.script = [HANG]
        cancel_when(lambda: provider.received(1), make(agent_url=provider.url), cancellation)
        provider.saw_close(1)

    def test_an_answer_is_closed_in_its_middle(
        self, make: Callable[..., Agent], provider: HttpServer, cancellation: WatchedCancellation
    ) -> None:
        provider.script = [STALL]
        cancel_when(lambda: wait_for(provider.stalled), make(agent_url=provider.url), cancellation)
        provider.saw_close(1)
        assert len(provider.requests) == 1

    def test_a_pause_before_the_next_try_ends(
        self, make: Callable[..., Agent], server: HttpServer, cancellation: WatchedCancellation
    ) -> None:
        server.script = [self.dialect.error("rate_limited", after="15")]
        cancel_when(cancellation.paused, make(), cancellation)
        assert len(server.requests) == 1

    def test_a_name_that_is_looked_up_is_not_waited_for(
        self,
        make: Callable[..., Agent],
        server: HttpServer,
        cancellation: WatchedCancellation,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        looking, go, look_up = threading.Event(), threading.Event(), socket.getaddrinfo

        def slow(*given: Any, **more: Any) -> Any:
            looking.set()
            go.wait(WAIT_SECONDS)
            return look_up(*given, **more)

        monkeypatch.setattr(socket, "getaddrinfo", slow)
        cancel_when(lambda: wait_for(looking), make(), cancellation)
        go.set()
        server.saw_close(1)  # it connects after all, and then sends nothing
        assert server.requests == []

    @pytest.mark.usefixtures("_trusted")
    def test_a_handshake_without_an_answer_is_closed(
        self, make: Callable[..., Agent], cancellation: WatchedCancellation
    ) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            listening.settimeout(WAIT_SECONDS)
            accepted: list[socket.socket] = []

            def greeted() -> None:
                accepted.append(listening.accept()[0])
                accepted[0].settimeout(WAIT_SECONDS)
                assert accepted[0].recv(65_536)  # the client's half of the handshake

            cancel_when(greeted, make(agent_url=f"https://127.0.0.1:{listening.getsockname()[1]}"), cancellation)
            with accepted[0] as connection:
                assert connection.recv(65_536) == b""

    def test_an_answered_request_leaves_no_connection_open(
        self, agent: Agent, server: HttpServer, clock: HurriedClock
    ) -> None:
        self.ask(agent, clock)
        server.saw_close(1)

    def test_another_request_of_the_same_agent_goes_on(
        self, make: Callable[..., Agent], server: HttpServer, clock: HurriedClock, cancellation: WatchedCancellation
    ) -> None:
        go = threading.Event()

        def later(_: object) -> Response:
            go.wait(WAIT_SECONDS)
            return self.dialect.says("untouched")

        server.script = [later, HANG]
        agent = make()
        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(self.ask, agent, clock)
            server.received(1)
            cancel_when(lambda: server.received(2), agent, cancellation)
            go.set()
            assert other.result(WAIT_SECONDS) == "untouched"
