"""Routes: one string per place, which can be parsed again and names no user."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.domain.routes import Place, cli_place, place_of, route

PART = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


@given(PART, PART, st.none() | PART)
@example("telegram", "-1001", "17")
@example("slack", "C:1", "1718.0001")
@example("matrix", "!room:example.org", "$event/1%3A")
@example("x", "%3A", ":")
@example("signal", "Zoë 🚀", "\n\x00#@")
def test_a_route_reads_back_as_the_place_it_was_built_from(platform: str, chat: str, thread: str | None) -> None:
    place = Place(platform, chat, thread)
    assert place_of(place.route) == place


@given(PART, PART, PART)
def test_a_thread_never_shares_a_route_with_a_chat(platform: str, chat: str, thread: str) -> None:
    assert route(platform, chat, thread).count(":") == 2
    assert route(platform, chat).count(":") == 1


@given(st.lists(st.tuples(PART, PART, st.none() | PART), min_size=2, max_size=2, unique=True))
def test_different_places_have_different_routes(parts: list[tuple[str, str, str | None]]) -> None:
    one, other = (route(*part) for part in parts)
    assert one != other


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (Place("telegram", "-1001", "17"), "telegram:-1001:17"),
        (Place("telegram", "42"), "telegram:42"),
        (Place("slack", "C042", "1718000000.000100"), "slack:C042:1718000000.000100"),
        (Place("discord", "9001", "9002"), "discord:9001:9002"),
        (cli_place("5f1c"), "cli:5f1c"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_routes_of_our_platforms_stay_readable(place: Place, text: str) -> None:
    assert place.route == text


def test_a_place_names_no_user() -> None:
    assert set(Place.__dataclass_fields__) == {"platform", "chat", "thread"}


@pytest.mark.parametrize("parts", [("", "1"), ("telegram", ""), ("telegram", "1", "")])
def test_an_empty_part_is_refused_rather_than_built_into_a_route(parts: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        route(*parts)


def test_the_home_of_a_thread_is_its_chat() -> None:
    assert Place("slack", "C1", "1.2").home == Place("slack", "C1")
    assert Place("slack", "C1").home == Place("slack", "C1")


def test_only_a_terminal_is_a_cli_place() -> None:
    assert cli_place("s1").is_cli
    assert not Place("telegram", "1").is_cli
