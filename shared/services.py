"""Everything that a use case may ask for, in one bundle."""

from collections.abc import Callable
from dataclasses import dataclass

from shared.ports import Agent, Clock, DeadTurns, Platforms, Store, TurnQueue, Visibility
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
    agent: Callable[[], Agent]
    new_id: Callable[[], str]
