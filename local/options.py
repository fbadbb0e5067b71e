"""What a person may set in the environment of a local run, as parameters of the template and as secrets."""

from collections.abc import Iterator, Mapping

PARAMETERS = {
    "HANDOFF_AGENT": "Agent",
    "HANDOFF_AGENT_URL": "AgentUrl",
    "HANDOFF_AGENT_MODEL": "AgentModel",
    "HANDOFF_AGENT_WINDOW": "AgentWindow",
    "HANDOFF_REHEARSAL_SECONDS": "RehearsalSeconds",
    "HANDOFF_DEADLINE_SECONDS": "DeadlineSeconds",
    "HANDOFF_LEASE_SECONDS": "LeaseSeconds",
    "HANDOFF_TURN_LEASE_SECONDS": "TurnLeaseSeconds",
    "HANDOFF_FRESHNESS_SECONDS": "FreshnessSeconds",
    "HANDOFF_STRIKES": "Strikes",
    "LOG_LEVEL": "LogLevel",
}
SECRETS = {"HANDOFF_AGENT_KEY": "agent/key"}
NUMBERS = [variable for variable in PARAMETERS if variable.endswith(("_SECONDS", "_WINDOW", "_STRIKES"))]
NEEDED = {
    "rehearsal": (),
    "openai": ("HANDOFF_AGENT_MODEL",),
    "http": ("HANDOFF_AGENT_URL", "HANDOFF_AGENT_KEY"),
}
"""What each agent that works on a laptop cannot do without."""


def parameters_from(environment: Mapping[str, str]) -> dict[str, str]:
    """The template's parameters that are set; the rest keep the template's defaults."""
    return {name: environment[variable] for variable, name in PARAMETERS.items() if environment.get(variable)}


def secrets_from(environment: Mapping[str, str]) -> dict[str, str]:
    """The secrets that are set."""
    return {name: environment[variable] for variable, name in SECRETS.items() if environment.get(variable)}


def faults(environment: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with the settings, a sentence each: better told before the start than with the first turn."""
    agent = environment.get("HANDOFF_AGENT") or "rehearsal"
    if agent == "bedrock":
        yield "bedrock works only in a deployment: here all of AWS is simulated. Choose openai, http or rehearsal."
    elif agent not in NEEDED:
        yield f"HANDOFF_AGENT={agent} is no known agent. Choose one of: {', '.join(NEEDED)}."
    for variable in NEEDED.get(agent, ()):
        if not environment.get(variable):
            yield f"HANDOFF_AGENT={agent} needs {variable} too. docs/agents.md has examples."
    for variable in NUMBERS:
        if (value := environment.get(variable)) and not (value.isascii() and value.isdigit()):
            yield f"{variable}={value} is not a whole number."
    if (url := environment.get("HANDOFF_AGENT_URL")) and not url.startswith(("http://", "https://")):
        yield "HANDOFF_AGENT_URL is not an address: it begins with http:// or https://."
