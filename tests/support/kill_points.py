"""Stops a function right before its n-th call to AWS or to a chat platform, or right before it returns."""

import base64
import json
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from local.cloud.in_process import Killed
from local.functions import Interceptors
from shared.bootstrap import Handler
from shared.ports.platforms import Platform, Platforms
from shared.services import Services

WATCHED = ("ProcessFunction", "TurnFunction", "WebhookFunction")
EFFECTS = ("open_thread", "find_thread", "send", "find_message", "edit")


@dataclass(frozen=True)
class Plan:
    """Stop `function` before its call number `at` (from 0), in run number `run` on a subject, or in every run."""

    function: str
    at: int
    run: int | None = 0


@dataclass
class _Run:
    """One run of a function on one subject: the calls so far, and the plan to stop it."""

    subject: str
    calls: list[str]
    plan: Plan | None


@dataclass
class _Invocation:
    """One invocation of a function with its runs (one per record of a batch). If one is killed, all are."""

    function: str
    runs: list[_Run] = field(default_factory=list)
    killed: bool = False


class KillPoints:
    """Counts the calls of each run and stops it where its plan says so.

    A run is identified by its subject: a handoff's id, the route of the place that is answered, or a text in a webhook.
    Each run has a thread; the runs of a batch are told apart by the claim that each begins with. Calls of the thread
    that shows the typing indicator do not count, as it decides nothing.
    """

    def __init__(self) -> None:
        self._plans: dict[str, list[Plan]] = defaultdict(list)
        self._local = threading.local()
        self._batches: dict[str, _Invocation] = {}
        self._lock = threading.Lock()
        self.runs: dict[tuple[str, str], list[list[str]]] = defaultdict(list)
        self.killed: dict[str, str] = {}

    @property
    def interceptors(self) -> Interceptors:
        return Interceptors(client=self._client, services=self._services, handler=self._handler)

    def plan(self, subject: str, plan: Plan) -> None:
        """Add a plan, in force from the subject's next run."""
        with self._lock:
            self._plans[subject].append(plan)

    def clear(self, subject: str) -> None:
        """Remove the subject's plans."""
        with self._lock:
            self._plans.pop(subject, None)

    def _handler(self, function: str, handler: Handler) -> Handler:
        if function not in WATCHED:
            return handler

        def handle(event: Any, context: Any) -> Any:
            invocation = _Invocation(function)
            try:
                if function == "ProcessFunction":
                    self._batches |= dict.fromkeys(_handoffs_of(event), invocation)
                elif function == "TurnFunction":
                    self._begin(invocation, _subject_of(json.loads(event["Records"][0]["body"])))
                else:
                    self._begin(invocation, self._planned_in(event))
                answer = handler(event, context)
                for run in invocation.runs:
                    self._point(invocation, run, "return")
                return answer
            finally:
                self._local.current = None

        return handle

    def _planned_in(self, event: Mapping[str, Any]) -> str:
        """The text in a webhook's body that a plan exists for."""
        body = event.get("body", "")
        text = base64.b64decode(body).decode(errors="replace") if event.get("isBase64Encoded") else body
        with self._lock:
            return next((subject for subject in self._plans if subject in text), "webhook")

    def _begin(self, invocation: _Invocation, subject: str) -> None:
        with self._lock:
            runs = self.runs[subject, invocation.function]
            matching = (
                plan
                for plan in self._plans.get(subject, ())
                if plan.function == invocation.function and plan.run in (None, len(runs))
            )
            run = _Run(subject, [], next(matching, None))
            runs.append(run.calls)
            invocation.runs.append(run)
        self._local.current = invocation, run

    def _client(self, function: str, client: Any) -> Any:
        service = client.meta.service_model.service_name
        if function in WATCHED and service in ("dynamodb", "sqs"):
            client.meta.events.register(
                f"provide-client-params.{service}.*",
                lambda params, model, **_: self._called(f"{service}.{model.name}", params),
            )
        return client

    def _services(self, function: str, services: Services) -> Services:
        watched = _Platforms(services.platforms, self._called)
        return replace(services, platforms=watched) if function in WATCHED else services

    def _called(self, name: str, params: Mapping[str, Any]) -> None:
        current: tuple[_Invocation, _Run] | None = getattr(self._local, "current", None)
        if name == "dynamodb.UpdateItem" and (current is None or current[0].function == "ProcessFunction"):
            handoff_id = params["Key"].get("handoff_id", {}).get("S")
            if handoff_id in self._batches and (current is None or current[1].subject != handoff_id):  # a claim
                self._begin(self._batches[handoff_id], handoff_id)
                current = self._local.current
        if current is not None:
            self._point(*current, name)

    def _point(self, invocation: _Invocation, run: _Run, name: str) -> None:
        if run.plan is not None and run.plan.at == len(run.calls):
            invocation.killed = True
            self.killed.setdefault(run.subject, name)
        if invocation.killed:
            raise Killed
        run.calls.append(name)


def _handoffs_of(event: Mapping[str, Any]) -> list[str]:
    return [record["dynamodb"]["Keys"]["handoff_id"]["S"] for record in event["Records"]]


def _subject_of(body: Mapping[str, Any]) -> str:
    return str(body.get("handoff_id") or body["place"])


class _Platforms:
    """The platforms of a function, each watched."""

    def __init__(self, platforms: Platforms, called: Callable[[str, Mapping[str, Any]], None]) -> None:
        self._platforms, self._called = platforms, called

    def __getattr__(self, name: str) -> Any:
        return getattr(self._platforms, name)

    def get(self, name: str) -> "_Watched":
        return _Watched(self._platforms.get(name), self._called)


class _Watched:
    """A platform whose calls with an effect count as well."""

    def __init__(self, platform: Platform, called: Callable[[str, Mapping[str, Any]], None]) -> None:
        self._platform, self._called = platform, called

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._platform, name)
        if name not in EFFECTS:
            return real

        def call(*arguments: Any, **options: Any) -> Any:
            self._called(f"{self._platform.name}.{name}", {})
            return real(*arguments, **options)

        return call
