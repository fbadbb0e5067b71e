"""The `sweep` function: runs each minute to handle expired leases, deadlines and dead letters."""

from typing import Any

from shared.bootstrap import Handler, on_lambda
from shared.services import Services
from shared.use_cases.recovery.sweep import sweep


def build(services: Services) -> Handler:
    """The handler of the schedule's events for these services."""

    def handle(_: Any, __: Any) -> Any:
        return {"looked_at": sweep(services)}

    return handle


handler = on_lambda(build)
