"""Every agent against the contract."""

from collections.abc import Iterator

import pytest

from shared.agents import AGENTS
from shared.agents.registry import build_agent
from shared.ports.agents import Agent
from tests.contracts.agent.contract import (
    AgentContract,
    HurriedClock,
    ModelContract,
    TricklingContract,
    settings,
)
from tests.contracts.agent.dialects import BedrockDialect, HttpDialect, OpenAIDialect
from tests.support.secrets import FakeSecrets
from tests.support.servers import HttpServer


@pytest.fixture
def server() -> Iterator[HttpServer]:
    with HttpServer() as running:
        yield running


class TestRehearsal(AgentContract):
    @pytest.fixture
    def agent(self, clock: HurriedClock) -> Agent:
        return build_agent(settings(), FakeSecrets(), clock)

    @pytest.fixture
    def slow_agent(self, clock: HurriedClock) -> Agent:
        return build_agent(settings(rehearsal_seconds=30), FakeSecrets(), clock)


class TestOpenAI(ModelContract, TricklingContract):
    dialect = OpenAIDialect()


class TestBedrock(ModelContract):
    dialect = BedrockDialect()

    @pytest.fixture(autouse=True)
    def _role(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """What Lambda gives a function: a role's credentials and a region."""
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATEST")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-the-role")
        monkeypatch.setenv("AWS_REGION", "eu-central-1")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


class TestHttp(TricklingContract):
    dialect = HttpDialect()
    kinds_that_fail = ("bad_key", "refused")


def test_every_agent_of_the_registry_is_under_contract() -> None:
    remote = {suite.dialect.name for suite in (TestOpenAI, TestBedrock, TestHttp)}
    assert remote | {"rehearsal"} == {spec.name for spec in AGENTS}
