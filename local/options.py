"""Environment variables of a local run, as parameters of the template and as secrets."""

import shlex
from collections.abc import Iterator, Mapping

from shared.agents import AGENTS
from shared.domain.usage import parse_amount

PARAMETERS = {
    "HANDOFF_AGENT": "Agent",
    "HANDOFF_AGENT_URL": "AgentUrl",
    "HANDOFF_AGENT_MODEL": "AgentModel",
    "HANDOFF_AGENT_MODELS": "AgentModels",
    "HANDOFF_AGENT_WINDOW": "AgentWindow",
    "HANDOFF_REHEARSAL_SECONDS": "RehearsalSeconds",
    "HANDOFF_DEADLINE_SECONDS": "DeadlineSeconds",
    "HANDOFF_LEASE_SECONDS": "LeaseSeconds",
    "HANDOFF_TURN_LEASE_SECONDS": "TurnLeaseSeconds",
    "HANDOFF_FRESHNESS_SECONDS": "FreshnessSeconds",
    "HANDOFF_STRIKES": "Strikes",
    "HANDOFF_BUDGET": "SessionBudget",
    "HANDOFF_VOICE_URL": "VoiceUrl",
    "HANDOFF_VOICE_MODEL": "VoiceModel",
    "LOG_LEVEL": "LogLevel",
}
SECRETS = {"HANDOFF_AGENT_KEY": "agent/key", "HANDOFF_VOICE_KEY": "agent/voice_key"}
NUMBERS = [variable for variable in PARAMETERS if variable.endswith(("_SECONDS", "_WINDOW", "_STRIKES"))]


def parameters_from(environment: Mapping[str, str]) -> dict[str, str]:
    """The template's parameters that are set; the rest keep the template's defaults."""
    return {name: environment[variable] for variable, name in PARAMETERS.items() if environment.get(variable)}


def secrets_from(environment: Mapping[str, str]) -> dict[str, str]:
    """The secrets that are set."""
    return {name: environment[variable] for variable, name in SECRETS.items() if environment.get(variable)}


def faults(environment: Mapping[str, str]) -> Iterator[str]:
    """Errors in the settings, one sentence each: reported before the start instead of at the first turn."""
    yield from _agent_faults(environment)
    for variable in NUMBERS:
        if (value := environment.get(variable)) and not (value.isascii() and value.isdigit()):
            yield f"{variable}={value} is not a whole number."
    for amount in filter(None, environment.get("HANDOFF_BUDGET", "").split(",")):
        if parse_amount(amount) is None:
            yield f"HANDOFF_BUDGET={amount.strip()} is not an amount such as 5 or 200k tokens."
    yield from _voice_faults(environment)
    for variable in ("HANDOFF_AGENT_URL", "HANDOFF_VOICE_URL"):
        if (url := environment.get(variable)) and not url.startswith(("http://", "https://")):
            yield f"{variable} must begin with http:// or https://."


def _agent_faults(environment: Mapping[str, str]) -> Iterator[str]:
    agent = environment.get("HANDOFF_AGENT") or "rehearsal"
    local = {spec.name: spec for spec in AGENTS if not spec.needs_aws}
    if agent not in local:
        is_known = any(agent == spec.name for spec in AGENTS)
        why = "works only in a deployment on AWS" if is_known else "is not a known agent"
        yield f"HANDOFF_AGENT={agent} {why}. Choose one of: {', '.join(local)}."
    for variable in local[agent].required if agent in local else ():
        if not environment.get(variable):
            yield f"HANDOFF_AGENT={agent} needs {variable} too. docs/agents.md has examples."
    if environment.get("HANDOFF_AGENT_MODELS") and not environment.get("HANDOFF_AGENT_MODEL"):
        yield "HANDOFF_AGENT_MODELS needs HANDOFF_AGENT_MODEL too: the model that answers until another is chosen."


def _voice_faults(environment: Mapping[str, str]) -> Iterator[str]:
    if environment.get("HANDOFF_VOICE_URL") and not environment.get("HANDOFF_VOICE_MODEL"):
        yield "HANDOFF_VOICE_URL needs HANDOFF_VOICE_MODEL too. docs/voice.md has examples."
    try:
        shlex.split(environment.get("HANDOFF_VOICE_COMMAND", ""))
    except ValueError:
        yield "HANDOFF_VOICE_COMMAND has a quote that is not closed."
