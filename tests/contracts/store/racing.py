"""Many threads that start at one moment."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from shared.errors import Conflict, HandoffError

THREADS = 24
PATIENCE = 60.0


def race(*runners: Callable[[], Any]) -> list[Any]:
    """Run all at once; returns what each returned or the HandoffError that it raised, in their order."""
    start = threading.Barrier(len(runners))

    def run(runner: Callable[[], Any]) -> Any:
        start.wait(PATIENCE)
        try:
            return runner()
        except HandoffError as error:
            return error

    with ThreadPoolExecutor(len(runners)) as pool:
        return [future.result(PATIENCE) for future in [pool.submit(run, runner) for runner in runners]]


def winners(outcomes: list[Any]) -> list[Any]:
    """The outcomes of those that succeeded: not None, not a boolean, not an error."""
    return [outcome for outcome in outcomes if outcome is not None and not isinstance(outcome, HandoffError | bool)]


def insist(attempt: Callable[[], Any]) -> Callable[[], Any]:
    """Try again on a conflict, as the use cases do: DynamoDB may turn down all of several transactions at once."""

    def trying() -> Any:
        for _ in range(THREADS):
            try:
                return attempt()
            except Conflict:
                continue
        return attempt()

    return trying
