"""Limits of one user."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits of each user; 0 is no limit. A turn is one answer of the agent; that of a handoff counts too."""

    open_handoffs: int = 0
    turns_per_hour: int = 0
    stored_bytes: int = 0
    files_bytes: int = 0


NO_LIMITS = Limits()
