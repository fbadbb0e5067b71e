"""Settings of a deployment, read once from the environment that template.yaml writes; nothing else reads it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from shared.domain.limits import Limits

MEGABYTE = 1_000_000
DEFAULT_LIMITS = Limits(open_handoffs=20, turns_per_hour=120, stored_bytes=500_000_000, files_bytes=2_000_000_000)


@dataclass(frozen=True)
class Settings:
    """Times are milliseconds. The defaults are those of the template."""

    handoffs_table: str
    sessions_table: str
    turns_queue_url: str
    dead_turns_queue_url: str = ""
    runs_queue_url: str = ""
    secrets_prefix: str = "/handoff"
    public_url: str = ""
    agent: str = "rehearsal"
    agent_url: str = ""
    agent_model: str = ""
    agent_models: str = ""  # further ones that people may choose for a session, separated by commas
    agent_window: int = 0  # tokens that the model takes in at once; 0: unknown, nothing is left out
    rehearsal_seconds: float = 0.0
    platform_urls: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # overrides: see PlatformSpec.urls
    deadline: int = 900_000
    lease: int = 60_000
    turn_lease: int = 90_000
    freshness: int = 3_600_000
    strikes: int = 3
    budget: str = (
        ""  # of each session in a chat: amounts as in `/budget`, separated by commas; the first that can be counted
    )
    limits: Limits = DEFAULT_LIMITS
    file_bytes: int = 25_000_000  # of one file
    file_days: int = 30  # how long files are kept
    files_bucket: str = ""
    agent_sees: bool = False  # whether the model takes pictures
    agent_reads: bool = False  # whether it takes PDF documents, too
    voice_url: str = ""  # of a server that transcribes
    voice_model: str = ""  # empty: there is none
    metrics_stack: str = ""  # the name under which metrics are kept; empty: none are written
    log_level: str = "INFO"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Settings":
        """Raises KeyError with the variable's name for a missing table, ValueError for a value that cannot be read."""
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
            platform_urls=_platform_urls(environment.get("PLATFORM_URLS") or "{}"),
            rehearsal_seconds=float(environment.get("HANDOFF_REHEARSAL_SECONDS") or 0),
            agent_window=int(environment.get("HANDOFF_AGENT_WINDOW") or cls.agent_window),
            strikes=int(environment.get("HANDOFF_STRIKES") or cls.strikes),
            limits=_limits(environment, cls.limits),
            file_bytes=int(environment.get("HANDOFF_MAX_FILE_MEGABYTES") or cls.file_bytes // MEGABYTE) * MEGABYTE,
            agent_sees=environment.get("HANDOFF_AGENT_SEES") in ("yes", "documents"),
            agent_reads=environment.get("HANDOFF_AGENT_SEES") == "documents",
            file_days=int(environment.get("HANDOFF_FILE_DAYS") or cls.file_days),
            **given,  # type: ignore[arg-type]  # names and types are those of the two tables below
            **times,  # type: ignore[arg-type]  # likewise
        )


_TEXTS = {
    "dead_turns_queue_url": "DEAD_TURNS_QUEUE_URL",
    "runs_queue_url": "RUNS_QUEUE_URL",
    "files_bucket": "FILES_BUCKET",
    "secrets_prefix": "SECRETS_PREFIX",
    "public_url": "PUBLIC_URL",
    "agent": "HANDOFF_AGENT",
    "agent_url": "HANDOFF_AGENT_URL",
    "agent_model": "HANDOFF_AGENT_MODEL",
    "agent_models": "HANDOFF_AGENT_MODELS",
    "voice_url": "HANDOFF_VOICE_URL",
    "voice_model": "HANDOFF_VOICE_MODEL",
    "budget": "HANDOFF_BUDGET",
    "metrics_stack": "METRICS_STACK",
    "log_level": "LOG_LEVEL",
}
_SECONDS = {
    "deadline": "HANDOFF_DEADLINE_SECONDS",
    "lease": "HANDOFF_LEASE_SECONDS",
    "turn_lease": "HANDOFF_TURN_LEASE_SECONDS",
    "freshness": "HANDOFF_FRESHNESS_SECONDS",
}


def _limits(environment: Mapping[str, str], default: Limits) -> Limits:
    megabytes = environment.get("HANDOFF_MAX_STORED_MEGABYTES") or default.stored_bytes // MEGABYTE
    of_files = environment.get("HANDOFF_MAX_FILES_MEGABYTES") or default.files_bytes // MEGABYTE
    return Limits(
        open_handoffs=int(environment.get("HANDOFF_MAX_OPEN_HANDOFFS") or default.open_handoffs),
        turns_per_hour=int(environment.get("HANDOFF_MAX_TURNS_PER_HOUR") or default.turns_per_hour),
        stored_bytes=int(megabytes) * MEGABYTE,
        files_bytes=int(of_files) * MEGABYTE,
    )


def _platform_urls(text: str) -> Mapping[str, Mapping[str, str]]:
    explanation = 'PLATFORM_URLS must be JSON such as {"telegram": {"api": "https://…", "link": "https://…"}}'
    try:
        given = json.loads(text)
    except ValueError as error:
        raise ValueError(explanation) from error
    if not isinstance(given, dict) or not all(_is_urls(urls) for urls in given.values()):
        raise ValueError(explanation)
    return given


def _is_urls(urls: object) -> bool:
    return isinstance(urls, dict) and urls.keys() <= {"api", "link"} and all(isinstance(u, str) for u in urls.values())


def is_loaded_ahead(environment: Mapping[str, str]) -> bool:
    """Whether Lambda loads this container before there is an event for it, to keep it or to take a snapshot of it."""
    return environment.get("AWS_LAMBDA_INITIALIZATION_TYPE") in ("provisioned-concurrency", "snap-start")
