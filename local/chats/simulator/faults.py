"""Failures on demand: an armed fault applies to the next matching calls."""

from dataclasses import dataclass, replace
from typing import Literal, get_args

Kind = Literal[
    "rate_limit",
    "slow",
    "reset",
    "accept_then_reset",
    "forbidden",
    "server_error",
    "redeliver",
    "cut",
    "longer",
    "redirect",
    "page",
    "encoded",
    "gone",
]
Operation = Literal["send", "edit", "open_thread", "typing", "read", "upload", "download"]

KINDS: tuple[Kind, ...] = get_args(Kind)
OPERATIONS: tuple[Operation, ...] = get_args(Operation)
# The default target of a fault: calls with a visible effect. Typing and reads would consume it unnoticed.
VISIBLE: frozenset[Operation] = frozenset({"send", "edit", "open_thread"})
DOWNLOADS: frozenset[Kind] = frozenset({"cut", "longer", "redirect", "page", "encoded", "gone"})
"""Faults of downloads only."""
SECONDS: dict[Kind, float] = {"rate_limit": 3.0, "slow": 3.0}


@dataclass(frozen=True)
class Fault:
    """Applies `count` more times. `seconds` is a rate limit's retry-after or a delay; `on` limits it to one operation."""

    platform: str
    kind: Kind
    count: int
    seconds: float
    on: Operation | None = None

    def fits(self, platform: str, operation: Operation) -> bool:
        if platform != self.platform or self.kind == "redeliver":
            return False
        if self.kind in DOWNLOADS:
            return operation == "download"
        return operation == self.on if self.on else operation in VISIBLE


class Faults:
    """The armed faults, oldest first."""

    def __init__(self) -> None:
        self._armed: list[Fault] = []

    @property
    def armed(self) -> tuple[Fault, ...]:
        return tuple(self._armed)

    def arm(self, fault: Fault) -> None:
        """Adds to what is armed; a count of zero disarms that kind on that platform."""
        if fault.count <= 0:
            self._armed = [f for f in self._armed if (f.platform, f.kind) != (fault.platform, fault.kind)]
        else:
            self._armed.append(fault)

    def take(self, platform: str, operation: Operation) -> Fault | None:
        """The fault for this call, if any; its count goes down by one."""
        return self._use(next((f for f in self._armed if f.fits(platform, operation)), None))

    def take_redelivery(self, platform: str) -> bool:
        """Whether to deliver the last event once more."""
        fits = (f for f in self._armed if f.platform == platform and f.kind == "redeliver")
        return self._use(next(fits, None)) is not None

    def _use(self, fault: Fault | None) -> Fault | None:
        if fault is not None:
            at = self._armed.index(fault)
            self._armed[at : at + 1] = [replace(fault, count=fault.count - 1)] if fault.count > 1 else []
        return fault
