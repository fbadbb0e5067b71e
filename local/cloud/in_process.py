"""Runs functions as threads of this process, for fast tests, with the events, results and errors of the real runtime."""

import json
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any
from uuid import uuid4

from awslambdaric.lambda_runtime_exception import FaultException
from awslambdaric.lambda_runtime_marshaller import LambdaMarshaller

from local.cloud.invoke import REQUEST_LIMIT, Result, answered, encode, failed, function_arn, timed_out, too_large
from local.cloud.stack import FunctionConfig, Stack

Handler = Callable[[dict[str, Any], Any], Any]
_MARSHALLER = LambdaMarshaller()  # that of the real runtime, so that the same results are accepted


class Killed(BaseException):
    """Raised inside a handler to simulate SIGKILL at that point: the function ends without a result."""


@dataclass(frozen=True)
class Context:
    """The part of Lambda's context object that functions use."""

    aws_request_id: str
    function_name: str
    invoked_function_arn: str
    memory_limit_in_mb: str
    deadline: float

    def get_remaining_time_in_millis(self) -> int:
        return max(0, int((self.deadline - time.monotonic()) * 1000))


@dataclass
class _Call:
    event: bytes
    context: Context
    done: threading.Event
    result: Result | None = None
    is_last: bool = False


class _Sandbox:
    """One handler in one thread, so that what a handler keeps between events stays in one thread."""

    def __init__(self, name: str, make: Callable[[], Handler]) -> None:
        self._make = make
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name=f"in-process {name}", daemon=True)
        self._thread.start()

    def run(self, call: _Call) -> None:
        self._calls.put(call)

    def stop(self) -> None:
        self._calls.put(None)

    def where(self) -> list[str]:
        """The stack of the handler at this moment."""
        frame = sys._current_frames().get(self._thread.ident or 0)  # noqa: SLF001  # documented, for this use
        return traceback.format_stack(frame) if frame else []

    def _serve(self) -> None:
        handler: Handler | None = None
        while (call := self._calls.get()) is not None:
            try:
                handler = handler or self._make()
                answer = handler(json.loads(call.event), call.context)
                call.result = answered(_marshalled(answer), call.context.aws_request_id)
            except FaultException as fault:
                call.result = failed(fault.exception_type, fault.msg, call.context.aws_request_id)
            except Exception as error:  # noqa: BLE001 - becomes the result, as on Lambda
                call.result = _raised(error, call.context.aws_request_id)
            except Killed:
                call.is_last, call.result = True, _killed(call.context.aws_request_id)
            call.done.set()
            if call.is_last:
                return


class InProcessInvoker:
    """Runs handlers made by `build(logical_id)`: one event at a time per handler; builds another when all are busy.

    A thread cannot be killed: a handler over its time limit is reported as timed out and not used again, but runs on.
    """

    def __init__(self, stack: Stack, build: Callable[[str], Handler]) -> None:
        self._stack = stack
        self._build = build
        self._idle: dict[str, list[_Sandbox]] = {name: [] for name in stack.functions}
        self._lock = threading.Lock()
        self._closed = False

    def invoke(self, function: str, event: Mapping[str, Any]) -> Result:
        config = self._stack.functions[function]
        body = encode(event)
        if len(body) > REQUEST_LIMIT:
            return too_large(len(body))
        with self._lock:
            idle = self._idle[function]
            sandbox = idle.pop() if idle else _Sandbox(function, lambda: self._build(function))
        call = _Call(body, _context(config), threading.Event())
        sandbox.run(call)
        call.done.wait(config.timeout)
        with self._lock:
            if call.result is None or self._closed:
                sandbox.stop()
            elif not call.is_last:
                self._idle[function].append(sandbox)
        return call.result or timed_out(config.timeout, call.context.aws_request_id, sandbox.where())

    def close(self) -> None:
        """End idle handlers; a running one ends with its event."""
        with self._lock:
            self._closed = True
            for idle in self._idle.values():
                while idle:
                    idle.pop().stop()


def _context(config: FunctionConfig) -> Context:
    return Context(
        aws_request_id=str(uuid4()),
        function_name=config.name,
        invoked_function_arn=function_arn(config),
        memory_limit_in_mb=str(config.memory),
        deadline=time.monotonic() + config.timeout,
    )


def _marshalled(answer: Any) -> bytes:
    text, _ = _MARSHALLER.marshal_response(answer)
    return text if isinstance(text, bytes) else text.encode()


def _killed(request_id: str) -> Result:
    message = f"RequestId: {request_id} Error: Runtime exited with error: signal: killed"
    return failed("Runtime.ExitError", message, request_id)


def _raised(error: Exception, request_id: str) -> Result:
    frames = traceback.extract_tb(error.__traceback__)[1:]
    shape = {
        "errorMessage": str(error),
        "errorType": type(error).__name__,
        "requestId": request_id,
        "stackTrace": traceback.format_list(frames),
    }
    return Result(error=shape, request_id=request_id)
