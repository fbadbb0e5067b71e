"""The composition root of a service on one machine: everything that the service needs, on one SQLite file."""

import functools
import logging
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from local.server.held_reads import HeldReads, subject_of
from shared.agents.measured import MeasuredAgent
from shared.agents.registry import build_agent, summary
from shared.clock import SystemClock
from shared.platforms import PLATFORMS
from shared.platforms.registry import PlatformRegistry
from shared.platforms.spec import PlatformSpec
from shared.ports.agents import Agent
from shared.ports.metrics import NoMetrics
from shared.ports.platforms import Platform
from shared.ports.tables import Item, Table
from shared.services import Services
from shared.settings import Settings
from shared.sqlite.database import Database
from shared.sqlite.queues import SqliteDeadTurns, SqliteQueue, SqliteRunQueue, SqliteTurnQueue, SqliteVisibility
from shared.sqlite.secrets import SqliteSecrets
from shared.sqlite.tables import SqliteTables
from shared.store.bundle import store_on
from shared.store.leases import claimed_sessions, void_leases

log = logging.getLogger(__name__)
TURN_VISIBILITY, TURN_RECEIVES = 65.0, 100
RUN_VISIBILITY, RUN_RECEIVES = 960.0, 20
"""As in template.yaml, but a run that restarts have interrupted may come more often: there is no other worker."""
_EFFECTS = frozenset({"open_thread", "send", "edit", "join", "acknowledge"})


@dataclass(frozen=True)
class RunSecrets:
    """The `Secrets` port: those of this run, then those in the file."""

    given: Mapping[str, str] = field(repr=False)
    file: SqliteSecrets

    def get(self, name: str) -> str | None:
        return self.given.get(name) or self.file.get(name)


class DurablePlatforms(PlatformRegistry):
    """Before a platform is asked to do something, everything that led to it is on the disk, its intent included."""

    def __init__(
        self, settings: Settings, secrets: RunSecrets, specs: Sequence[PlatformSpec], sync: Callable[[], None]
    ):
        super().__init__(settings, secrets, specs)
        self._sync = sync

    def get(self, name: str) -> Platform:
        return cast("Platform", _Durable(super().get(name), self._sync))


class _Durable:
    """A platform whose effects wait for the disk."""

    def __init__(self, platform: Platform, sync: Callable[[], None]) -> None:
        self._platform, self._sync = platform, sync

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._platform, name)
        if name not in _EFFECTS:
            return found

        def call(*arguments: Any, **named: Any) -> Any:
            self._sync()
            return found(*arguments, **named)

        return call


@dataclass(frozen=True)
class Engine:
    """The services, and what only the process that runs them needs. The events are set when a queue has changed."""

    services: Services
    database: Database
    tables: SqliteTables
    turns: SqliteQueue
    runs: SqliteQueue
    turns_changed: threading.Event
    runs_changed: threading.Event
    held_reads: HeldReads

    def void_leases(self) -> None:
        """Free what an earlier process held. Only for one that is alone on the file."""
        now = self.services.clock.now()
        void_leases(self.tables, self.tables.held(now), now=now)
        self.turns.release_all()
        self.runs.release_all()

    def hand_back(self) -> None:
        """Give back the turns that an agent of this process still works on, without a strike. Raises DataFileError."""
        now = self.services.clock.now()
        for session in claimed_sessions(self.tables.held(now)):
            if self.services.store.turns.hand_back(session, now=now, until=now, interrupted=None):
                log.info("session %s: its turn goes on after the next start", session.id)
        self.database.sync()

    def expire(self) -> None:
        """Remove what is over, in small steps, so that other writers get their turn."""
        while self.tables.expire(self.services.clock.now()):
            pass
        self.turns.expire()
        self.runs.expire()


def build_engine(
    database: Database,
    settings: Settings,
    *,
    secrets: Mapping[str, str],
    on_handoff: Callable[[Item], None],
    platforms: Sequence[PlatformSpec] = PLATFORMS,
) -> Engine:
    """The services on an open file. `on_handoff` is called with each handoff that was written."""
    clock, metrics = SystemClock(), NoMetrics()
    turns_changed, runs_changed = threading.Event(), threading.Event()
    held_reads = HeldReads()

    def changed(table: Table, item: Item) -> None:
        if table is Table.HANDOFFS:
            on_handoff(item)
        if subject := subject_of(table, item):
            held_reads.changed(subject)

    tables = SqliteTables(database, changed)
    turns = SqliteQueue(
        database, clock, "turns", visibility=TURN_VISIBILITY, max_receives=TURN_RECEIVES, changed=turns_changed.set
    )
    runs = SqliteQueue(
        database, clock, "runs", visibility=RUN_VISIBILITY, max_receives=RUN_RECEIVES, changed=runs_changed.set
    )
    known = RunSecrets(secrets, SqliteSecrets(database))

    @functools.cache
    def agent() -> Agent:
        return MeasuredAgent(build_agent(settings, known, clock), clock, metrics)

    services = Services(
        settings=settings,
        clock=clock,
        store=store_on(tables, settings.limits, metrics),
        queue=SqliteTurnQueue(turns),
        visibility=lambda receipt: SqliteVisibility(turns, receipt),
        dead_turns=SqliteDeadTurns(turns.dead_letters),
        runs=SqliteRunQueue(runs),
        platforms=DurablePlatforms(settings, known, platforms, database.sync),
        agent=agent,
        agent_summary=summary(settings),
        new_id=lambda: uuid.uuid4().hex,
        metrics=metrics,
        changes=held_reads,
    )
    return Engine(services, database, tables, turns, runs, turns_changed, runs_changed, held_reads)


def settings_from(environment: Mapping[str, str], *, public_url: str, platform_urls: Mapping[str, Any]) -> Settings:
    """The variables of docs/agents.md and of template.yaml, without its limits per user unless they are set."""
    defaults = {
        "HANDOFF_MAX_OPEN_HANDOFFS": "0",
        "HANDOFF_MAX_TURNS_PER_HOUR": "0",
        "HANDOFF_MAX_STORED_MEGABYTES": "0",
    }
    given = {**defaults, **environment, "HANDOFFS_TABLE": "handoffs", "SESSIONS_TABLE": "sessions"}
    read = Settings.from_environment({**given, "PUBLIC_URL": public_url, "PLATFORM_URLS": "", "METRICS_STACK": ""})
    return replace(read, platform_urls=platform_urls)
