"""A model on Amazon Bedrock."""

from shared.agents.spec import AgentSpec

SPEC = AgentSpec(
    name="bedrock",
    adapter="shared.agents.bedrock.agent:BedrockAgent",
    description="asks a model on Amazon Bedrock",
    required=("HANDOFF_AGENT_MODEL",),
    needs_aws=True,
)
