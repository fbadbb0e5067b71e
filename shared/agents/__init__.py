"""Agents: one folder each, and one entry in this list. Other distributions add theirs by entry points."""

from typing import Any

from shared.agents.spec import AgentSpec
from shared.entry_points import with_added

BUILT_IN: tuple[AgentSpec, ...] = (
    AgentSpec(
        name="rehearsal",
        adapter="shared.agents.rehearsal.agent:RehearsalAgent",
        description="asks no model and answers with what it was given",
    ),
    AgentSpec(
        name="openai",
        adapter="shared.agents.openai.agent:OpenAIAgent",
        description="asks a model over OpenAI's chat completions API",
        required=("HANDOFF_AGENT_MODEL",),
    ),
    AgentSpec(
        name="bedrock",
        adapter="shared.agents.bedrock.agent:BedrockAgent",
        description="asks a model on Amazon Bedrock",
        required=("HANDOFF_AGENT_MODEL",),
        needs_aws=True,
    ),
    AgentSpec(
        name="http",
        adapter="shared.agents.http.agent:HttpAgent",
        description="asks the operator's own agent over HTTP",
        required=("HANDOFF_AGENT_URL", "HANDOFF_AGENT_KEY"),
    ),
)
AGENTS: tuple[AgentSpec, ...]
"""All agents. Made when it is first read: a distribution that adds one imports modules of this package."""


def __getattr__(name: str) -> Any:
    if name != "AGENTS":
        raise AttributeError(name)
    made = globals()[name] = with_added(BUILT_IN, "handoff.agents", name=lambda spec: spec.name)
    return made
