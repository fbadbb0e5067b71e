"""The entry to this package: runs one SAM template on this machine."""

from collections.abc import Callable, Mapping
from pathlib import Path

from local.cloud.deploy import deploy
from local.cloud.engine import Engine
from local.cloud.in_process import Handler, InProcessInvoker
from local.cloud.invoke import Invoker
from local.cloud.runtime.invoker import RuntimeInvoker
from local.cloud.runtime.pool import OnPhase
from local.cloud.sources.http_api import HttpApi, OnAnswer
from local.cloud.sources.queue import QueueSource
from local.cloud.sources.schedule import ScheduleSource
from local.cloud.sources.stream import StreamSource
from local.cloud.stack import Stack


class Cloud:
    """Call in this order: `deploy`, `run_processes` or `run_threads`, `start_sources`, `serve`; then `stop`.

    The AWS endpoint answers as soon as the object exists. `stop` ends everything, the newest part first.
    """

    stack: Stack
    invoker: Invoker

    def __init__(self) -> None:
        self.engine = Engine.start()
        self._stops: list[Callable[[], object]] = [self.engine.stop]
        self.schedules: list[ScheduleSource] = []

    def deploy(self, template: Path, parameters: Mapping[str, str], *, name: str, cache: Path | None = None) -> Stack:
        """Create the resources of the template as a stack of this name. `cache` keeps translations between starts."""
        self.stack = deploy(self.engine, template, parameters, name=name, cache=cache)
        return self.stack

    def run_processes(
        self,
        root: Path,
        *,
        warm: Mapping[str, int],
        on_log: Callable[[str, str], None] | None = None,
        on_phase: OnPhase | None = None,
    ) -> None:
        """Run the functions from the source tree at `root`, each in its own processes; `warm` says how many to prepare."""
        runtime = RuntimeInvoker(
            self.stack,
            endpoint=self.engine.url,
            root=root,
            credentials=self.engine.assume,
            on_log=on_log,
            on_phase=on_phase,
        )
        self._stops.append(runtime.close)
        self.invoker = runtime
        runtime.warm(warm)

    def run_threads(self, build: Callable[[str], Handler]) -> None:
        """Run the functions as threads of this process; `build` makes the handler of a logical id."""
        self.invoker = InProcessInvoker(self.stack, build)
        self._stops.append(self.invoker.close)

    def start_sources(self, on_error: Callable[[Exception], None] | None = None) -> None:
        """Start every stream, queue and schedule of the stack. `on_error` receives what interrupts a source."""
        functions, engine, invoker = self.stack.functions, self.engine, self.invoker
        self.schedules = [
            ScheduleSource(schedule, invoker, account=engine.account_id) for schedule in self.stack.schedules
        ]
        sources: list[StreamSource | QueueSource | ScheduleSource] = [
            *(
                StreamSource(one, functions[one.function], engine, invoker, on_error=on_error)
                for one in self.stack.streams
            ),
            *(
                QueueSource(one, functions[one.function], engine, invoker, on_error=on_error)
                for one in self.stack.queues
            ),
            *self.schedules,
        ]
        for source in sources:
            self._stops.append(source.stop)
            source.start()

    def fire_schedules(self) -> None:
        """Invoke the function of each schedule once, and wait for the results."""
        for schedule in self.schedules:
            schedule.fire_now()

    def serve(self, port: int = 0, on_answer: OnAnswer | None = None) -> HttpApi:
        """Serve the routes of the stack. Raises OSError if the port is taken; port 0 takes a free one."""
        api = HttpApi(self.stack.routes, self.invoker, port=port, account=self.engine.account_id, on_answer=on_answer)
        api.start()
        self._stops.append(api.stop)
        return api

    def stop(self) -> None:
        """End everything. May be called twice, and after a start that failed half way."""
        while self._stops:
            self._stops.pop()()
