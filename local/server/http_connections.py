"""Connections of the HTTP server: a deadline for all that a client must do, and bounds over all connections.

    headers ──> body ──> answer ──> idle ──> headers ...
       a client that does not read its answer: unread ──> answer

Only `answer` waits for the service. In all other phases the connection waits for its client, and may be closed.
"""

import asyncio
import logging
import resource
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

log = logging.getLogger(__name__)
OTHER_FILES = 512
"""Descriptors for all but clients: the database, platforms, agents."""
LEAST_CONNECTIONS = 64
SMALL_CHUNK, SPARE_BYTES = 256, 128 * 1024
"""Chunks of a body may be smaller on average by so many bytes in all. Each costs as much time as a large one, on the loop."""
STREAMED_AT_LEAST = 1024 * 1024
"""Bytes of a streamed body in `body_seconds`: as fast as other bodies must be."""
STREAMED = "handoff.streamed"
"""Set in the scope of a request whose body its application takes away as it comes: only what waits is held."""


@dataclass(frozen=True)
class Limits:
    """Of what clients can hold of the service, most of them without a token."""

    connections: int = 2048
    """More than reads are held, so that these leave room for others."""
    header_bytes: int = 16 * 1024
    bytes_in_flight: int = 64 * 1024 * 1024
    """Received of all requests that are not answered yet."""
    header_seconds: float = 20
    body_seconds: float = 60
    """For a megabyte on a slow line."""
    idle_seconds: int = 75
    """Longer than clients keep a connection that they do not use: one that is closed first may lose a request."""
    backlog: int = 1024
    """Connections that wait to be accepted, for clients that all come at once."""

    @property
    def files(self) -> int:
        """Descriptors that the process needs. All that wait are accepted before any of them can be closed."""
        return self.connections + self.backlog + OTHER_FILES

    @property
    def possible_connections(self) -> int:
        """As many as there are descriptors for."""
        allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if allowed == resource.RLIM_INFINITY:
            return self.connections
        return min(self.connections, max(LEAST_CONNECTIONS, allowed - self.backlog - OTHER_FILES))


def raise_file_limit(limits: Limits) -> None:
    """Ask the system for the descriptors that connections need. Many systems allow 1,024, macOS 256, if not asked."""
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = limits.files if most == resource.RLIM_INFINITY else min(limits.files, most)
    if allowed != resource.RLIM_INFINITY and allowed < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


class SeldomLog:
    """Logs one line a minute of what a client can cause any number of times."""

    def __init__(self, *, every: float = 60.0) -> None:
        self._every, self._next = every, 0.0

    def warn(self, text: str, *values: object) -> None:
        if (now := time.monotonic()) >= self._next:
            self._next = now + self._every
            log.warning(text, *values)


class _Phase(Enum):
    HEADERS = auto()
    BODY = auto()
    ANSWER = auto()
    UNREAD = auto()
    IDLE = auto()
    CLOSING = auto()


_QUIET = (_Phase.IDLE, _Phase.HEADERS, _Phase.CLOSING)
"""Phases in which closing a connection loses nothing that a client has sent whole or in large part."""


class Traffic:
    """All connections of one server. Use it only on the loop."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._most = limits.possible_connections
        self._open: set[Connection] = set()
        self._quiet: dict[Connection, None] = {}  # in the order in which they began to wait
        self._busy: dict[Connection, None] = {}
        self._bytes = 0
        self._log = SeldomLog()

    def protocol(self) -> type["Connection"]:
        """The class of connections, for uvicorn's `http`."""
        traffic = self

        class OwnConnection(Connection):
            _traffic = traffic

        return OwnConnection

    def opened(self, connection: "Connection") -> None:
        """Count a new connection. If there are too many, the one that has waited longest for its client is closed."""
        self._open.add(connection)
        if len(self._open) > self._most:
            self._log.warn("more than %d connections: the one that is idle for longest is closed", self._most)
            next(self._closable(connection), connection).drop()

    def entered(self, connection: "Connection", phase: _Phase) -> None:
        """Note what a connection waits for from now on."""
        self._quiet.pop(connection, None)
        self._busy.pop(connection, None)
        if phase is not _Phase.ANSWER:
            (self._quiet if phase in _QUIET else self._busy)[connection] = None

    def received(self, connection: "Connection", count: int) -> bool:
        """Count bytes before they are kept. False: there is no room, and the connection is closed.

        Those go first that have kept room for longest without a complete request.
        """
        if self._bytes + count > self.limits.bytes_in_flight:
            self._log.warn("unfinished requests hold %d bytes: the oldest are closed", self._bytes)
            for other in [*self._busy, *self._quiet]:
                if other is not connection and other.held:
                    other.drop()
                if self._bytes + count <= self.limits.bytes_in_flight:
                    break
            else:
                connection.drop()
                return False
        self._bytes += count
        return True

    def released(self, count: int) -> None:
        """Bytes of a request are not kept any more."""
        self._bytes -= count

    def closed(self, connection: "Connection") -> None:
        """A second call does nothing."""
        self._open.discard(connection)
        self._quiet.pop(connection, None)
        self._busy.pop(connection, None)

    def _closable(self, new: "Connection") -> "Iterator[Connection]":
        return (each for order in (self._quiet, self._busy) for each in order if each is not new)


