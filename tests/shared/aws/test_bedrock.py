"""A version of botocore that does not show its connections: calls work, and cancelled ones are abandoned."""

import pytest

from shared.agents.bedrock.agent import BedrockAgent
from shared.aws import bedrock
from shared.ports.agents import Cancellation
from tests.contracts.agent.cancelling import cancel_when
from tests.contracts.agent.contract import HurriedClock, settings
from tests.contracts.agent.dialects import BedrockDialect
from tests.support.secrets import FakeSecrets
from tests.support.servers import HANG, HttpServer


@pytest.fixture(autouse=True)
def _role(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATEST")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-the-role")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture(autouse=True)
def _other_botocore(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = bedrock._report_connections
    monkeypatch.setattr(bedrock, "_report_connections", lambda _, opened: shown(object(), opened))


def test_calls_work_and_cancelled_ones_return(caplog: pytest.LogCaptureFixture) -> None:
    clock = HurriedClock()
    with HttpServer(BedrockDialect().says("hi"), HANG) as server:
        agent = BedrockAgent(settings(agent_url=server.url, agent_model="m"), FakeSecrets(), clock)
        assert agent.reply(clock.turn()) == "hi"
        assert "abandoned" in caplog.text
        cancel_when(lambda: server.received(2), agent, Cancellation())
