"""The service on one machine in this process, with simulated chats: its work can be watched and stopped at any call."""

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, Protocol

from functions.webhook import routes as webhook_routes
from local.server import composition, work
from local.server.directory import DataDirectory
from local.server.service import Address, Server
from local.server.work import run_message, turn_message
from shared.ports.inbound import WebhookRequest
from shared.services import Services
from shared.sqlite.files import DirectoryFiles
from shared.sqlite.queues import Received, SqliteQueue
from shared.sqlite.tables import SqliteTables
from shared.use_cases.chat.receive_message import receive_message
from shared.use_cases.handoffs.process_handoff import process_handoff
from shared.use_cases.recovery.sweep import sweep
from tests.support.kill_points import (
    AGENT,
    PROCESS,
    TURN,
    WEBHOOK,
    Invocation,
    KillPoints,
    WatchedPlatforms,
    answered_by,
    executed_by,
)

ANYWHERE = Address(port=0, page_port=0)
TABLE_CALLS = ("get", "get_many", "query", "index", "put", "update", "delete", "delete_all", "transact")
QUEUE_CALLS = ("put", "done", "set_visibility")


class Patch(Protocol):
    """pytest's MonkeyPatch, or the real `setattr`."""

    def setattr(self, target: Any, name: str, value: Any, /) -> None: ...


class OneMachine(Server):
    """A server with what the other engine's has, too."""

    def sweep_now(self) -> int:
        return sweep(self.engine.services)


class WorkerKilled(BaseException):
    """Raised inside a worker to stop it there, as if its thread hung for ever: nothing is cleaned up or handed back."""


class WorkerKillPoints(KillPoints):
    """Kill points of the workers of a server that is started after `install`. The process goes on."""

    sends = "turns.put"

    def die(self) -> NoReturn:
        raise WorkerKilled

    def install(self, patch: Patch) -> None:
        patch.setattr(composition, "SqliteTables", _watched(SqliteTables, TABLE_CALLS, lambda _: "tables", self.called))
        patch.setattr(composition, "DirectoryFiles", _watched(DirectoryFiles, ["put"], lambda _: "files", self.called))
        patch.setattr(composition, "SqliteQueue", _watched(SqliteQueue, QUEUE_CALLS, _name_of, self.called))
        patch.setattr(composition, "DurablePlatforms", self._platforms(composition.DurablePlatforms))
        patch.setattr(work, "turn_message", self._of_queue(TURN, turn_message, answered_by))
        patch.setattr(work, "run_message", self._of_queue(AGENT, run_message, executed_by))
        patch.setattr(work, "process_handoff", self._processing(process_handoff))
        patch.setattr(webhook_routes, "receive_message", self._receiving(receive_message))

    def _run(self, function: str, subject: Callable[[], str], work: Callable[[], Any]) -> Any:
        """One run. A killed worker ends here: its thread goes on with other work, nothing else learns of it."""
        try:
            self.begin(Invocation(function), subject())
            answer = work()
            self.called("return")
        except WorkerKilled:
            return None
        finally:
            self.end()
        return answer

    def _of_queue(self, function: str, run: Callable[..., None], subject: Callable[..., str]) -> Callable[..., None]:
        def watched(services: Services, queue: SqliteQueue, received: Received) -> None:
            self._run(function, lambda: subject(services.store, received.body), lambda: run(services, queue, received))

        return watched

    def _processing(self, process: Callable[[Services, str], None]) -> Callable[[Services, str], None]:
        def watched(services: Services, handoff_id: str) -> None:
            self._run(PROCESS, lambda: handoff_id, lambda: process(services, handoff_id))

        return watched

    def _receiving(self, receive: Callable[..., Any]) -> Callable[..., Any]:
        def watched(services: Services, platform: str, request: WebhookRequest) -> Any:
            text = request.body.decode(errors="replace")
            answer = self._run(WEBHOOK, lambda: self.planned_in(text), lambda: receive(services, platform, request))
            if answer is None:
                raise ConnectionAbortedError  # the platform gets no good answer, so it delivers the event again
            return answer

        return watched

    def _platforms(self, registry: type[Any]) -> Callable[..., Any]:
        @functools.wraps(registry)
        def make(*arguments: Any, **named: Any) -> WatchedPlatforms:
            return WatchedPlatforms(registry(*arguments, **named), self.called)

        return make


def one_machine(directory: Path, environment: Mapping[str, str] | None = None) -> OneMachine:
    """A server with a new port, not started."""
    return OneMachine(DataDirectory(directory / "data"), environment or {}, ANYWHERE)


def _name_of(queue: SqliteQueue) -> str:
    return queue.family or queue.name


def _watched(kind: type[Any], names: Sequence[str], title: Callable[[Any], str], called: Callable[[str], None]) -> Any:
    """A subclass whose methods tell that they are called."""

    def watch(name: str) -> Callable[..., Any]:
        real = getattr(kind, name)

        @functools.wraps(real)
        def call(self: Any, *arguments: Any, **named: Any) -> Any:
            called(f"{title(self)}.{name}")
            return real(self, *arguments, **named)

        return call

    return type(kind.__name__, (kind,), {name: watch(name) for name in names})
