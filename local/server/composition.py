"""The composition root of a service on one machine: everything that the service needs, on one SQLite file."""

import functools
import logging
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, cast

from local.server.held_reads import HeldReads, subject_of
from local.server.pool import Visitors
from shared.agents.measured import MeasuredAgent
from shared.agents.registry import build_agent, summary
from shared.clock import SystemClock
from shared.errors import NotSent
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
from shared.sqlite.files import DirectoryFiles
from shared.sqlite.queues import SqliteDeadTurns, SqliteQueue, SqliteRunQueue, SqliteTurnQueue, SqliteVisibility
from shared.sqlite.secrets import SqliteSecrets
from shared.sqlite.tables import SqliteTables
from shared.store.bundle import store_on
from shared.store.leases import claimed_sessions, void_leases
from shared.voice import summary as voice_summary
from shared.voice import transcriber_of

log = logging.getLogger(__name__)
TURN_VISIBILITY, TURN_RECEIVES = 65.0, 100
RUN_VISIBILITY, RUN_RECEIVES = 960.0, 20
"""As in template.yaml, but a run that restarts have interrupted may come more often: there is no other worker."""
_EFFECTS = frozenset({"open_thread", "send", "send_file", "edit", "join", "acknowledge"})
_MAY_FAIL = frozenset(
    {
        *("open_thread", "send", "send_file", "edit", "join", "find_thread", "find_message"),
        *("resolve_chat", "is_private", "fetch", "fetch_file"),
    }
)
"""Calls of a platform that raise PlatformErrors."""
VISITORS = 4
OTHER_PLACES = ""
"""The lane of terminals, and of platforms that this version does not know."""


@dataclass(frozen=True)
class RunSecrets:
    """The `Secrets` port: those of this run, then those in the file."""

    given: Mapping[str, str] = field(repr=False)
    file: SqliteSecrets

    def get(self, name: str) -> str | None:
        return self.given.get(name) or self.file.get(name)


class DurablePlatforms(PlatformRegistry):
    """Before a platform is asked to do something, everything that led to it is on the disk, its intent included.

    Work of one platform that has to call another one, as the delivery of what a session said before it moved, fails as a
    call to a platform that is down does while too many such calls wait. It is repeated later.
    """

    def __init__(
        self, settings: Settings, secrets: RunSecrets, specs: Sequence[PlatformSpec], sync: Callable[[], None]
    ):
        super().__init__(settings, secrets, specs)
        self._sync = sync
        self._visitors = Visitors(VISITORS)

    def get(self, name: str) -> Platform:
        return cast("Platform", _Durable(name, super().get(name), self._sync, self._visitors))


class _Durable:
    """A platform whose effects wait for the disk, and which few threads of other lanes may wait for."""

    def __init__(self, lane: str, platform: Platform, sync: Callable[[], None], visitors: Visitors) -> None:
        self._lane, self._platform, self._sync, self._visitors = lane, platform, sync, visitors

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._platform, name)
        if name not in _EFFECTS and name not in _MAY_FAIL:
            return found

        def call(*arguments: Any, **named: Any) -> Any:
            if name in _EFFECTS:
                self._sync()
            if name not in _MAY_FAIL:
                return found(*arguments, **named)
            with self._visitors.admitted(self._lane) as is_admitted:
                if not is_admitted:
                    raise NotSent(f"{self._lane} has not answered earlier calls yet")
                return found(*arguments, **named)

        return call


@dataclass(frozen=True)
class WatchedQueue:
    """A queue, and the event that is set when it has changed."""

    queue: SqliteQueue
    changed: threading.Event


@dataclass(frozen=True)
class Engine:
    """The services, and what only the process that runs them needs. `turns` has a queue for each lane."""

    services: Services
    database: Database
    tables: SqliteTables
    turns: Mapping[str, WatchedQueue]
    runs: WatchedQueue
    held_reads: HeldReads
    files: DirectoryFiles

    @property
    def queues(self) -> list[SqliteQueue]:
        return [watched.queue for watched in (*self.turns.values(), self.runs)]

    def void_leases(self) -> None:
        """Free what an earlier process held. Only for one that is alone on the file."""
        now = self.services.clock.now()
        void_leases(self.tables, self.tables.held(now), now=now)
        for queue in self.queues:
            queue.release_all()

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
        for queue in self.queues:
            queue.expire()
        days = self.services.settings.file_days + 1  # a day later than their items: a net, as the bucket has
        self.files.expire(before=self.services.clock.now() / 1000 - days * 86_400)


def build_engine(
    database: Database,
    settings: Settings,
    *,
    secrets: Mapping[str, str],
    on_handoff: Callable[[Item], None],
    files: DirectoryFiles,
    platforms: Sequence[PlatformSpec] = PLATFORMS,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> Engine:
    """The services on an open file. `on_handoff` is called with each handoff that was written.

    `environment` is that of programs that it starts.
    """
    clock, metrics = SystemClock(), NoMetrics()
    held_reads = HeldReads()

    def changed(table: Table, item: Item) -> None:
        if table is Table.HANDOFFS:
            on_handoff(item)
        if subject := subject_of(table, item):
            held_reads.changed(subject)

    tables = SqliteTables(database, changed)

    def queue(name: str, lane: str, visibility: float, max_receives: int) -> WatchedQueue:
        event = threading.Event()
        own = f"{name}-{lane}" if lane else name
        made = SqliteQueue(database, clock, own, visibility, max_receives, changed=event.set, family=name)
        return WatchedQueue(made, event)

    lanes = [OTHER_PLACES, *(spec.name for spec in platforms)]
    turns = {lane: queue("turns", lane, TURN_VISIBILITY, TURN_RECEIVES) for lane in lanes}
    runs = queue("runs", "", RUN_VISIBILITY, RUN_RECEIVES)
    other_places = turns[OTHER_PLACES].queue
    known = RunSecrets(secrets, SqliteSecrets(database))

    transcriber = transcriber_of(settings, known, environment)

    @functools.cache
    def agent() -> Agent:
        return MeasuredAgent(build_agent(settings, known, clock), clock, metrics)

    services = Services(
        settings=settings,
        clock=clock,
        store=store_on(tables, settings.limits, metrics),
        queue=SqliteTurnQueue(other_places, {lane: watched.queue for lane, watched in turns.items() if lane}),
        visibility=lambda receipt: SqliteVisibility(other_places, receipt),  # workers use that of their own queue
        dead_turns=SqliteDeadTurns(other_places.dead_letters),
        runs=SqliteRunQueue(runs.queue),
        platforms=DurablePlatforms(settings, known, platforms, database.sync),
        files=files,
        transcriber=transcriber,
        voice_summary=voice_summary(transcriber, settings),
        tries_voice=True,
        agent=agent,
        agent_summary=summary(settings),
        new_id=lambda: uuid.uuid4().hex,
        metrics=metrics,
        changes=held_reads,
    )
    return Engine(services, database, tables, turns, runs, held_reads, files)


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
