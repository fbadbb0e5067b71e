"""The built-in agent, without a model."""

from shared.agents.spec import AgentSpec

SPEC = AgentSpec(
    name="rehearsal",
    adapter="shared.agents.rehearsal.agent:RehearsalAgent",
    description="asks no model and answers with what it was given",
)
