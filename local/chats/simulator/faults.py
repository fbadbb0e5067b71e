"""Failures on demand: each armed fault is used up by the next calls that it fits."""

from dataclasses import dataclass, replace
from typing import Literal, get_args

from local.chats.simulator.world import Platform

Kind = Literal["rate_limit", "slow", "reset", "accept_then_reset", "forbidden", "server_error", "redeliver"]
Operation = Literal["send", "edit", "open_thread", "typing", "read"]

KINDS: tuple[Kind, ...] = get_args(Kind)
OPERATIONS: tuple[Operation, ...] = get_args(Operation)
# What a fault hits unless it names an operation: calls that people see. Typing and reads would only use it up unseen.
VISIBLE: frozenset[Operation] = frozenset({"send", "edit", "open_thread"})
SECONDS: dict[Kind, float] = {"rate_limit": 3.0, "slow": 3.0}


@dataclass(frozen=True)
class Fault:
    """`count` more times. `seconds` is a rate limit's retry-after or how long slow is; `on` narrows it down."""

    platform: Platform
    kind: Kind
    count: int
    seconds: float
    on: Operation | None = None

    def fits(self, platform: Platform, operation: Operation) -> bool:
        if platform != self.platform or self.kind == "redeliver":
            return False
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

    def take(self, platform: Platform, operation: Operation) -> Fault | None:
        """The fault that this call meets, used up by one."""
        return self._use(next((f for f in self._armed if f.fits(platform, operation)), None))

    def take_redelivery(self, platform: Platform) -> bool:
        """True when what was just delivered is to be delivered once more."""
        fits = (f for f in self._armed if f.platform == platform and f.kind == "redeliver")
        return self._use(next(fits, None)) is not None

    def _use(self, fault: Fault | None) -> Fault | None:
        if fault is not None:
            at = self._armed.index(fault)
            self._armed[at : at + 1] = [replace(fault, count=fault.count - 1)] if fault.count > 1 else []
        return fault
