"""Kill points of the functions of a local run in this process: each call to DynamoDB, SQS, S3 or a chat platform is one."""

import base64
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NoReturn

from local.cloud.in_process import Killed
from local.functions import Interceptors
from shared.bootstrap import Handler
from shared.services import Services
from shared.store.bundle import Store
from tests.support.kill_points import (
    PROCESS,
    TURN,
    WATCHED,
    WEBHOOK,
    Invocation,
    KillPoints,
    WatchedPlatforms,
    answered_by,
    executed_by,
)


class FunctionKillPoints(KillPoints):
    """The runs of a batch of `process` are told apart by the claim that each begins with."""

    sends = "sqs.SendMessage"
    alone = (PROCESS,)

    def __init__(self) -> None:
        super().__init__()
        self._batches: dict[str, Invocation] = {}
        self._stores: dict[str, Store] = {}

    @property
    def interceptors(self) -> Interceptors:
        return Interceptors(client=self._client, services=self._services, handler=self._handler)

    def die(self) -> NoReturn:
        raise Killed

    def _handler(self, function: str, handler: Handler) -> Handler:
        if function not in WATCHED:
            return handler

        def handle(event: Any, context: Any) -> Any:
            invocation = Invocation(function)
            try:
                if function == PROCESS:
                    self._batches |= dict.fromkeys(_handoffs_of(event), invocation)
                else:
                    self.begin(invocation, self._subject_of(function, event))
                answer = handler(event, context)
                for run in invocation.runs:
                    self.point(invocation, run, "return")
                return answer
            finally:
                self.end()

        return handle

    def _subject_of(self, function: str, event: Mapping[str, Any]) -> str:
        if function == WEBHOOK:
            body = event.get("body", "")
            is_encoded = event.get("isBase64Encoded")
            return self.planned_in(base64.b64decode(body).decode(errors="replace") if is_encoded else body)
        store, body = self._stores[function], event["Records"][0]["body"]
        return answered_by(store, body) if function == TURN else executed_by(store, body)

    def _client(self, function: str, client: Any) -> Any:
        service = client.meta.service_model.service_name
        if function in WATCHED and service in ("dynamodb", "sqs", "s3"):
            client.meta.events.register(
                f"provide-client-params.{service}.*",
                lambda params, model, **_: self._requested(f"{service}.{model.name}", params),
            )
        return client

    def _services(self, function: str, services: Services) -> Services:
        self._stores[function] = services.store
        watched = WatchedPlatforms(services.platforms, self.called)
        return replace(services, platforms=watched) if function in WATCHED else services

    def _requested(self, name: str, params: Mapping[str, Any]) -> None:
        current = self.current
        if name == "dynamodb.UpdateItem" and (current is None or current[0].function == PROCESS):
            handoff_id = params["Key"].get("handoff_id", {}).get("S")
            if handoff_id in self._batches and (current is None or current[1].subject != handoff_id):  # a claim
                self.begin(self._batches[handoff_id], handoff_id)
        self.called(name)


def _handoffs_of(event: Mapping[str, Any]) -> list[str]:
    return [record["dynamodb"]["Keys"]["handoff_id"]["S"] for record in event["Records"]]
