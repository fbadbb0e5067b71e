"""The ports and settings that use cases need, in one object."""

from collections.abc import Callable
from dataclasses import dataclass, field

from shared.ports.agents import Agent
from shared.ports.changes import Changes, NoChanges
from shared.ports.clock import Clock
from shared.ports.files import Files
from shared.ports.metrics import Metrics, NoMetrics
from shared.ports.platforms import Platforms
from shared.ports.queue import DeadTurns, RunQueue, TurnQueue, Visibility
from shared.ports.transcriber import Transcriber
from shared.settings import Settings
from shared.store.bundle import Store


@dataclass(frozen=True)
class Services:
    """Built once per container by bootstrap, or by a test from fakes.

    `agent` builds the agent on its first call; `agent_summary` describes it in one sentence. `visibility` is the
    time-out of the queue message with this receipt handle. Without a `transcriber` voice messages cannot be read; with
    `tries_voice` the process that answers requests may call it.
    """

    settings: Settings
    clock: Clock
    store: Store
    queue: TurnQueue
    visibility: Callable[[str], Visibility]
    dead_turns: DeadTurns
    runs: RunQueue
    platforms: Platforms
    files: Files
    agent_summary: str
    agent: Callable[[], Agent]
    new_id: Callable[[], str]
    metrics: Metrics = field(default_factory=NoMetrics)
    changes: Changes = field(default_factory=NoChanges)
    transcriber: Transcriber | None = None
    voice_summary: str = ""
    tries_voice: bool = False
