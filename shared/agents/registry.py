"""Agents by name, each imported only when it is the one in use."""

from importlib import import_module
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from shared.agents import AGENTS
from shared.errors import AgentFailed

if TYPE_CHECKING:
    from shared.agents.spec import AgentSpec
    from shared.ports.agents import Agent
    from shared.ports.clock import Clock
    from shared.ports.secrets import Secrets
    from shared.settings import Settings


class UnknownAgent(AgentFailed):
    """HANDOFF_AGENT names no agent."""

    def __init__(self, name: str) -> None:
        known = ", ".join(spec.name for spec in AGENTS)
        super().__init__(f"{name!r} is not a known agent. The operator must set HANDOFF_AGENT to one of: {known}.")


def spec_of(name: str) -> "AgentSpec":
    """The spec of an agent. Raises UnknownAgent."""
    for spec in AGENTS:
        if spec.name == name:
            return spec
    raise UnknownAgent(name)


def build_agent(settings: "Settings", secrets: "Secrets", clock: "Clock") -> "Agent":
    """The agent that the settings name. Raises UnknownAgent; any other missing setting shows in its first turn."""
    module, _, name = spec_of(settings.agent).adapter.partition(":")
    agent: Agent = getattr(import_module(module), name)(settings, secrets, clock)
    return agent


def summary(settings: "Settings") -> str:
    """The agent in one sentence for users: without its address."""
    try:
        spec = spec_of(settings.agent)
    except UnknownAgent as unknown:
        return str(unknown)
    model = f" with {settings.agent_model}" if settings.agent_model else ""
    return f"{spec.name}{model}: {spec.description}."


def describe(settings: "Settings") -> str:
    """The agent in a few words for the operator: with its address, without credentials."""
    model = f" with {settings.agent_model}" if settings.agent_model else ""
    address = f" at {_without_credentials(settings.agent_url)}" if settings.agent_url else ""
    return f"{settings.agent}{model}{address}"


def _without_credentials(url: str) -> str:
    """A URL without the parts that may hold a password or a key."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
