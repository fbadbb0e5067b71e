"""What wakes each function, as it comes out of a deploy."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from moto.events.models import EventPattern

from functions.http.guard import OPEN_PATHS
from local.cloud.stack import Schedule, Stack
from local.paths import TEMPLATE
from shared.platforms import PLATFORMS

ROUTES = {
    "GET /health": "StatusFunction",
    "GET /doctor": "StatusFunction",
    "GET /platforms": "StatusFunction",
    "GET /sessions": "StatusFunction",
    "GET /sessions/{id}": "StatusFunction",
    "GET /sessions/{id}/messages": "StatusFunction",
    "GET /handoffs": "StatusFunction",
    "GET /handoffs/{id}": "StatusFunction",
    "GET /tokens": "StatusFunction",
    "GET /users": "StatusFunction",
    "PUT /platforms/{platform}/home": "RequestFunction",
    "PUT /sessions/{id}": "RequestFunction",
    "DELETE /sessions/{id}": "RequestFunction",
    "POST /sessions/{id}/messages": "RequestFunction",
    "POST /sessions/{id}/turns": "RequestFunction",
    "POST /sessions/{id}/resume": "RequestFunction",
    "POST /handoffs": "RequestFunction",
    "DELETE /handoffs/{id}": "RequestFunction",
    "POST /tokens": "RequestFunction",
    "DELETE /tokens/{id}": "RequestFunction",
    "POST /users": "RequestFunction",
    "DELETE /users/{id}": "RequestFunction",
    "POST /links": "RequestFunction",
    "POST /notices": "RequestFunction",
    "DELETE /links/{platform}": "RequestFunction",
    "GET /links": "StatusFunction",
    "POST /invitations": "RequestFunction",
    "POST /logins": "RequestFunction",
    "POST /sessions/{id}/files": "RequestFunction",
    "GET /sessions/{id}/files/{file}": "StatusFunction",
    "PUT /runners/{id}": "RequestFunction",
    "DELETE /runners/{id}": "RequestFunction",
    "GET /runners/{id}/turns": "RequestFunction",
    "POST /runners/{id}/turns/{turn}/claim": "RequestFunction",
    "POST /runners/{id}/turns/{turn}/begin": "RequestFunction",
    "POST /runners/{id}/turns/{turn}/events": "RequestFunction",
    "POST /runners/{id}/turns/{turn}/result": "RequestFunction",
    "POST /runners/{id}/orders/{order}/take": "RequestFunction",
    "POST /runners/{id}/orders/{order}/renew": "RequestFunction",
    "POST /runners/{id}/orders/{order}/answer": "RequestFunction",
    "PUT /runners/{id}/orders/{order}/session": "RequestFunction",
    "POST /runners/{id}/orders/{order}/messages": "RequestFunction",
    "POST /runners/{id}/orders/{order}/handoff": "RequestFunction",
    "GET /runners": "StatusFunction",
    "ANY /webhooks/{platform}": "WebhookFunction",
    "ANY /webhooks/{platform}/{rest+}": "WebhookFunction",
    "POST /{protocol}/push/{version}/notify": "WebhookFunction",
}
LIMITS = {"Request": 15, "Status": 15, "Process": 60, "Turn": 60, "Agent": 900, "Webhook": 10, "Sweep": 55}


def test_the_routes_are_those_of_the_contract(stack: Stack) -> None:
    assert {f"{route.method} {route.path}": route.function for route in stack.routes} == ROUTES
    assert len(stack.routes) == len(ROUTES)


def test_fixed_paths_of_webhooks_are_routed(stack: Stack) -> None:
    patterns = [re.sub(r"\{[a-z]+\}", "[^/]+", route.path) for route in stack.routes if route.method == "POST"]
    paths = [path for spec in PLATFORMS for path in spec.webhook_paths]

    assert paths
    assert [path for path in paths if not any(re.fullmatch(pattern, path) for pattern in patterns)] == []


def test_open_and_closed_routes_are_throttled_apart(resources: dict[str, Any]) -> None:
    (stage,) = [r["Properties"] for r in resources.values() if r["Type"] == "AWS::ApiGatewayV2::Stage"]
    assert stage["DefaultRouteSettings"]["ThrottlingRateLimit"] == {"Ref": "ClosedRouteRate"}
    assert stage["DefaultRouteSettings"]["ThrottlingBurstLimit"] > 0
    open_paths = (*OPEN_PATHS, "/{protocol}/push/")
    open_routes = {route for route in ROUTES if route.partition(" ")[2].startswith(open_paths)}
    assert stage["RouteSettings"].keys() == open_routes
    for settings in stage["RouteSettings"].values():
        assert settings["ThrottlingRateLimit"] == {"Ref": "OpenRouteRate"}
        assert settings["ThrottlingBurstLimit"] > 0


def test_a_warning_about_the_api_stops_no_deploy(resources: dict[str, Any]) -> None:
    (api,) = [r["Properties"] for r in resources.values() if r["Type"] == "AWS::ApiGatewayV2::Api"]
    assert not api.get("FailOnWarnings")


def test_the_stream_feeds_process_with_bounded_patience(stack: Stack) -> None:
    (mapping,) = stack.streams
    assert mapping.function == "ProcessFunction"
    assert f"table/{stack.resources['HandoffsTable']}/stream/" in mapping.stream_arn
    assert mapping.starting_position == "TRIM_HORIZON"
    assert mapping.partial_failures
    assert mapping.bisect
    assert 0 < mapping.max_retries <= 10
    assert 60 <= mapping.max_age_seconds <= 3600
    assert mapping.parallelization > 1
    assert mapping.window_seconds == 0
    assert mapping.on_failure_queue_url == stack.resources["FailedRecordsQueue"]


def _image(state: str | None) -> dict[str, Any]:
    return {"handoff_id": {"S": "h"}} | ({"state": {"S": state}} if state else {})


RECORDS = [
    ("INSERT", None, "pending", True),
    ("MODIFY", "running", "pending", True),  # given back for another try
    ("MODIFY", "pending", "pending", True),  # nudged
    ("MODIFY", "pending", "running", False),
    ("MODIFY", "running", "completed", False),
    ("MODIFY", "running", "failed", False),
    ("MODIFY", "pending", "cancelled", False),
    ("REMOVE", "completed", None, False),
    ("REMOVE", "pending", None, False),
]


@pytest.mark.parametrize(("event", "old", "new", "passes"), RECORDS)
def test_only_records_that_are_pending_pass_the_filter(
    stack: Stack, event: str, old: str | None, new: str | None, passes: bool
) -> None:
    images = {"OldImage": _image(old) if old else None, "NewImage": _image(new) if new else None}
    record = {
        "eventName": event,
        "eventSource": "aws:dynamodb",
        "dynamodb": {"Keys": {"handoff_id": {"S": "h"}}} | {name: image for name, image in images.items() if image},
    }
    patterns = [EventPattern.load(json.dumps(pattern)) for pattern in stack.streams[0].filters]
    assert any(pattern.matches_event(record) for pattern in patterns) is passes


def test_messages_and_runs_come_one_by_one(stack: Stack) -> None:
    mappings = {mapping.function: mapping for mapping in stack.queues}
    turn, agent = mappings["TurnFunction"], mappings["AgentFunction"]
    assert len(stack.queues) == 2
    assert (turn.queue_url, agent.queue_url) == (stack.resources["TurnsQueue"], stack.resources["RunsQueue"])
    assert turn.batch_size == agent.batch_size == 1
    assert turn.partial_failures
    assert (turn.max_concurrency, agent.max_concurrency) == (2, 4)


def test_sweep_comes_every_minute(stack: Stack) -> None:
    (schedule,) = stack.schedules
    assert replace(schedule, retries=0) == Schedule("SweepFunction", 60.0, {"source": "schedule"}, retries=0)


def test_a_failed_sweep_is_not_repeated(stack: Stack, resources: dict[str, Any]) -> None:
    # Scheduler's own policy ends when Lambda has accepted the call; what follows is Lambda's.
    assert stack.schedules[0].retries == 0
    (config,) = [r["Properties"] for r in resources.values() if r["Type"] == "AWS::Lambda::EventInvokeConfig"]
    assert config["MaximumEventAgeInSeconds"] == 60
    (schedule,) = [r["Properties"] for r in resources.values() if r["Type"] == "AWS::Scheduler::Schedule"]
    assert schedule["Target"]["RetryPolicy"] == {"MaximumRetryAttempts": 0}


def test_functions_have_their_limits_and_handlers(stack: Stack) -> None:
    assert {f.logical_id: f.timeout for f in stack.functions.values()} == {f"{n}Function": s for n, s in LIMITS.items()}
    for name in LIMITS:
        assert stack.functions[f"{name}Function"].handler == f"functions.{name.lower()}.handler.handler"


def test_each_handler_is_a_name_in_the_tree(stack: Stack) -> None:
    for function in stack.functions.values():
        module, _, name = function.handler.rpartition(".")
        source = (TEMPLATE.parent / module.replace(".", "/")).with_suffix(".py").read_text()
        assert re.search(rf"^(def )?{name}\b", source, re.MULTILINE)
