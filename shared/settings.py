"""Settings of a deployment, read once from the environment that template.yaml writes; nothing else reads it."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Times are milliseconds. Defaults are those of the real platforms and of a sensible deployment."""

    handoffs_table: str
    sessions_table: str
    turns_queue_url: str
    dead_turns_queue_url: str = ""
    secrets_prefix: str = "/handoff"
    public_url: str = ""
    agent: str = "rehearsal"
    agent_url: str = ""
    agent_model: str = ""
    agent_window: int = 0  # tokens that the model takes in at once; 0: unknown, nothing is left out
    rehearsal_seconds: float = 0.0
    telegram_api_url: str = "https://api.telegram.org/bot"
    telegram_link_url: str = "https://t.me"
    slack_api_url: str = "https://slack.com/api/"
    slack_link_url: str = "https://slack.com/app_redirect"
    discord_api_url: str = "https://discord.com/api/v10"
    discord_link_url: str = "https://discord.com/channels"
    deadline: int = 900_000
    lease: int = 60_000
    turn_lease: int = 90_000
    freshness: int = 3_600_000
    strikes: int = 3
    log_level: str = "INFO"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Settings":
        """Read the settings. A missing table is a KeyError that names the variable."""
        given = {name: environment[variable] for name, variable in _TEXTS.items() if environment.get(variable)}
        times = {
            name: int(float(environment[variable]) * 1000)
            for name, variable in _SECONDS.items()
            if environment.get(variable)
        }
        return cls(
            handoffs_table=environment["HANDOFFS_TABLE"],
            sessions_table=environment["SESSIONS_TABLE"],
            turns_queue_url=environment.get("TURNS_QUEUE_URL", ""),
            rehearsal_seconds=float(environment.get("HANDOFF_REHEARSAL_SECONDS") or 0),
            agent_window=int(environment.get("HANDOFF_AGENT_WINDOW") or cls.agent_window),
            strikes=int(environment.get("HANDOFF_STRIKES") or cls.strikes),
            **given,  # type: ignore[arg-type]  # names and types are those of the two tables below
            **times,  # type: ignore[arg-type]  # likewise
        )


_TEXTS = {
    "dead_turns_queue_url": "DEAD_TURNS_QUEUE_URL",
    "secrets_prefix": "SECRETS_PREFIX",
    "public_url": "PUBLIC_URL",
    "agent": "HANDOFF_AGENT",
    "agent_url": "HANDOFF_AGENT_URL",
    "agent_model": "HANDOFF_AGENT_MODEL",
    "telegram_api_url": "TELEGRAM_API_URL",
    "telegram_link_url": "TELEGRAM_LINK_URL",
    "slack_api_url": "SLACK_API_URL",
    "slack_link_url": "SLACK_LINK_URL",
    "discord_api_url": "DISCORD_API_URL",
    "discord_link_url": "DISCORD_LINK_URL",
    "log_level": "LOG_LEVEL",
}
_SECONDS = {
    "deadline": "HANDOFF_DEADLINE_SECONDS",
    "lease": "HANDOFF_LEASE_SECONDS",
    "turn_lease": "HANDOFF_TURN_LEASE_SECONDS",
    "freshness": "HANDOFF_FRESHNESS_SECONDS",
}


def is_loaded_ahead(environment: Mapping[str, str]) -> bool:
    """Whether Lambda loads this container before there is an event for it."""
    return environment.get("AWS_LAMBDA_INITIALIZATION_TYPE") == "provisioned-concurrency"
