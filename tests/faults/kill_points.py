"""Kill points: a function dies right before its n-th call to AWS or to a chat platform, or right before it returns."""

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
    """Let `function` die before its `at`-th call (from 0) of its `run`-th work on a subject, or of all of them."""

    function: str
    at: int
    run: int | None = 0


@dataclass
class _Work:
    """What a function does for one subject: the calls that it has made for it, and where it is to die."""

    subject: str
    calls: list[str]
    plan: Plan | None


@dataclass
class _Life:
    """One invocation of a function, and all that it works on. Whatever of it dies, everything in it is dead."""

    function: str
    works: list[_Work] = field(default_factory=list)
    dead: bool = False


class KillPoints:
    """Counts the calls of each piece of work and ends it where its plan says so.

    A piece of work is known by its subject: a handoff's id, the route of the place that is answered, or words that a
    webhook brings. It is done by one thread; those of a batch are known by the claim that each begins with. What the
    thread that shows typing calls is not counted: it does not decide anything.
    """

    def __init__(self) -> None:
        self._plans: dict[str, list[Plan]] = defaultdict(list)
        self._here = threading.local()
        self._batches: dict[str, _Life] = {}
        self._lock = threading.Lock()
        self.runs: dict[tuple[str, str], list[list[str]]] = defaultdict(list)
        self.deaths: dict[str, str] = {}

    @property
    def between(self) -> Interceptors:
        return Interceptors(client=self._client, services=self._services, handler=self._handler)

    def plan(self, subject: str, plan: Plan) -> None:
        """From the subject's next work on, beside what is planned for it already."""
        with self._lock:
            self._plans[subject].append(plan)

    def forgive(self, subject: str) -> None:
        """No more plans for the subject."""
        with self._lock:
            self._plans.pop(subject, None)

    def calls(self, subject: str, function: str) -> list[str]:
        """The calls of the first run of a function on a subject, in order."""
        return self.runs[subject, function][0]

    def _handler(self, function: str, handler: Handler) -> Handler:
        if function not in WATCHED:
            return handler

        def handle(event: Any, context: Any) -> Any:
            life = _Life(function)
            try:
                if function == "ProcessFunction":
                    self._batches |= dict.fromkeys(_handoffs_of(event), life)
                elif function == "TurnFunction":
                    self._begin(life, _subject_of(json.loads(event["Records"][0]["body"])))
                else:
                    self._begin(life, self._planned_in(event))
                answer = handler(event, context)
                for work in life.works:
                    self._point(life, work, "return")
                return answer
            finally:
                self._here.at_work = None

        return handle

    def _planned_in(self, event: Mapping[str, Any]) -> str:
        """The words in a webhook's body that a death is planned for, if any."""
        body = event.get("body", "")
        text = base64.b64decode(body).decode(errors="replace") if event.get("isBase64Encoded") else body
        with self._lock:
            return next((words for words in self._plans if words in text), "webhook")

    def _begin(self, life: _Life, subject: str) -> None:
        with self._lock:
            runs = self.runs[subject, life.function]
            fitting = (
                plan
                for plan in self._plans.get(subject, ())
                if plan.function == life.function and plan.run in (None, len(runs))
            )
            work = _Work(subject, [], next(fitting, None))
            runs.append(work.calls)
            life.works.append(work)
        self._here.at_work = life, work

    def _client(self, function: str, client: Any) -> Any:
        service = client.meta.service_model.service_name
        if function in WATCHED and service in ("dynamodb", "sqs"):
            client.meta.events.register(
                f"provide-client-params.{service}.*",
                lambda params, model, **_: self._called(f"{service}.{model.name}", params),
            )
        return client

    def _services(self, function: str, services: Services) -> Services:
        return (
            replace(services, platforms=_Platforms(services.platforms, self._called))
            if function in WATCHED
            else services
        )

    def _called(self, name: str, params: Mapping[str, Any]) -> None:
        at_work: tuple[_Life, _Work] | None = getattr(self._here, "at_work", None)
        if name == "dynamodb.UpdateItem" and (at_work is None or at_work[0].function == "ProcessFunction"):
            handoff_id = params["Key"].get("handoff_id", {}).get("S")
            if handoff_id in self._batches and (at_work is None or at_work[1].subject != handoff_id):  # a claim
                self._begin(self._batches[handoff_id], handoff_id)
                at_work = self._here.at_work
        if at_work is not None:
            self._point(*at_work, name)

    def _point(self, life: _Life, work: _Work, name: str) -> None:
        if work.plan is not None and work.plan.at == len(work.calls):
            life.dead = True
            self.deaths.setdefault(work.subject, name)
        if life.dead:
            raise Killed
        work.calls.append(name)


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
    """A platform whose calls with an effect are points as well."""

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
