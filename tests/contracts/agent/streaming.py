"""The contract of agents whose model answers in pieces: all of the plain one, and what pieces add."""

from collections.abc import Callable, Iterator
from typing import cast

import pytest

from shared.errors import AgentFailed, AgentUnavailable
from shared.ports.agents import Agent
from tests.contracts.agent.cancelling import CancellableRemoteContract, WatchedCancellation, cancel_when
from tests.contracts.agent.contract import HurriedClock, ListeningAgent, ModelContract
from tests.contracts.agent.streams import StreamedDialect
from tests.support.servers import HttpServer, Response
from tests.support.waiting import eventually


class StreamedContract(ModelContract, CancellableRemoteContract):
    """For agents that can stream: they are always asked for progress here, and the server streams."""

    dialect: StreamedDialect

    def prepared(self, agent: Agent) -> Agent:
        return ListeningAgent(agent)

    @pytest.fixture
    def listening(self, make: Callable[..., Agent]) -> ListeningAgent:
        return cast("ListeningAgent", make())

    def test_words_are_told_while_they_come(
        self, listening: ListeningAgent, server: HttpServer, clock: HurriedClock
    ) -> None:
        head, one, two, *end = self.dialect.pieces("One. ", "Two.")

        def slowly() -> Iterator[bytes]:
            yield head + one
            eventually(lambda: listening.heard == ["One."])
            yield two[:20]
            yield two[20:]
            eventually(lambda: listening.heard == ["One.", "One. Two."])
            yield from end

        server.script = [Response(pieces=slowly())]
        assert self.ask(listening, clock) == "One. Two."

    def test_thoughts_are_not_told(self, listening: ListeningAgent, server: HttpServer, clock: HurriedClock) -> None:
        server.script = [Response(pieces=self.dialect.pieces("<thi", "nk>PRIVATE", " even so</thi", "nk>", "Yes"))]
        assert self.ask(listening, clock) == "Yes"
        assert "PRIVATE" not in "".join(listening.heard)

    def test_a_stream_without_its_end_is_asked_for_again(
        self, listening: ListeningAgent, server: HttpServer, clock: HurriedClock
    ) -> None:
        begun = self.dialect.pieces("half an answer")[:2]
        server.script = [Response(pieces=begun), self.dialect.says("whole")]
        assert self.ask(listening, clock) == "whole"
        server.script = [Response(pieces=begun)]
        with pytest.raises(AgentUnavailable):
            self.ask(listening, clock)

    @pytest.mark.parametrize("kind", ["rate_limited", "overloaded", "broken"])
    def test_trouble_in_the_middle_is_asked_for_again(
        self, listening: ListeningAgent, server: HttpServer, clock: HurriedClock, kind: str
    ) -> None:
        begun = self.dialect.pieces("half an answer")[:2]
        server.script = [Response(pieces=[*begun, self.dialect.trouble(kind)]), self.dialect.says("whole")]
        assert self.ask(listening, clock) == "whole"
        assert listening.heard[-1] == "whole"

    def test_a_refusal_in_the_middle_fails(
        self, listening: ListeningAgent, server: HttpServer, clock: HurriedClock
    ) -> None:
        server.script = [Response(pieces=[self.dialect.pieces()[0], self.dialect.trouble("refused")])]
        with pytest.raises(AgentFailed):
            self.ask(listening, clock)

    def test_a_stream_is_closed_in_its_middle(
        self, listening: ListeningAgent, server: HttpServer, cancellation: WatchedCancellation
    ) -> None:
        begun = self.dialect.pieces("half an answer")[:2]
        server.script = [Response(pieces=begun, hangs=True)]
        cancel_when(lambda: eventually(lambda: listening.heard), listening, cancellation)
        server.saw_close(1)
        assert len(server.requests) == 1

    def test_a_stream_that_pauses_ends_at_the_deadline(
        self, listening: ListeningAgent, server: HttpServer, clock: HurriedClock
    ) -> None:
        begun = self.dialect.pieces("half an answer")[:2]
        deadline = clock.now() + 600

        def late() -> Iterator[bytes]:
            server.stopping.wait(0.3)  # so that a time-out of each read alone would end after the deadline
            yield from begun

        server.script = [Response(pieces=late(), hangs=True)]
        with pytest.raises(AgentUnavailable):
            self.ask(listening, clock, deadline=deadline)
        assert clock.now() < deadline + 2_000

    def test_a_model_that_does_not_stream_answers_in_one_piece(
        self, listening: ListeningAgent, server: HttpServer, clock: HurriedClock
    ) -> None:
        plain = type(self.dialect).__bases__[0]()
        server.script = [
            self.dialect.refuses_to_stream(),
            lambda request: plain.answer(request, "all at once"),
        ]
        assert self.ask(listening, clock) == "all at once"
        assert self.ask(listening, clock) == "all at once"
        assert len(server.requests) == 3, "it is not asked to stream again"