class _Parser(h11.Connection):
    """h11's parser, which refuses a body of very many small chunks."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(h11.SERVER, limits.header_bytes)
        self._spare = SPARE_BYTES

    def start_next_cycle(self) -> None:
        super().start_next_cycle()
        self._spare = SPARE_BYTES

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        event = super().next_event()
        if isinstance(event, h11.Data):
            self._spare += len(event.data) - SMALL_CHUNK * event.chunk_start
            if self._spare < 0:
                raise h11.RemoteProtocolError("The chunks of the body are too small.")
        return event


class Connection(H11Protocol):
    """uvicorn's connection with deadlines. uvicorn itself has one for idle connections only."""

    _traffic: Traffic

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.conn = _Parser(self._traffic.limits)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self.held = self._taken = 0
        self._is_over = False
        self._deadline: asyncio.TimerHandle | None = None
        self._phase: tuple[_Phase, RequestResponseCycle | None] = (_Phase.ANSWER, None)
        self._enter(_Phase.HEADERS)
        self._traffic.opened(self)

    def data_received(self, data: bytes) -> None:
        if self._traffic.received(self, len(data)):
            self.held += len(data)
            super().data_received(data)
            self._release_streamed()
            self._look()

    def on_response_complete(self) -> None:
        self._release(but=len(self.conn.trailing_data[0]))  # the next request may have come already
        super().on_response_complete()
        self._look()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._look()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._look()

    def send_400_response(self, msg: str) -> None:
        """Also if it is too late for an answer: the rest of a body is wrong after the request was refused."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # the app has this request already, and must not answer it, too
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.drop()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def drop(self) -> None:
        """Close it now, whatever is left to send. What it has held is free when this returns."""
        self._forget()
        self.transport.abort()

    def _look(self) -> None:
        """After everything that may have begun another phase."""
        if self._is_over:
            return
        phase = self._current()
        is_answered = self.cycle is not None and self.cycle.response_complete
        if phase is _Phase.IDLE or (is_answered and phase is not _Phase.HEADERS):
            self._release()  # uvicorn drops the rest of a body whose request was answered before its end
        if (phase, self.cycle) != self._phase:
            self._enter(phase)

    def _current(self) -> _Phase:
        if self.flow.write_paused:
            return _Phase.UNREAD
        if self.transport.is_closing():
            return _Phase.CLOSING
        if self.conn.their_state is h11.SEND_BODY:
            return _Phase.BODY
        if self.conn.their_state is h11.IDLE:
            return _Phase.HEADERS if self.conn.trailing_data[0] else _Phase.IDLE
        return _Phase.ANSWER

    def _enter(self, phase: _Phase) -> None:
        self._phase = (phase, self.cycle)
        self._traffic.entered(self, phase)
        self._set_deadline(phase)

    def _set_deadline(self, phase: _Phase) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        limits = self._traffic.limits
        seconds = {  # uvicorn has its own for an idle connection
            _Phase.HEADERS: limits.header_seconds,
            _Phase.BODY: limits.body_seconds,
            _Phase.UNREAD: limits.body_seconds,
            _Phase.CLOSING: limits.header_seconds,
        }.get(phase)
        unsent = self.transport.get_write_buffer_size()
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self._expire, phase, unsent)

    def _expire(self, phase: _Phase, unsent: int) -> None:
        if phase is _Phase.UNREAD and self.transport.get_write_buffer_size() < unsent:
            self._set_deadline(phase)  # slow, but it reads
        else:
            self.drop()

    def _release(self, *, but: int = 0) -> None:
        left = min(but, self.held)
        self._traffic.released(self.held - left)
        self.held = left

    def _release_streamed(self) -> None:
        """Give back what the application has taken of a streamed body, and its time: it is slow, but it comes."""
        if self.cycle is None or not self.cycle.scope.get(STREAMED) or self._is_over:
            return
        waiting = len(self.cycle.body) + len(self.conn.trailing_data[0])
        if waiting < self.held:
            self._traffic.released(self.held - waiting)
            self._taken += self.held - waiting
            self.held = waiting
        if self._taken >= STREAMED_AT_LEAST and self._phase[0] is _Phase.BODY:
            self._taken = 0
            self._set_deadline(_Phase.BODY)

    def _forget(self) -> None:
        self._is_over = True
        self._release()
        self._traffic.closed(self)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
