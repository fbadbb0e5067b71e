"""The command line: where the data is, who can connect, and what is refused."""

from pathlib import Path

import pytest

from local.server.options import Invalid, parse

ENVIRONMENT = {"XDG_DATA_HOME": "/data", "HOME": "/home/ada"}


def test_the_data_is_where_programs_keep_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")

    assert parse([], ENVIRONMENT).directory.path == Path("/data/handoff")
    assert parse([], {}).directory.path == Path("/home/ada/.local/share/handoff")
    assert parse([], {"XDG_DATA_HOME": "relative"}).directory.path == Path("/home/ada/.local/share/handoff")
    assert parse(["--data", "/elsewhere"], ENVIRONMENT).directory.path == Path("/elsewhere")


def test_without_options_only_this_machine_can_connect() -> None:
    address = parse([], ENVIRONMENT).address

    assert (address.host, address.port, address.public_url) == ("127.0.0.1", None, "")


@pytest.mark.parametrize("listen", ["127.0.0.1:9000", "localhost:9000", "[::1]:9000"])
def test_another_port_of_this_machine_is_fine(listen: str) -> None:
    assert parse(["--listen", listen], ENVIRONMENT).address.port == 9000


@pytest.mark.parametrize("listen", ["0.0.0.0:8787", "[::]:8787", "192.168.1.5:80", "example.org:80"])
def test_plain_http_beyond_this_machine_is_refused(listen: str) -> None:
    with pytest.raises(Invalid, match="plain http"):
        parse(["--listen", listen], ENVIRONMENT)

    options = parse(["--listen", listen, "--public-url", "https://handoff.example.org/"], ENVIRONMENT)
    assert options.address.public_url == "https://handoff.example.org"


@pytest.mark.parametrize("listen", ["8787", "127.0.0.1", "127.0.0.1:", "127.0.0.1:no", "127.0.0.1:70000", ":80"])
def test_an_address_that_cannot_be_read_is_refused(listen: str) -> None:
    with pytest.raises(Invalid, match="HOST:PORT"):
        parse(["--listen", listen], ENVIRONMENT)


@pytest.mark.parametrize("url", ["http://example.org", "example.org", "https://", "https://a:b@example.org"])
def test_a_public_url_without_tls_is_refused(url: str) -> None:
    with pytest.raises(Invalid, match="https://host"):
        parse(["--public-url", url], ENVIRONMENT)
