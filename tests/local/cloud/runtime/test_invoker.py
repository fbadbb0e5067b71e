"""Events in real processes: answers, errors, limits, and the environment of a function."""

import os
from collections.abc import Callable

import pytest

from local.cloud.runtime.invoker import RuntimeInvoker
from local.cloud.stack import FunctionConfig

Start = Callable[..., RuntimeInvoker]
Make = Callable[..., FunctionConfig]


def test_a_warm_process_serves_the_next_event(start: Start) -> None:
    invoker = start()
    first = invoker.invoke("Echo", {"do": "echo", "text": "grüße — ✓"})
    second = invoker.invoke("Echo", {"do": "echo"})
    assert first.error is None
    assert first.payload["event"]["text"] == "grüße — ✓"
    assert (first.payload["count"], second.payload["count"]) == (1, 2)
    assert first.payload["pid"] == second.payload["pid"]


def test_a_process_sees_only_lambdas_environment(
    start: Start, make_function: Make, monkeypatch: pytest.MonkeyPatch, app_root: object
) -> None:
    monkeypatch.setenv("OUR_SECRET", "stays here")
    invoker = start(make_function("Echo", HANDOFFS_TABLE="handoffs"))
    seen = invoker.invoke("Echo", {"do": "describe"}).payload
    environment = seen["environment"]
    assert seen["argv"][-4:-1] == ["-m", "awslambdaric", "app.handler"]
    assert seen["cwd"] == environment["LAMBDA_TASK_ROOT"] == str(app_root)
    assert environment["HANDOFFS_TABLE"] == "handoffs"
    assert environment["AWS_ACCESS_KEY_ID"] == "key of Echo"
    assert environment["AWS_ENDPOINT_URL"] == "http://127.0.0.1:1"
    assert environment["AWS_LAMBDA_FUNCTION_NAME"] == seen["name"] == "stack-Echo"
    assert environment["AWS_LAMBDA_LOG_GROUP_NAME"] == "/aws/lambda/stack-Echo"
    assert environment["PATH"] == os.environ["PATH"]
    foreign = set(environment) - {"HANDOFFS_TABLE", "PATH", "LANG", "TZ", "LAMBDA_TASK_ROOT", "_HANDLER"}
    assert {name for name in foreign if not name.startswith("AWS_")} == set()


def test_context_carries_id_arn_memory_and_remaining_time(start: Start, make_function: Make) -> None:
    result = start(make_function("Echo", timeout=9)).invoke("Echo", {"do": "describe"})
    assert result.payload["id"] == result.request_id
    assert result.payload["arn"] == "arn:aws:lambda:us-east-1:123456789012:function:stack-Echo"
    assert result.payload["memory"] == "256"
    assert 5000 < result.payload["remaining"] <= 9000


def test_exception_has_lambdas_shape_and_keeps_the_process(start: Start) -> None:
    invoker = start()
    pid = invoker.invoke("Echo", {"do": "echo"}).payload["pid"]
    result = invoker.invoke("Echo", {"do": "fail"})
    assert result.error is not None
    assert result.error["errorType"] == "KeyError"
    assert result.error["errorMessage"] == "'no such thing'"
    assert result.error["requestId"] == result.request_id
    assert "in fail" in result.error["stackTrace"][-1]
    assert not result.timed_out
    assert invoker.invoke("Echo", {"do": "echo"}).payload["pid"] == pid


def test_every_waiting_event_gets_the_init_error(start: Start, make_function: Make) -> None:
    invoker = start(make_function("Echo", "missing_module.handler"))
    for _ in range(2):
        result = invoker.invoke("Echo", {})
        assert result.error is not None
        assert result.error["errorType"] == "Runtime.ImportModuleError"
        assert "No module named 'missing_module'" in result.error["errorMessage"]


def test_a_module_that_exits_fails_after_a_few_tries(start: Start, make_function: Make, app_root: object) -> None:
    with open(f"{app_root}/quits.py", "w") as module:  # noqa: PTH123 - one line of code
        module.write("import os; os._exit(3)")
    result = start(make_function("Echo", "quits.handler")).invoke("Echo", {})
    assert result.error is not None
    assert result.error["errorType"] == "Runtime.ExitError"
    assert "exit status 3" in result.error["errorMessage"]


def test_module_that_never_loads_is_stopped(start: Start, make_function: Make, app_root: object) -> None:
    with open(f"{app_root}/stuck.py", "w") as module:  # noqa: PTH123 - one line of code
        module.write("import threading; threading.Event().wait()")
    result = start(make_function("Echo", "stuck.handler"), init_seconds=0.2).invoke("Echo", {})
    assert result.error is not None
    assert result.error["errorType"] == "Sandbox.InitTimedout"


def test_events_and_answers_over_six_megabytes_are_refused(start: Start) -> None:
    invoker = start()
    result = invoker.invoke("Echo", {"do": "echo", "text": "x" * (6 * 1024 * 1024)})
    assert result.error is not None
    assert result.error["errorType"] == "RequestEntityTooLargeException"
    result = invoker.invoke("Echo", {"do": "large", "size": 6 * 1024 * 1024 + 200})
    assert result.error is not None
    assert result.error["errorType"] == "Function.ResponseSizeTooLarge"
    assert len(invoker.invoke("Echo", {"do": "large", "size": 6_000_000}).payload) == 6_000_000


def test_missing_credentials_are_an_error(make_function: Make, app_root: object, start: Start) -> None:
    def refuse(role_arn: str) -> dict[str, str]:
        raise PermissionError(role_arn)

    invoker = start()
    invoker._credentials = refuse
    result = invoker.invoke("Echo", {"do": "echo"})
    assert result.error is not None
    assert "role/Echo" in result.error["errorMessage"]
