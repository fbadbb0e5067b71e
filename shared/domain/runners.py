"""Runners: machines of a user on which the user's own agent runs turns."""

from collections.abc import Mapping
from dataclasses import dataclass, field

PROTOCOLS = frozenset({1})
"""The versions of the protocol between runner and service that this service speaks."""
AWAY_AFTER = 90_000
"""Milliseconds without a sign of life after which a machine counts as away."""
SEEN_EVERY = 40_000
"""Milliseconds between two writes of a runner's last sign of life; well below AWAY_AFTER, because each costs a write."""
_RHYTHM = ((120_000, 1_000), (1_800_000, 3_000))
_AT_REST = 10_000


@dataclass(frozen=True)
class Runner:
    """One machine of one user. `agents` are the agents it can run, with their versions.

    Those in `unattended` are not known to ask before each step: the user allowed that on the machine. `orders` are the kinds
    of orders that it does, `projects` the labels of directories that its user has opened for sessions from a chat.
    """

    id: str
    user_id: str
    name: str
    agents: Mapping[str, str] = field(default_factory=dict)
    version: str = ""
    seen_at: int = 0
    turn_at: int = 0
    revoked: bool = False
    unattended: frozenset[str] = frozenset()
    orders: frozenset[str] = frozenset()
    projects: tuple[str, ...] = ()

    def is_online(self, now: int) -> bool:
        return not self.revoked and now - self.seen_at < AWAY_AFTER

    def poll_after_ms(self, now: int) -> int:
        """The pause before its next poll: short while it is in use, long at rest."""
        return next((pause for until, pause in _RHYTHM if now - self.turn_at < until), _AT_REST)
