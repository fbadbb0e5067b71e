"""Failures between the CLI and the service: one line that says what happened and what to do, never a traceback."""

import socket
import ssl
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import PROGRAM, Done, Run
from tests.support.certificates import self_signed, server_context
from tests.support.fault_proxy import FaultProxy
from tests.support.servers import DROP, HANG, HttpServer, Response, json_response

if TYPE_CHECKING:
    from tests.support.one_machine import OneMachine


def _one_line(done: Done, code: int, *said: str) -> None:
    assert done.returncode == code, done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert "Traceback" not in done.stderr
    for part in said:
        assert part in done.stderr, done.stderr


def _in_a_shell(line: str, environ: dict[str, str]) -> Done:
    """Run `handoff` with the rest of the line as the shell reads it."""
    command = ["bash", "-c", f"{' '.join(PROGRAM)} {line}"]
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return self_signed(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def tls(certificate: Path) -> ssl.SSLContext:
    return server_context(certificate)


def test_no_service_listens(run_alone: Run) -> None:
    done = run_alone("status", "h1", HANDOFF_URL=f"http://127.0.0.1:{_free_port()}")
    _one_line(done, 4, "Is it running?", "handoff up")


def test_an_unknown_host(run_alone: Run) -> None:
    done = run_alone("status", "h1", HANDOFF_URL="https://no-such-host.invalid")
    _one_line(done, 4, "no-such-host.invalid")


def test_a_wrong_token(run: Run) -> None:
    _one_line(run("status", "h1", "--token", "nonsense"), 1, "rejected the token from flags")


def test_no_token(run: Run) -> None:
    _one_line(run("status", "h1", HANDOFF_TOKEN=""), 1, "needs a token", "config set token")


@pytest.mark.parametrize(
    ("status", "body", "ending"),
    [
        (404, b"<html>nginx</html>", (4, "not a Handoff service")),
        (404, b'{"message":"Not Found"}', (4, "not a Handoff service")),
        (200, b"<html>hello</html>", (4, "not a Handoff service")),
        (200, b"[]", (4, "not a Handoff service")),
        (302, b"", (4, "https://elsewhere.example")),
        (407, b"", (4, "The proxy needs")),
        (500, b"oops", (4, "reports an error (HTTP 500)")),
        (500, b'{"code":"internal","detail":"Something went wrong."}', (4, "Something went wrong.")),
        (503, b"", (4, "reports an error (HTTP 503)")),
        (429, b'{"message":"Too Many Requests"}', (1, "Too many requests")),
        (401, b'{"message":"Unauthorized"}', (1, "rejected the token")),
        (403, b'{"message":"Forbidden"}', (4, "not a Handoff service")),
    ],
)
def test_answers_that_no_service_gives(run_alone: Run, status: int, body: bytes, ending: tuple[int, str]) -> None:
    headers = {"location": "https://elsewhere.example", "retry-after": "0", "content-type": "text/html"}
    with HttpServer(Response(status, body, headers)) as server:
        _one_line(run_alone("status", "h1", HANDOFF_URL=server.url, HANDOFF_TOKEN="x"), *ending)


def test_an_answer_without_the_fields_of_the_contract(run_alone: Run) -> None:
    with HttpServer(json_response({})) as server:
        for command in (["status", "h1"], ["platforms"], ["sessions"], ["history", "x"], ["status"]):
            _one_line(run_alone(*command, HANDOFF_URL=server.url), 4, "is missing in the answer")


def test_a_short_throttling_is_waited_out(run: Run, proxy: FaultProxy) -> None:
    proxy.fail("GET /platforms", response=Response(429, headers={"retry-after": "0"}), count=2)
    assert run("platforms").returncode == 0


def test_a_long_throttling_is_shown_with_its_time(run: Run, proxy: FaultProxy) -> None:
    proxy.fail("GET /platforms", response=Response(429, headers={"retry-after": "3600"}), count=9)
    _one_line(run("platforms"), 1, "in 3600 s")


def test_a_service_that_does_not_answer_in_time(run: Run, proxy: FaultProxy) -> None:
    proxy.fail("GET /handoffs/h1", response=HANG, count=9)
    _one_line(run("wait", "h1", "--timeout", "0.1"), 4, "did not answer in time")


def test_a_connection_that_breaks(run: Run, proxy: FaultProxy) -> None:
    proxy.fail("GET /.*", response=DROP, count=9)
    _one_line(run("platforms"), 4, "broke")


def test_an_untrusted_certificate(run_alone: Run, tls: ssl.SSLContext) -> None:
    with HttpServer(tls=tls) as server:
        _one_line(run_alone("platforms", HANDOFF_URL=server.url), 4, "certificate", "SSL_CERT_FILE")


def test_a_private_certificate_authority_is_accepted(
    run_program: Run, service: "OneMachine", certificate: Path, tls: ssl.SSLContext
) -> None:
    with FaultProxy(service.url, tls=tls) as secure:
        done = run_program("platforms", HANDOFF_URL=secure.url, SSL_CERT_FILE=str(certificate.with_suffix(".crt")))
        assert done.returncode == 0, done.stderr


def test_https_to_a_plain_port(run_alone: Run) -> None:
    with HttpServer() as server:
        url = server.url.replace("http:", "https:")
        _one_line(run_alone("platforms", HANDOFF_URL=url), 4, "http:// instead of https://")


def test_a_proxy_that_does_not_listen(run_program: Run) -> None:
    proxy = f"http://127.0.0.1:{_free_port()}"
    done = run_program("platforms", HANDOFF_URL="https://handoff.example", HTTPS_PROXY=proxy)
    _one_line(done, 4, "proxy", proxy)


def test_a_proxy_that_refuses(run_program: Run) -> None:
    with HttpServer() as refusing:  # it knows no CONNECT
        done = run_program("platforms", HANDOFF_URL="https://handoff.example", HTTPS_PROXY=refusing.url)
    _one_line(done, 4, "proxy")


@pytest.mark.parametrize("setting", ["nonsense://x", "socks5://127.0.0.1:1", "http://["])
def test_invalid_proxy_settings(run_program: Run, setting: str) -> None:
    _one_line(run_program("platforms", HANDOFF_URL="https://handoff.example", ALL_PROXY=setting), 4, "proxy")


def test_no_proxy_is_used_to_reach_this_machine(run_program: Run) -> None:
    assert run_program("platforms", HTTP_PROXY="http://127.0.0.1:1", ALL_PROXY="nonsense://x").returncode == 0


@pytest.mark.parametrize("url", ["localhost:8787", "http://a b", "http://\x7f", "http://" + "a" * 300 + ".example"])
def test_an_unusable_url(run_program: Run, url: str) -> None:
    done = run_program("platforms", HANDOFF_URL=url)
    assert done.returncode in {2, 4}
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_a_closed_pipe_is_not_an_error(environ: dict[str, str]) -> None:
    session = {"id": "s", "title": "x" * 60, "owner": "cli", "epoch": 0, "message_count": 0}
    with HttpServer(json_response({"sessions": [session] * 3000, "next": None})) as server:
        done = _in_a_shell("sessions --limit 3000 | head -1", {**environ, "HANDOFF_URL": server.url})
    assert (done.stdout.count("\n"), done.stderr) == (1, "")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_not_an_error(connected: dict[str, str], closed: str) -> None:
    done = _in_a_shell(f"platforms {closed}", connected)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_unexpected_error_is_one_line(run_alone: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_context: object) -> int:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr("handoff_cli.commands.link.platforms", fail)
    _one_line(run_alone("platforms"), 1, "Internal error", "HANDOFF_DEBUG=1")
    with pytest.raises(ZeroDivisionError):
        run_alone("platforms", HANDOFF_DEBUG="1")


def test_without_a_command_the_help_is_shown(run_alone: Run) -> None:
    done = run_alone()
    assert (done.returncode, done.stdout, "sessions" in done.stderr) == (2, "", True)


def test_wrong_usage_exits_2(run_alone: Run) -> None:
    assert run_alone("fly").returncode == 2
    assert run_alone("send", "telegram", "--timeout", "soon", "--transcript", "x").returncode == 2
    assert "nothing to hand over" in run_alone("send", "telegram").stderr.lower()


def test_chat_needs_a_terminal(run_alone: Run) -> None:
    done = run_alone("chat")
    assert (done.returncode, "handoff send" in done.stderr) == (2, True)
