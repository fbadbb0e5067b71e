"""Agents: one folder each, and one entry in this list."""

from shared.agents import bedrock, http, openai, rehearsal
from shared.agents.spec import AgentSpec

AGENTS: tuple[AgentSpec, ...] = (rehearsal.SPEC, openai.SPEC, bedrock.SPEC, http.SPEC)
