"""Whatever is wrong between here and the service: one line that says what and what to do, and never a traceback."""

import socket
import ssl
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.stub_service import Fault, StubService


def _one_line(done: "subprocess.CompletedProcess[str]", code: int, *said: str) -> None:
    assert done.returncode == code, done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert "Traceback" not in done.stderr
    for part in said:
        assert part in done.stderr, done.stderr


def _in_a_shell(line: str, environ: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    """`handoff` with what a shell makes of the rest of the line."""
    command = ["bash", "-c", f"{sys.executable} -m handoff_cli {line}"]
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tls") / "self-signed.pem"
    make = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
    files = ["-keyout", str(path), "-out", str(path.with_suffix(".crt"))]
    subprocess.run([*make.split(), *files], check=True, capture_output=True)
    path.write_text(path.read_text() + path.with_suffix(".crt").read_text())
    return path


def test_nobody_listens(run: Run) -> None:
    _one_line(run("status", "h1", HANDOFF_URL=f"http://127.0.0.1:{_free_port()}"), 4, "Is it running?", "make run")


def test_an_unknown_host(run: Run) -> None:
    done = run("status", "h1", HANDOFF_URL="http://no-such-host.invalid")
    _one_line(done, 4, "no-such-host.invalid")


def test_a_wrong_token(run: Run) -> None:
    _one_line(run("status", "h1", "--token", "nonsense"), 1, "does not know the token from flags")


def test_no_token(run: Run) -> None:
    _one_line(run("status", "h1", HANDOFF_TOKEN=""), 1, "wants a token", "config set token")


@pytest.mark.parametrize(
    ("status", "body", "ending"),
    [
        (404, b"<html>nginx</html>", (4, "not a Handoff service")),
        (404, b'{"message":"Not Found"}', (4, "not a Handoff service")),
        (200, b"<html>hello</html>", (4, "not a Handoff service")),
        (200, b"[]", (4, "not a Handoff service")),
        (302, b"", (4, "https://elsewhere.example")),
        (407, b"", (4, "The proxy wants")),
        (500, b"oops", (4, "has a problem (HTTP 500)")),
        (500, b'{"code":"internal","detail":"Something went wrong."}', (4, "Something went wrong.")),
        (503, b"", (4, "has a problem (HTTP 503)")),
        (429, b'{"message":"Too Many Requests"}', (1, "fewer calls")),
        (401, b'{"message":"Unauthorized"}', (1, "does not know the token")),
        (403, b'{"message":"Forbidden"}', (4, "not a Handoff service")),
    ],
)
def test_strange_answers(run: Run, stub: StubService, status: int, body: bytes, ending: tuple[int, str]) -> None:
    headers = {"location": "https://elsewhere.example", "retry-after": "0", "content-type": "text/html"}
    stub.faults.append(Fault("GET /handoffs/h1", status=status, body=body, headers=headers, count=99))
    _one_line(run("status", "h1"), *ending)


def test_an_answer_without_the_fields_of_the_contract(run: Run, stub: StubService) -> None:
    stub.faults.append(Fault("GET /.*", status=200, body=b"{}", count=99))
    for command in (["status", "h1"], ["platforms"], ["sessions"], ["history", "x"], ["status"]):
        _one_line(run(*command), 4, "not as the contract says")


def test_throttling_is_waited_out_when_it_is_short(run: Run, stub: StubService) -> None:
    stub.faults.append(Fault("GET /platforms", status=429, headers={"retry-after": "0"}, count=2))
    assert run("platforms").returncode == 0


def test_a_long_throttling_is_told_with_its_time(run: Run, stub: StubService) -> None:
    stub.faults.append(Fault("GET /platforms", status=429, headers={"retry-after": "3600"}, count=9))
    _one_line(run("platforms"), 1, "in 3600 s")


def test_a_service_that_does_not_answer_in_time(run: Run, stub: StubService) -> None:
    stub.faults.append(Fault("GET /handoffs/h1", hang=threading.Event(), count=9))
    _one_line(run("wait", "h1", "--timeout", "0.1"), 4, "did not answer in time")


def test_a_connection_that_breaks(run: Run, stub: StubService) -> None:
    stub.faults.append(Fault("GET /.*", drop=True, count=9))
    _one_line(run("platforms"), 4, "broke")


def test_a_certificate_that_nobody_vouches_for(run: Run, certificate: Path) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    with StubService(tls=tls) as secure:
        _one_line(run("platforms", HANDOFF_URL=secure.url), 4, "certificate", "SSL_CERT_FILE")


def test_a_certificate_of_ones_own_authority_is_accepted(run_program: Run, certificate: Path) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    with StubService(tls=tls) as secure:
        done = run_program("platforms", HANDOFF_URL=secure.url, SSL_CERT_FILE=str(certificate.with_suffix(".crt")))
        assert done.returncode == 0, done.stderr


def test_https_to_a_plain_port(run: Run, stub: StubService) -> None:
    _one_line(run("platforms", HANDOFF_URL=stub.url.replace("http:", "https:")), 4, "http:// rather than https://")


def test_a_proxy_that_is_not_there(run_program: Run) -> None:
    proxy = f"http://127.0.0.1:{_free_port()}"
    done = run_program("platforms", HANDOFF_URL="http://handoff.example", HTTP_PROXY=proxy)
    _one_line(done, 4, "proxy", proxy)


def test_a_proxy_that_refuses(run_program: Run, stub: StubService) -> None:
    done = run_program("platforms", HANDOFF_URL="https://handoff.example", HTTPS_PROXY=stub.url)
    _one_line(done, 4, "proxy")


def test_proxy_settings_that_make_no_sense(run_program: Run) -> None:
    for proxy in ("nonsense://x", "socks5://127.0.0.1:1", "http://["):
        _one_line(run_program("platforms", HANDOFF_URL="http://handoff.example", ALL_PROXY=proxy), 4, "proxy")


def test_a_proxy_does_not_stand_between_a_machine_and_itself(run_program: Run) -> None:
    assert run_program("platforms", HTTP_PROXY="http://127.0.0.1:1", ALL_PROXY="nonsense://x").returncode == 0


@pytest.mark.parametrize("url", ["localhost:8787", "http://a b", "http://\x7f", "http://" + "a" * 300 + ".example"])
def test_a_url_that_cannot_be_used(run_program: Run, url: str) -> None:
    done = run_program("platforms", HANDOFF_URL=url)
    assert done.returncode in {2, 4}
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_a_reader_that_goes_away_is_no_error_to_speak_of(run: Run, stub: StubService, environ: dict[str, str]) -> None:
    for number in range(3000):
        stub.state.put_session(f"s{number}", {"title": "x" * 60})
    done = _in_a_shell("sessions --limit 3000 | head -1", {**environ, **stub.environ})
    assert done.stderr == ""


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_error(environ: dict[str, str], stub: StubService, closed: str) -> None:
    done = _in_a_shell(f"platforms {closed}", {**environ, **stub.environ})
    assert (done.returncode, done.stderr) == (0, "")


def test_no_command_at_all_shows_which_there_are(run: Run) -> None:
    done = run()
    assert (done.returncode, done.stdout, "sessions" in done.stderr) == (2, "", True)


def test_a_command_that_does_not_exist_is_usage(run: Run) -> None:
    assert run("fly").returncode == 2
    assert run().returncode == 2
    assert run("send", "telegram", "--timeout", "soon", "--transcript", "x").returncode == 2
    assert "what should be handed over" in run("send", "telegram").stderr.lower()
