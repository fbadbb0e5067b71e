"""The agents by name, each imported only when it is the one in use."""

from importlib import import_module
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from shared.errors import AgentFailed

if TYPE_CHECKING:
    from shared.ports.agents import Agent
    from shared.ports.clock import Clock
    from shared.ports.secrets import Secrets
    from shared.settings import Settings

# name -> module, class. Every class is made as Class(settings, secrets, clock) and opens nothing before its first turn.
AGENTS = {
    "rehearsal": ("shared.agents.rehearsal.agent", "RehearsalAgent"),
    "openai": ("shared.agents.openai.agent", "OpenAIAgent"),
    "bedrock": ("shared.agents.bedrock.agent", "BedrockAgent"),
    "http": ("shared.agents.http.agent", "HttpAgent"),
}


class UnknownAgent(AgentFailed):
    """HANDOFF_AGENT names no agent."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name!r} is no known agent. Whoever runs this service sets HANDOFF_AGENT to one of: {', '.join(AGENTS)}."
        )


def build_agent(settings: "Settings", secrets: "Secrets", clock: "Clock") -> "Agent":
    """The agent that the settings name. Raises UnknownAgent; anything else that is missing shows in its first turn."""
    if settings.agent not in AGENTS:
        raise UnknownAgent(settings.agent)
    module, name = AGENTS[settings.agent]
    agent: Agent = getattr(import_module(module), name)(settings, secrets, clock)
    return agent


def describe(settings: "Settings") -> str:
    """The agent in a few words for whoever starts the service. Imports no agent and names no key."""
    model = f" with {settings.agent_model}" if settings.agent_model else ""
    where = f" at {_without_secrets(settings.agent_url)}" if settings.agent_url else ""
    return settings.agent if settings.agent == "rehearsal" else f"{settings.agent}{model}{where}"


def _without_secrets(url: str) -> str:
    """A URL without the parts that may hold a password or a key."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
