"""Buttons and presses: only what every platform can show and return."""

from typing import Any

import pytest

from shared.domain.routes import Place
from shared.ports.inbound import Pressed
from shared.ports.platforms import MOST_BUTTONS, Button, Part

PLACE = Place("chat", "home", "t1")


@pytest.mark.parametrize("button_id", ["", "x" * 65, "a b", "é", "a\n", "\x00", "\ud83d"])
def test_a_button_needs_an_id_that_every_platform_returns(button_id: str) -> None:
    with pytest.raises(ValueError, match="not a button"):
        Button(button_id, "Allow")


@pytest.mark.parametrize("odd", [{"label": " "}, {"style": "secondary"}])
def test_a_button_needs_a_label_and_a_known_style(odd: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not a button"):
        Button(**{"id": "a", "label": "Allow", **odd})


def test_a_part_has_no_two_buttons_with_one_id_and_not_too_many() -> None:
    many = tuple(Button(f"b{number}", "One") for number in range(MOST_BUTTONS + 1))
    assert len(Part("Which?", buttons=many[1:]).buttons) == MOST_BUTTONS
    for buttons in (many, (many[0], many[0])):
        with pytest.raises(ValueError, match="buttons"):
            Part("Which?", buttons=buttons)


@pytest.mark.parametrize("name", ["event_id", "sender", "button", "message", "handle"])
@pytest.mark.parametrize("odd", ["", " ", "a b", "é", "x" * 2001, "a\n", None, 7])
def test_a_press_holds_only_what_a_platform_would_send(name: str, odd: Any) -> None:
    usual: dict[str, Any] = {
        "event_id": "1",
        "place": PLACE,
        "sender": "ada",
        "button": "a",
        "message": "m1",
        "handle": "h",
    }
    assert Pressed(**usual)
    with pytest.raises((ValueError, TypeError)):
        Pressed(**{**usual, name: odd})


def test_a_press_does_not_show_its_handle() -> None:
    assert "token" not in repr(Pressed("1", PLACE, "ada", "a", "m1", "the-token"))
