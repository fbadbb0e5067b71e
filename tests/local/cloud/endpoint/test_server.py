"""The server of the AWS endpoint speaks HTTP as SDKs expect it."""

import socket
from collections.abc import Callable, Iterable
from typing import Any

from local.cloud.endpoint.server import LoopbackServer


def echo(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    start_response("200 OK", [])
    return [environ["wsgi.input"].read()]


def test_a_client_that_asks_first_is_told_to_go_on() -> None:
    """Without this answer, boto3 waits a second before it sends what it uploads."""
    server = LoopbackServer(echo)
    server.start()
    try:
        with socket.create_connection(("127.0.0.1", server.server_address[1]), timeout=20) as client:
            client.sendall(b"PUT / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
            assert client.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
            client.sendall(b"hello")
            assert client.recv(1000).endswith(b"\r\n\r\nhello")
    finally:
        server.stop()
