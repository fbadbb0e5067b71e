"""Runners: the machines of a user that run turns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from shared.domain.runners import Runner


@dataclass(frozen=True)
class TurnPointer:
    """A turn that was offered to a runner. Only a hint: the claim decides."""

    session_id: str
    turn_id: str
    agent: str
    native_id: str
    is_kickoff: bool = False


class Runners(Protocol):
    """A user's runners, and the turns that were offered to each."""

    def register(self, runner: Runner) -> bool:
        """Create the runner, or change its name, agents and version; False if it is revoked."""

    def get(self, user_id: str, runner_id: str) -> Runner | None: ...
    def list(self, user_id: str) -> Sequence[Runner]: ...

    def seen(self, runner: Runner, *, now: int, ran_turn: bool = False) -> None:
        """Note a sign of life, and whether a turn runs. Best effort."""

    def revoke(self, runner: Runner) -> bool:
        """Let it claim nothing any more; False if it is gone."""

    def pointers(self, user_id: str, runner_id: str) -> Sequence[TurnPointer]: ...

    def remove_pointer(self, user_id: str, runner_id: str, turn_id: str) -> None:
        """Safe to repeat."""
