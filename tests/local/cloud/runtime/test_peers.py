"""Other users of this machine do not get the events of functions: these hold tokens."""

import http.client
import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from local.cloud.runtime import api
from local.cloud.runtime.api import Event, RuntimeApi

NEXT = "/2018-06-01/runtime/invocation/next"
EVENT = Event("1", b'{"headers": {"authorization": "Bearer t"}}', 0, "arn")


class OneEvent:
    """A runtime that always has an event."""

    def __init__(self) -> None:
        self.taken = 0

    def next_event(self, **_: Any) -> Event:
        self.taken += 1
        return EVENT

    def answered(self, *_: Any) -> bool:
        return True

    raised = answered

    def init_failed(self, *_: Any) -> None:
        """Nothing to record."""


@pytest.fixture
def runtime() -> OneEvent:
    return OneEvent()


@pytest.fixture
def connection(runtime: OneEvent) -> Iterator[http.client.HTTPConnection]:
    api = RuntimeApi(runtime)
    connection = http.client.HTTPConnection(api.address, timeout=20)
    yield connection
    connection.close()
    api.close()


def take(connection: http.client.HTTPConnection) -> bytes:
    connection.request("GET", NEXT)
    return connection.getresponse().read()


def test_the_own_user_takes_an_event(connection: http.client.HTTPConnection) -> None:
    assert take(connection) == EVENT.body


@pytest.mark.skipif(not api.CONNECTIONS.exists(), reason="needs /proc of Linux")
def test_another_user_gets_no_event(
    connection: http.client.HTTPConnection, runtime: OneEvent, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: other)
    with pytest.raises(ConnectionError):
        take(connection)
    assert runtime.taken == 0


@pytest.mark.skipif(not api.CONNECTIONS.exists(), reason="needs /proc of Linux")
def test_a_connection_that_the_kernel_does_not_list_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    (tmp_path / "tcp").write_text("  sl  local_address rem_address\n")
    monkeypatch.setattr(api, "CONNECTIONS", tmp_path / "tcp")
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert not api.is_this_user(client)
