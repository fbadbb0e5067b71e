"""How a function is called, whoever runs it: the port, its result, and Lambda's own errors and limits."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from local.cloud.stack import FunctionConfig

REGION = "us-east-1"
REQUEST_LIMIT = 6 * 1024 * 1024
RESPONSE_LIMIT = REQUEST_LIMIT + 100  # Lambda's own figure: 6291556 bytes


@dataclass(frozen=True)
class Result:
    """One finished invocation. `error` has Lambda's shape (errorType, errorMessage, ...); `payload` holds only without it."""

    payload: Any = None
    error: Mapping[str, Any] | None = None
    timed_out: bool = False
    request_id: str = ""


class Invoker(Protocol):
    """Runs functions by logical id. `invoke` blocks, may be called from many threads, and never raises for a function's fault."""

    def invoke(self, function: str, event: Mapping[str, Any]) -> Result: ...

    def close(self) -> None: ...


def function_arn(config: FunctionConfig) -> str:
    """The function's ARN, in the account of its role."""
    account = config.role_arn.split(":")[4]
    return f"arn:aws:lambda:{REGION}:{account}:function:{config.name}"


def encode(event: Mapping[str, Any]) -> bytes:
    """The event as it travels to a function."""
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()


def too_large(size: int) -> Result:
    """An event over Lambda's limit, refused before it reaches the function."""
    message = f"Request must be smaller than {REQUEST_LIMIT} bytes for the InvokeFunction operation (it has {size})"
    return Result(error={"errorType": "RequestEntityTooLargeException", "errorMessage": message})


def answered(body: bytes, request_id: str) -> Result:
    """What the function returned, held to the limit and the JSON that Lambda asks of it."""
    if len(body) > RESPONSE_LIMIT:
        message = f"Response payload size exceeded maximum allowed payload size ({RESPONSE_LIMIT} bytes)."
        return failed("Function.ResponseSizeTooLarge", message, request_id)
    try:
        return Result(payload=json.loads(body) if body else None, request_id=request_id)
    except ValueError as error:
        return failed("Runtime.MarshalError", f"The answer is not JSON: {error}", request_id)


def failed(error_type: str, message: str, request_id: str) -> Result:
    """An invocation that ended without an answer."""
    return Result(error={"errorType": error_type, "errorMessage": message}, request_id=request_id)


def timed_out(seconds: float, request_id: str) -> Result:
    """An invocation that was stopped at its function's limit, in Lambda's words."""
    message = f"RequestId: {request_id} Error: Task timed out after {seconds:.2f} seconds"
    return Result(
        error={"errorType": "Sandbox.Timedout", "errorMessage": message}, timed_out=True, request_id=request_id
    )
