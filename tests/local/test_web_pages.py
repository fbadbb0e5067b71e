"""Which requests come from web pages of other origins."""

import pytest

from local.web_pages import is_link, is_other_page, names_this_machine

OWN = {"host": "localhost:8788"}
LINK = {**OWN, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "[::1]:80", "localhost:8787"])
def test_names_of_this_machine(host: str) -> None:
    assert names_this_machine(host)


@pytest.mark.parametrize("host", ["", ":80", "localhost:", "localhost:x", "localhost.example", "a@localhost"])
def test_names_of_other_machines(host: str) -> None:
    assert not names_this_machine(host)


@pytest.mark.parametrize(
    "headers",
    [
        OWN,
        {**OWN, "origin": "http://localhost:8788"},
        {**OWN, "sec-fetch-site": "none"},
        {**OWN, "sec-fetch-site": "same-origin"},
    ],
    ids=["program", "own page", "address bar", "own image"],
)
def test_programs_people_and_the_own_page_are_served(headers: dict[str, str]) -> None:
    assert not is_other_page({**OWN, **headers}.get)


@pytest.mark.parametrize("origin", ["null", "", "http://localhost", "http://127.0.0.1:8788", "http://[bad"])
def test_other_origins_are_other_pages(origin: str) -> None:
    assert is_other_page({**OWN, "origin": origin}.get)


def test_only_a_link_opens_a_page_from_elsewhere() -> None:
    assert is_link(LINK.get)
    for change in (
        {"sec-fetch-dest": "iframe"},
        {"sec-fetch-mode": "no-cors"},
        {"host": "evil.example"},
        {"origin": "null"},
    ):
        assert not is_link({**LINK, **change}.get)
