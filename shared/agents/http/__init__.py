"""The operator's own agent behind a URL."""

from shared.agents.spec import AgentSpec

SPEC = AgentSpec(
    name="http",
    adapter="shared.agents.http.agent:HttpAgent",
    description="asks the operator's own agent over HTTP",
    required=("HANDOFF_AGENT_URL", "HANDOFF_AGENT_KEY"),
)
