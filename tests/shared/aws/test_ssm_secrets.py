"""Secrets below one path, read once per container."""

import itertools
from typing import TYPE_CHECKING, Any

import pytest

from shared.aws.secrets import SsmSecrets

if TYPE_CHECKING:
    from local.cloud.engine import Engine

NUMBERS = itertools.count()


@pytest.fixture
def ssm(engine: "Engine") -> Any:
    return engine.client("ssm")


@pytest.fixture
def prefix(ssm: Any) -> str:
    """A unique path with more parameters than one page holds."""
    path = f"/handoff-{next(NUMBERS)}"
    for number in range(12):
        ssm.put_parameter(Name=f"{path}/extra/{number}", Value=f"value {number}", Type="SecureString")
    ssm.put_parameter(Name=f"{path}/telegram/bot_token", Value="123:abc", Type="SecureString")
    ssm.put_parameter(Name=f"{path}-other/telegram/bot_token", Value="not mine", Type="SecureString")
    return path


@pytest.mark.parametrize("ending", ["", "/"])
def test_a_secret_is_found_by_its_name_below_the_path(ssm: Any, prefix: str, ending: str) -> None:
    secrets = SsmSecrets(ssm, prefix + ending)
    assert secrets.get("telegram/bot_token") == "123:abc"
    assert [secrets.get(f"extra/{number}") for number in range(12)] == [f"value {number}" for number in range(12)]


def test_a_secret_that_is_not_set_is_none(ssm: Any, prefix: str) -> None:
    assert SsmSecrets(ssm, prefix).get("slack/bot_token") is None


def test_a_path_without_secrets_has_none(ssm: Any) -> None:
    assert SsmSecrets(ssm, "/nothing/here").get("telegram/bot_token") is None


def test_the_key_of_the_agent_has_a_path_for_itself(ssm: Any, prefix: str) -> None:
    ssm.put_parameter(Name=f"{prefix}-agent/key", Value="sk-1", Type="SecureString")
    ssm.put_parameter(Name=f"{prefix}/agent/key", Value="readable by all", Type="SecureString")
    assert SsmSecrets(ssm, prefix).get("agent/key") == "sk-1"


def test_nothing_is_read_before_the_first_get_and_then_all_at_once(engine: "Engine", prefix: str) -> None:
    client = engine.client("ssm")
    asked: list[str] = []
    client.meta.events.register("before-call.ssm", lambda model, **_: asked.append(model.name))
    secrets = SsmSecrets(client, prefix)
    assert asked == []
    secrets.get("telegram/bot_token")
    read = len(asked)
    assert set(asked) == {"GetParametersByPath"}
    secrets.get("extra/1")
    secrets.get("slack/bot_token")
    assert len(asked) == read


def test_a_secret_that_is_added_is_seen_within_a_minute(ssm: Any, prefix: str) -> None:
    now = [0.0]
    secrets = SsmSecrets(ssm, prefix, clock=lambda: now[0])
    assert secrets.get("slack/bot_token") is None
    ssm.put_parameter(Name=f"{prefix}/slack/bot_token", Value="xoxb", Type="SecureString")
    now[0] = 60.0
    assert secrets.get("slack/bot_token") is None
    now[0] = 61.0
    assert secrets.get("slack/bot_token") == "xoxb"
    assert secrets.get("telegram/bot_token") == "123:abc"
