"""Every agent against the contract."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest

from shared.agents import AGENTS, cancelling, http_client
from shared.agents.registry import build_agent
from shared.ports.agents import Agent
from tests.contracts.agent.cancelling import (
    CancellableContract,
    CancellableRemoteContract,
    WatchedCancellation,
    cancel_when,
)
from tests.contracts.agent.contract import (
    HurriedClock,
    ListeningAgent,
    ModelContract,
    TricklingContract,
    settings,
)
from tests.contracts.agent.dialects import BedrockDialect, HttpDialect, OpenAIDialect
from tests.contracts.agent.streaming import StreamedContract
from tests.contracts.agent.streams import StreamedBedrockDialect, StreamedOpenAIDialect
from tests.support.certificates import self_signed
from tests.support.secrets import FakeSecrets
from tests.support.servers import HttpServer, Response
from tests.support.waiting import eventually


@pytest.fixture
def server() -> Iterator[HttpServer]:
    with HttpServer() as running:
        yield running


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return self_signed(tmp_path_factory.mktemp("tls"))


class TestRehearsal(CancellableContract):
    @pytest.fixture
    def agent(self, clock: HurriedClock) -> Agent:
        return build_agent(settings(), FakeSecrets(), clock)

    @pytest.fixture
    def slow_agent(self, clock: HurriedClock) -> Agent:
        return build_agent(settings(rehearsal_seconds=30), FakeSecrets(), clock)

    @pytest.fixture
    def working(self, cancellation: WatchedCancellation) -> Callable[[], object]:
        return cancellation.paused


class TestOpenAI(ModelContract, TricklingContract, CancellableRemoteContract):
    dialect = OpenAIDialect()


class TestOpenAIStreamed(StreamedContract, TricklingContract):
    dialect = StreamedOpenAIDialect()

    def test_silence_is_no_trouble_before_the_words_and_a_lost_connection_after_them(
        self, listening: ListeningAgent, server: HttpServer, clock: HurriedClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(http_client, "SILENCE_SECONDS", 0.1)
        monkeypatch.setattr(cancelling, "GRACE", 0.0)
        monkeypatch.setattr(cancelling, "LOOK_EVERY", 0.05)
        head, one, end = self.dialect.pieces("One")

        def thinks() -> Iterator[bytes]:
            yield head
            server.stopping.wait(0.5)  # the model thinks
            yield one + end

        server.script = [Response(pieces=thinks())]
        assert self.ask(listening, clock) == "One"
        server.script = [Response(pieces=[head + one], hangs=True), self.dialect.says("whole")]
        assert self.ask(listening, clock) == "whole"
        assert len(server.requests) == 3


class TestOpenAIWithoutStreams(ModelContract, TricklingContract):
    """A server that ignores that it was asked to stream."""

    dialect = OpenAIDialect()

    def prepared(self, agent: Agent) -> Agent:
        return ListeningAgent(agent)


class RoleOfLambda:
    @pytest.fixture(autouse=True)
    def _role(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """What Lambda gives a function: a role's credentials and a region."""
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATEST")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-the-role")
        monkeypatch.setenv("AWS_REGION", "eu-central-1")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


class TestBedrock(RoleOfLambda, ModelContract, CancellableRemoteContract):
    dialect = BedrockDialect()


class TestBedrockStreamed(RoleOfLambda, StreamedContract):
    dialect = StreamedBedrockDialect()

    def test_an_answer_is_closed_in_its_middle(
        self, make: Callable[..., Agent], provider: HttpServer, cancellation: WatchedCancellation
    ) -> None:
        """As in the plain form, with a body that boto3 can read."""
        begun = self.dialect.pieces("half an answer")[:2]
        provider.script = [Response(pieces=begun, hangs=True)]
        listening = cast("ListeningAgent", make(agent_url=provider.url))
        cancel_when(lambda: eventually(lambda: listening.heard), listening, cancellation)
        provider.saw_close(1)
        assert len(provider.requests) == 1


class TestHttp(TricklingContract, CancellableRemoteContract):
    dialect = HttpDialect()
    kinds_that_fail = ("bad_key", "refused")


def test_every_agent_of_the_registry_is_under_contract() -> None:
    remote = {suite.dialect.name for suite in (TestOpenAI, TestBedrock, TestHttp)}
    assert remote | {"rehearsal"} == {spec.name for spec in AGENTS}
