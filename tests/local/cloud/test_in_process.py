"""The in-process invoker behaves as the real runtime, as far as threads can."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest

from local.cloud.in_process import Handler, InProcessInvoker
from local.cloud.stack import FunctionConfig, Stack


@pytest.fixture
def run(make_function: Callable[..., FunctionConfig]) -> Callable[..., InProcessInvoker]:
    def run(handler: Handler, *, timeout: float = 10) -> InProcessInvoker:
        stack = Stack({"Echo": make_function("Echo", timeout=timeout)}, (), (), (), (), {}, {})
        return InProcessInvoker(stack, lambda _: handler)

    return run


Run = Callable[..., InProcessInvoker]


def test_events_and_answers_are_copied_as_json(run: Run) -> None:
    sent = {"items": (1, 2)}

    def handler(event: dict[str, Any], _: Any) -> Any:
        assert event == {"items": [1, 2]}
        event["items"].append(3)
        return {"sum": Decimal("1.5"), "items": (1, 2)}

    result = run(handler).invoke("Echo", sent)
    assert result.error is None
    assert result.payload == {"sum": 1.5, "items": [1, 2]}
    assert sent == {"items": (1, 2)}


def test_context_has_what_handlers_ask_of_it(run: Run) -> None:
    def handler(_: Any, context: Any) -> Any:
        left = context.get_remaining_time_in_millis()
        return [
            context.aws_request_id,
            context.function_name,
            context.invoked_function_arn,
            context.memory_limit_in_mb,
            left,
        ]

    result = run(handler).invoke("Echo", {})
    request_id, name, arn, memory, left = result.payload
    assert request_id == result.request_id
    assert (name, memory) == ("stack-Echo", "256")
    assert arn == "arn:aws:lambda:us-east-1:123456789012:function:stack-Echo"
    assert 5000 < left <= 10000


def test_errors_have_lambdas_shape(run: Run) -> None:
    def fail(_: Any, __: Any) -> Any:
        raise KeyError("no such thing")

    result = run(fail).invoke("Echo", {})
    assert result.error is not None
    assert result.error["errorType"] == "KeyError"
    assert result.error["requestId"] == result.request_id
    assert "in fail" in result.error["stackTrace"][0]
    result = run(lambda *_: object()).invoke("Echo", {})
    assert result.error is not None
    assert result.error["errorType"] == "Runtime.MarshalError"


def test_handler_that_cannot_be_built_is_an_error(make_function: Callable[..., FunctionConfig]) -> None:
    def refuse(function: str) -> Handler:
        raise ImportError(function)

    stack = Stack({"Echo": make_function("Echo")}, (), (), (), (), {}, {})
    result = InProcessInvoker(stack, refuse).invoke("Echo", {})
    assert result.error is not None
    assert result.error["errorType"] == "ImportError"


def test_a_handler_over_its_time_is_not_reused(run: Run) -> None:
    release = threading.Event()
    threads: list[int] = []

    def handler(event: dict[str, Any], _: Any) -> Any:
        threads.append(threading.get_ident())
        return event["wait"] and release.wait(10)

    invoker = run(handler, timeout=0.05)
    result = invoker.invoke("Echo", {"wait": True})
    assert result.timed_out
    assert result.error is not None
    assert result.error["errorMessage"].endswith("Task timed out after 0.05 seconds")
    assert "release.wait(10)" in "".join(result.error["stackTrace"])
    assert invoker.invoke("Echo", {"wait": False}).error is None
    release.set()
    assert threads[0] != threads[1]


def test_a_free_handler_is_reused_in_its_thread(run: Run) -> None:
    everyone = threading.Barrier(10)

    def handler(event: dict[str, Any], _: Any) -> Any:
        if event["meet"]:
            everyone.wait(10)
        return threading.get_ident()

    invoker = run(handler)
    with ThreadPoolExecutor(10) as pool:
        results = list(pool.map(lambda _: invoker.invoke("Echo", {"meet": True}), range(10)))
    threads = {result.payload for result in results}
    assert len(threads) == 10
    assert invoker.invoke("Echo", {"meet": False}).payload in threads
    invoker.close()


def test_event_over_six_megabytes_never_reaches_the_handler(run: Run) -> None:
    result = run(lambda *_: pytest.fail("it was called")).invoke("Echo", {"text": "x" * 6 * 1024 * 1024})
    assert result.error is not None
    assert result.error["errorType"] == "RequestEntityTooLargeException"
