"""Downloads: who is asked, who gets the token, and where a stream ends."""

from collections.abc import Iterator

import httpx
import pytest

from shared.domain.files import ChatFile
from shared.errors import NotSent, RateLimited, Rejected
from shared.platforms.downloads import Source, checked, download, origin_of, origins, reference_of
from tests.support.servers import HttpServer, Request, Response

BEARER = {"Authorization": "Bearer secret"}
FILE = ChatFile("file", "1", "a.txt", "text/plain", 5)


class Site(HttpServer):
    """Answers each request with the next response, and remembers the headers."""

    def __init__(self, *answers: Response) -> None:
        self.answers, self.asked = list(answers), list[Request]()
        super().__init__(self._answer)

    def _answer(self, request: Request) -> Response:
        self.asked.append(request)
        return self.answers.pop(0)


@pytest.fixture
def http() -> Iterator[httpx.Client]:
    with httpx.Client(trust_env=False) as client:
        yield client


def led_to(url: str) -> Response:
    return Response(307, b"", {"location": url})


def test_a_listed_host_is_followed_without_the_token(http: httpx.Client) -> None:
    with Site(Response(200, b"words")) as cdn, Site(led_to(f"{cdn.url}/cdn")) as site:
        source = Source("Yarn", origins(site.url), lambda: BEARER, redirects=origins(cdn.url))
        assert b"".join(download(http, source, f"{site.url}/file", FILE, limit=9)) == b"words"

    assert site.asked[0].headers["authorization"] == "Bearer secret"
    assert "authorization" not in cdn.asked[0].headers
    assert site.asked[0].headers["accept-encoding"] == "identity"


def test_another_port_of_the_same_host_is_not_asked(http: httpx.Client) -> None:
    with Site() as other, Site(led_to(f"{other.url}/file")) as site:
        source = Source("Yarn", origins(site.url), lambda: BEARER)
        for url in (
            f"{site.url}/file",
            f"{other.url}/file",
            f"{site.url}@{other.url.partition('//')[2]}/file",
            "file:///x",
        ):
            with pytest.raises(Rejected, match="not its own") as refused:
                list(download(http, source, url, FILE, limit=9))
            assert other.url not in str(refused.value)

    assert other.asked == []


def test_redirects_end(http: httpx.Client) -> None:
    with Site(*[led_to("/again")] * 9) as site, pytest.raises(NotSent):
        list(download(http, Source("Yarn", origins(site.url)), f"{site.url}/file", FILE, limit=9))

    assert len(site.asked) == 3


@pytest.mark.parametrize(
    ("answer", "error", "why"),
    [
        (Response(200, b"word"), Rejected, "size"),
        (Response(200, b"too long"), Rejected, "size"),
        (Response(200, b"words", {"content-encoding": "gzip"}), Rejected, "compressed"),
        (Response(200, b"<htm>", {"content-type": "Text/HTML; charset=x"}), Rejected, "web page"),
        (Response(200, b"wo", declared=5), NotSent, "broke"),
        (Response(206, b"words"), NotSent, "206"),
        (Response(403), Rejected, "does not let"),
        (Response(410), Rejected, "no longer"),
        (Response(429, b"", {"retry-after": "7"}), RateLimited, "7 s"),
        (Response(503), NotSent, "503"),
    ],
)
def test_what_is_not_the_file_is_an_error(
    http: httpx.Client, answer: Response, error: type[Exception], why: str
) -> None:
    with Site(answer) as site, pytest.raises(error, match=why):
        list(download(http, Source("Yarn", origins(site.url)), f"{site.url}/file", FILE, limit=9))


def test_a_page_that_was_announced_is_a_file(http: httpx.Client) -> None:
    page = ChatFile("file", "1", "a.html", "text/html; charset=utf-8")
    with Site(Response(200, b"<html>", {"content-type": "text/html"})) as site:
        assert list(download(http, Source("Yarn", origins(site.url)), site.url, page, limit=9)) == [b"<html>"]


def test_no_byte_beyond_the_announced_size_is_handed_on() -> None:
    read: list[bytes] = []
    with pytest.raises(Rejected, match="longer than was announced"):
        read.extend(checked(iter([b"wor", b"ds!", b"more"]), "Yarn", FILE, 9))

    assert read == [b"wor"]
    with pytest.raises(NotSent, match="not send all"):
        list(checked(iter([b"wor"]), "Yarn", FILE, 9))
    with pytest.raises(NotSent, match="too slowly"):
        list(checked(iter([b"words"]), "Yarn", FILE, 9, deadline=0.0))


@pytest.mark.parametrize("url", ["ftp://a/b", "//a/b", "http://", "http://a:x/", "http://u@a/", "http://u:p@a/", ""])
def test_what_is_no_address_of_a_server_has_no_origin(url: str) -> None:
    assert origin_of(url) is None


def test_default_ports_and_capitals_make_no_other_origin() -> None:
    assert (
        origin_of("HTTPS://Files.Example/a") == origin_of("https://files.example:443/b") == "https://files.example:443"
    )
    assert origin_of("http://files.example/") != origin_of("https://files.example/")


def test_a_reference_of_another_form_becomes_no_part_of_an_address() -> None:
    assert reference_of(FILE, "[0-9]+") == "1"
    for odd in ("1/../2", "1\n", "٣"):
        with pytest.raises(Rejected):
            reference_of(ChatFile("file", odd), "[0-9]+")
