"""An engine for the whole module, and a function whose answers a test decides."""

import json
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from local.engine import Engine
from local.invoke import Result

EVENTS = Path(__file__).parents[2] / "events"
PATIENCE = 20.0


class ScriptedInvoker:
    """Hands each event to `answer` and keeps it; `next` waits for the next one."""

    def __init__(self, answer: Callable[[Mapping[str, Any]], Any] = lambda _: None) -> None:
        self.answer = answer
        self.functions: list[str] = []
        self._events: queue.Queue[Mapping[str, Any]] = queue.Queue()

    def invoke(self, function: str, event: Mapping[str, Any]) -> Result:
        self.functions.append(function)
        event = json.loads(json.dumps(event))  # what does not travel as JSON must not arrive
        self._events.put(event)
        answer = self.answer(event)
        return answer if isinstance(answer, Result) else Result(payload=answer, request_id="r")

    def next(self) -> Mapping[str, Any]:
        return self._events.get(timeout=PATIENCE)

    @property
    def idle(self) -> bool:
        return self._events.empty()

    def close(self) -> None:
        """Nothing runs."""


class Doors:
    """Lets a test hold calls up, one by one, and see which of them are inside."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside: list[str] = []
        self._released: set[str] = set()

    def enter(self, name: str) -> None:
        with self._changed:
            self._inside.append(name)
            self._changed.notify_all()
            assert self._changed.wait_for(lambda: name in self._released, PATIENCE)
            self._inside.remove(name)
            self._changed.notify_all()

    def wait_inside(self, *names: str) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: set(names) <= set(self._inside), PATIENCE), self._inside

    def inside(self) -> list[str]:
        with self._changed:
            return list(self._inside)

    def release(self, *names: str) -> None:
        with self._changed:
            self._released |= set(names)
            self._changed.notify_all()


FAILED = Result(error={"errorType": "ValueError", "errorMessage": "no"}, request_id="r")


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    engine = Engine.start()
    yield engine
    engine.stop()


@pytest.fixture
def invoker() -> ScriptedInvoker:
    return ScriptedInvoker()


@pytest.fixture
def doors() -> Doors:
    return Doors()


@pytest.fixture
def failed() -> Result:
    return FAILED


@pytest.fixture
def sample() -> Callable[[str], Any]:
    """Real event JSON by name."""
    return lambda name: json.loads((EVENTS / f"{name}.json").read_text())
