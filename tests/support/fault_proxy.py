"""A proxy in front of a real service: records every request, and fails or changes the answers to chosen ones."""

import http.client
import json
import re
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tests.support.servers import DROP, HANG, HttpServer, Request, Response

_HOP_BY_HOP = {"connection", "content-length", "transfer-encoding", "keep-alive", "date", "server"}


@dataclass
class Fault:
    """Applies to the next `count` requests whose `METHOD /path` matches the regular expression.

    `response` replaces the service's answer (also DROP or HANG), `change` edits its JSON, and `lose` closes the
    connection after the service has handled the request. `after` lets that many requests of the test pass first.
    """

    match: str
    response: Response | None = None
    change: Callable[[Any], None] | None = None
    lose: bool = False
    count: int = 1
    after: int = 0


class FaultProxy(HttpServer):
    """Forwards requests to `upstream`, except where a fault applies."""

    def __init__(self, upstream: str, *, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(self._answer, tls=tls)
        self.faults: list[Fault] = []
        self.hanging = threading.Event()
        self._upstream = urlsplit(upstream).netloc

    def fail(self, match: str, **options: Any) -> None:
        self.faults.append(Fault(match, **options))

    def calls(self, method: str, pattern: str) -> list[Request]:
        return [seen for seen in self.requests if seen.method == method and re.fullmatch(pattern, seen.path)]

    def _answer(self, request: Request) -> Response:
        fault = self._take(request)
        if fault is None:
            return self._forward(request)
        if fault.response is not None:
            if fault.response is HANG:
                self.hanging.set()
            return fault.response
        answer = self._forward(request)
        if fault.lose:
            return DROP
        if fault.change:
            value = json.loads(answer.body)
            fault.change(value)
            return Response(answer.status, json.dumps(value).encode(), answer.headers)
        return answer

    def _take(self, request: Request) -> Fault | None:
        for fault in self.faults:
            matches = re.fullmatch(fault.match, f"{request.method} {request.path}")
            if fault.count and len(self.requests) >= fault.after and matches:
                fault.count -= 1
                return fault
        return None

    def _forward(self, request: Request) -> Response:
        headers = {name: value for name, value in request.headers.items() if name not in _HOP_BY_HOP}
        target = f"{request.path}?{request.raw_query}" if request.raw_query else request.path
        connection = http.client.HTTPConnection(self._upstream, timeout=60)
        try:
            connection.request(request.method, target, request.body or None, headers)
            answer = connection.getresponse()
            kept = {name.lower(): value for name, value in answer.getheaders() if name.lower() not in _HOP_BY_HOP}
            return Response(answer.status, answer.read(), kept)
        finally:
            connection.close()
