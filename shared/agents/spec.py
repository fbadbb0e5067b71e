"""Description of an agent, without importing it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class AgentSpec:
    """One agent. `adapter` is `module:Class`, made as `Class(settings, secrets, clock)`; making it opens nothing.

    `description` completes "This agent …". `required` are the environment variables that it cannot work without.
    An agent that `needs_aws` works in a deployment only, because a local run simulates AWS.
    """

    name: str
    adapter: str
    description: str
    required: tuple[str, ...] = ()
    needs_aws: bool = False
