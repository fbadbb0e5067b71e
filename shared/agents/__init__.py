"""Agents: one folder each, and one entry in this list. Other distributions add theirs by entry points."""

from typing import Any

from shared.agents import bedrock, http, openai, rehearsal
from shared.agents.spec import AgentSpec
from shared.entry_points import with_added

BUILT_IN: tuple[AgentSpec, ...] = (rehearsal.SPEC, openai.SPEC, bedrock.SPEC, http.SPEC)
AGENTS: tuple[AgentSpec, ...]
"""All agents. Made when it is first read: a distribution that adds one imports modules of this package."""


def __getattr__(name: str) -> Any:
    if name != "AGENTS":
        raise AttributeError(name)
    made = globals()[name] = with_added(BUILT_IN, "handoff.agents", name=lambda spec: spec.name)
    return made
