"""What a person may set in the environment of a local run, as parameters of the template and as secrets."""

from collections.abc import Mapping

PARAMETERS = {
    "HANDOFF_AGENT": "Agent",
    "HANDOFF_AGENT_URL": "AgentUrl",
    "HANDOFF_AGENT_MODEL": "AgentModel",
    "HANDOFF_AGENT_WINDOW": "AgentWindow",
    "HANDOFF_REHEARSAL_SECONDS": "RehearsalSeconds",
    "HANDOFF_DEADLINE_SECONDS": "DeadlineSeconds",
    "HANDOFF_LEASE_SECONDS": "LeaseSeconds",
    "HANDOFF_TURN_LEASE_SECONDS": "TurnLeaseSeconds",
    "LOG_LEVEL": "LogLevel",
}
SECRETS = {"HANDOFF_AGENT_KEY": "agent/key"}


def parameters_from(environment: Mapping[str, str]) -> dict[str, str]:
    """The template's parameters that are set; the rest keep the template's defaults."""
    return {name: environment[variable] for variable, name in PARAMETERS.items() if environment.get(variable)}


def secrets_from(environment: Mapping[str, str]) -> dict[str, str]:
    """The secrets that are set."""
    return {name: environment[variable] for variable, name in SECRETS.items() if environment.get(variable)}
