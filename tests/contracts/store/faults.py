"""Faults between the store and its tables, through botocore's own events: nothing is patched."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from botocore.exceptions import ConnectionClosedError

Handler = Callable[..., Any]


@contextmanager
def hooked(client: Any, event: str, handler: Handler, *, times: int = 1) -> Iterator[list[str]]:
    """Let `handler` see (and decide) the next `times` of an event; gives the list of those it has seen."""
    seen: list[str] = []

    def once(**event_details: Any) -> Any:
        if len(seen) >= times:
            return None
        seen.append(event)
        return handler(**event_details)

    client.meta.events.register(event, once)
    try:
        yield seen
    finally:
        client.meta.events.unregister(event, once)


@contextmanager
def not_sent(client: Any, operation: str) -> Iterator[list[str]]:
    """The next call breaks before it leaves: nothing is committed."""

    def broken(*, request: Any, **_: Any) -> None:
        raise ConnectionClosedError(endpoint_url=request.url)

    with hooked(client, f"before-send.dynamodb.{operation}", broken) as seen:
        yield seen


@contextmanager
def answer_lost(client: Any, operation: str) -> Iterator[list[str]]:
    """The next call is committed, and its answer never arrives."""

    def swallowed(*, request: Any, **_: Any) -> None:
        client._endpoint.http_session.send(request)
        raise ConnectionClosedError(endpoint_url=request.url)

    with hooked(client, f"before-send.dynamodb.{operation}", swallowed) as seen:
        yield seen


@contextmanager
def refused(
    client: Any, operation: str, code: str, *, times: int = 1, reasons: Sequence[Mapping[str, Any]] | None = None
) -> Iterator[list[str]]:
    """The next calls are answered with an error before they leave: throttled, in conflict, cancelled."""

    def answered(**_: Any) -> tuple[Any, Mapping[str, Any]]:
        parsed: dict[str, Any] = {
            "Error": {"Code": code, "Message": "armed by a test"},
            "ResponseMetadata": {"HTTPStatusCode": 400},
        }
        if reasons is not None:
            parsed["CancellationReasons"] = reasons
        return SimpleNamespace(status_code=400), parsed

    with hooked(client, f"before-call.dynamodb.{operation}", answered, times=times) as seen:
        yield seen
