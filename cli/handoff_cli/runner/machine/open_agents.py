"""Agents that a runner has open on this machine, at work or between two turns."""

from collections.abc import Iterator
from pathlib import Path

from handoff_cli.runner.machine.groups import group_memory
from handoff_cli.runner.machine.locks import session_locks
from handoff_cli.runner.machine.orphans import noted_agent


def open_agents(state: Path) -> Iterator[str]:
    """Each one in some words: its name, its session, its memory."""
    for lock in session_locks(state):
        if (pid := noted_agent(lock)) is not None:
            about = lock.holder()
            yield f"{about.get('agent')} (session {str(about.get('session'))[:8]}{in_megabytes(pid)})"


def in_megabytes(group: int) -> str:
    """`, 312 MB`; empty if the system does not tell."""
    size = group_memory(group)
    return "" if size is None else f", {size // 1024**2} MB"
