"""A web page that resolves to 127.0.0.1 (DNS rebinding) reaches none of the local ports."""

import http.client
from collections.abc import Iterator
from typing import Any

import pytest

from local.cloud.engine import Engine
from local.cloud.invoke import Result
from local.cloud.runtime.api import RuntimeApi
from local.cloud.sources.http_api import HttpApi
from local.cloud.stack import Route


class Recorder:
    """The functions and the runtime behind the ports; counts what reaches them."""

    def __init__(self) -> None:
        self.calls = 0

    def invoke(self, *_: Any) -> Result:
        self.calls += 1
        return Result()

    def close(self) -> None:
        """Nothing to close."""

    def next_event(self, **_: Any) -> None:
        self.calls += 1

    def answered(self, *_: Any) -> bool:
        self.calls += 1
        return True

    raised = answered

    def init_failed(self, *_: Any) -> None:
        self.calls += 1


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture(params=["aws", "runtime get", "runtime post", "http api"])
def port(request: pytest.FixtureRequest, engine: Engine, recorder: Recorder) -> Iterator[tuple[int, str, str]]:
    """Give port, method and path of a request that the port answers."""
    if request.param == "aws":
        yield int(engine.url.rpartition(":")[2]), "POST", "/"
    elif request.param == "http api":
        api = HttpApi([Route("GET", "/things", "Echo")], recorder, account="123456789012")
        api.start()
        yield api.port, "GET", "/things"
        api.stop()
    else:
        runtime = RuntimeApi(recorder)
        method = request.param.rpartition(" ")[2].upper()
        path = "invocation/other" if method == "GET" else "invocation/1/response"
        yield int(runtime.address.rpartition(":")[2]), method, f"/2018-06-01/runtime/{path}"
        runtime.close()


def status(port: int, method: str, path: str, host: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request(method, path, headers={"Host": host})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


@pytest.mark.parametrize("host", ["rebound.example", "rebound.example:{}", "127.0.0.1.rebound.example", ""])
def test_a_foreign_host_is_refused(port: tuple[int, str, str], host: str, recorder: Recorder) -> None:
    assert status(*port, host=host.format(port[0])) == 403
    assert recorder.calls == 0


@pytest.mark.parametrize("host", ["127.0.0.1:{}", "localhost:{}"])
def test_a_loopback_host_is_served(
    port: tuple[int, str, str], host: str, recorder: Recorder, request: pytest.FixtureRequest
) -> None:
    expected = {"aws": 403, "runtime get": 404, "runtime post": 202, "http api": 200}  # 403: it is not signed
    assert status(*port, host=host.format(port[0])) == expected[request.node.callspec.params["port"]]
