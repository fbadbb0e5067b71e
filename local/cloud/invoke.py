"""Invocation of a function: the port, its result, Lambda's errors and limits."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from local.cloud.stack import REGION, FunctionConfig

REQUEST_LIMIT = 6 * 1024 * 1024
RESPONSE_LIMIT = REQUEST_LIMIT + 100  # Lambda's own figure: 6291556 bytes


@dataclass(frozen=True)
class Result:
    """One finished invocation. `error` has Lambda's shape (errorType, errorMessage, ...); without it `payload` is valid."""

    payload: Any = None
    error: Mapping[str, Any] | None = None
    timed_out: bool = False
    request_id: str = ""


class Invoker(Protocol):
    """Runs functions by logical id. `invoke` blocks, is thread-safe, and does not raise if the function fails."""

    def invoke(self, function: str, event: Mapping[str, Any]) -> Result: ...

    def close(self) -> None: ...


def function_arn(config: FunctionConfig) -> str:
    """Return the function's ARN, in the account of its role."""
    account = config.role_arn.split(":")[4]
    return f"arn:aws:lambda:{REGION}:{account}:function:{config.name}"


def encode(event: Mapping[str, Any]) -> bytes:
    """Return the event as JSON."""
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()


def too_large(size: int) -> Result:
    """Return the error for an event over Lambda's limit."""
    message = f"Request must be smaller than {REQUEST_LIMIT} bytes for the InvokeFunction operation (it has {size})"
    return Result(error={"errorType": "RequestEntityTooLargeException", "errorMessage": message})


def answered(body: bytes, request_id: str) -> Result:
    """Return the result for a function's response; too large or invalid JSON is an error."""
    if len(body) > RESPONSE_LIMIT:
        message = f"Response payload size exceeded maximum allowed payload size ({RESPONSE_LIMIT} bytes)."
        return failed("Function.ResponseSizeTooLarge", message, request_id)
    try:
        return Result(payload=json.loads(body) if body else None, request_id=request_id)
    except ValueError as error:
        return failed("Runtime.MarshalError", f"The response is not JSON: {error}", request_id)


def failed(error_type: str, message: str, request_id: str) -> Result:
    """Return the result of an invocation that failed."""
    return Result(error={"errorType": error_type, "errorMessage": message}, request_id=request_id)


def timed_out(seconds: float, request_id: str, where: Sequence[str] = ()) -> Result:
    """Return the result of an invocation that was stopped at its function's time limit, with Lambda's message.

    `where` is the stack at that moment, if it is known. Lambda itself does not give one.
    """
    message = f"RequestId: {request_id} Error: Task timed out after {seconds:.2f} seconds"
    error = {"errorType": "Sandbox.Timedout", "errorMessage": message} | ({"stackTrace": [*where]} if where else {})
    return Result(error=error, timed_out=True, request_id=request_id)
