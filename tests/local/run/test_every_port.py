"""Each port of a whole local run, found through the kernel, so that a new one cannot be forgotten."""

import http.client

import pytest

from tests.local.run.conftest import LocalRun
from tests.support.processes import Port

OTHER_PAGES = {
    "rebound": {"Host": "evil.example:{port}"},
    "rebound, same origin": {"Host": "evil.example:{port}", "Origin": "http://evil.example:{port}"},
    "cors": {"Host": "127.0.0.1:{port}", "Origin": "http://evil.example"},
    "cors of another port": {"Host": "127.0.0.1:{port}", "Origin": "http://127.0.0.1:1"},
    "cors of a sandbox or a file": {"Host": "127.0.0.1:{port}", "Origin": "null"},
    "no-cors": {"Host": "127.0.0.1:{port}", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
    "no-cors of another port": {"Host": "127.0.0.1:{port}", "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"},
    "frame": {
        "Host": "127.0.0.1:{port}",
        "Sec-Fetch-Site": "cross-site",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Dest": "iframe",
    },
}
PATHS = ("/", "/state", "/sessions", "/2018-06-01/runtime/invocation/next", "/moto-api/data.json")


def status(port: Port, method: str, path: str, headers: dict[str, str]) -> int:
    connection = http.client.HTTPConnection(port.address, port.number, timeout=5)
    try:
        connection.request(method, path, b"{}" if method == "POST" else None, headers)
        return connection.getresponse().status
    finally:
        connection.close()


def test_every_port_listens_on_loopback_only(local_run: LocalRun) -> None:
    assert {port.address for port in local_run.ports} == {"127.0.0.1"}
    assert {local_run.api.port, local_run.simulator.port} < {port.number for port in local_run.ports}


@pytest.mark.parametrize("kind", OTHER_PAGES)
def test_every_port_refuses_other_pages(local_run: LocalRun, kind: str) -> None:
    served = [
        (port.number, method, path)
        for port in local_run.ports
        for path in PATHS
        for method in ("GET", "POST")
        if status(
            port, method, path, {name: value.format(port=port.number) for name, value in OTHER_PAGES[kind].items()}
        )
        != 403
    ]
    assert served == []
