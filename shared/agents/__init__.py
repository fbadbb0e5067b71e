"""Agents: one folder each, and one entry in this list."""

from shared.agents.spec import AgentSpec

AGENTS = (
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
