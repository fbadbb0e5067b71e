"""Agents by name, imported only when used."""

import subprocess
import sys

import pytest

from local.cloud.sam import to_cloudformation
from local.paths import TEMPLATE
from shared.agents import AGENTS
from shared.agents.registry import UnknownAgent, build_agent, describe, summary
from shared.agents.spec import AgentSpec
from shared.errors import AgentFailed
from tests.contracts.agent.contract import KEY, HurriedClock, settings
from tests.support.secrets import FakeSecrets


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        UnknownAgent, match=r"'clippy' is not a known agent.*rehearsal, openai, bedrock, http"
    ) as caught:
        build_agent(settings(agent="clippy"), FakeSecrets({"agent/key": KEY}), HurriedClock())
    assert isinstance(caught.value, AgentFailed), "a turn tells the person instead of crashing"


@pytest.mark.parametrize("name", [spec.name for spec in AGENTS])
def test_an_agent_is_made_without_touching_its_secret(name: str) -> None:
    secrets = FakeSecrets({"agent/key": KEY})
    build_agent(settings(agent=name), secrets, HurriedClock())
    assert secrets.requested == []


HEAVY = {"httpx", "boto3", "botocore", "openai"}


@pytest.mark.parametrize(
    ("name", "needs"),
    [("rehearsal", set()), ("openai", {"httpx"}), ("http", {"httpx"}), ("bedrock", {"boto3", "botocore"})],
)
def test_only_the_agent_in_use_is_imported(name: str, needs: set[str]) -> None:
    program = f"""
import sys
from shared.agents.registry import build_agent, describe
from shared.settings import Settings
settings = Settings("h", "s", "q", agent={name!r})
describe(settings)
assert not {HEAVY!r} & set(sys.modules), "the registry alone is light"
build_agent(settings, None, None)
print(*sorted({HEAVY!r} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == needs


def test_the_operator_sees_model_and_address_but_no_key() -> None:
    assert describe(settings()) == "rehearsal"
    known = settings(
        agent="openai", agent_model="llama3", agent_url="http://me:secret@127.0.0.1:11434/v1?api-key=secret"
    )
    assert describe(known) == "openai with llama3 at http://127.0.0.1:11434/v1"
    assert describe(settings(agent="bedrock", agent_model="some.model")) == "bedrock with some.model"


@pytest.mark.parametrize("spec", AGENTS, ids=lambda spec: spec.name)
def test_users_see_name_model_and_description(spec: AgentSpec) -> None:
    told = summary(settings(agent=spec.name, agent_model="llama3", agent_url="http://internal.example"))
    assert told == f"{spec.name} with llama3: {spec.description}."


def test_users_are_told_of_an_unknown_agent() -> None:
    assert "HANDOFF_AGENT" in summary(settings(agent="clippy"))


def test_the_template_allows_exactly_the_listed_agents() -> None:
    parameters = to_cloudformation(TEMPLATE.read_text(), "us-east-1")["Parameters"]
    assert parameters["Agent"]["AllowedValues"] == [spec.name for spec in AGENTS]
