"""Any OpenAI-compatible chat completions endpoint."""

from shared.agents.spec import AgentSpec

SPEC = AgentSpec(
    name="openai",
    adapter="shared.agents.openai.agent:OpenAIAgent",
    description="asks a model over OpenAI's chat completions API",
    required=("HANDOFF_AGENT_MODEL",),
)
