"""Everything that a use case may ask for, in one bundle."""

from collections.abc import Callable
from dataclasses import dataclass

from shared.ports.agents import Agent
from shared.ports.clock import Clock
from shared.ports.platforms import Platforms
from shared.ports.queue import DeadTurns, TurnQueue, Visibility
from shared.ports.store import Store
from shared.settings import Settings


@dataclass(frozen=True)
class Services:
    """Made once per container by bootstrap, or by a test from fakes.

    `agent` is made on its first call; `visibility` is the hold on the queue message of a receipt handle.
    """

    settings: Settings
    clock: Clock
    store: Store
    queue: TurnQueue
    visibility: Callable[[str], Visibility]
    dead_turns: DeadTurns
    platforms: Platforms
    agent_summary: str
    agent: Callable[[], Agent]
    new_id: Callable[[], str]
