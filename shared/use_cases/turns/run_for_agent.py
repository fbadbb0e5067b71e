"""Run one message of the Runs queue: a turn, or files to read."""

from shared.ports.queue import Fetch, RunMessage
from shared.services import Services
from shared.use_cases.files.fetch_files import fetch_files
from shared.use_cases.turns.execute_turn import execute_turn


def run_for_agent(services: Services, message: RunMessage, *, remaining: int) -> None:
    """In a process that has `remaining` milliseconds left. Safe to run twice. Raises unexpected errors only."""
    if isinstance(message, Fetch):
        fetch_files(services, message)
    else:
        execute_turn(services, message, remaining=remaining)
