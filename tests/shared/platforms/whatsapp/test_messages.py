"""Bodies of messages: text, reply buttons, lists."""

import pytest

from shared.platforms.whatsapp.messages import message, quoting
from shared.ports.platforms import Button, Part


def buttons(count: int, label: str = "Answer {}") -> tuple[Button, ...]:
    return tuple(Button(f"b{number}", label.format(number)) for number in range(count))


def test_a_text_goes_to_the_person_with_its_key_and_no_preview() -> None:
    assert message("15550007001", Part("hello"), "s/t/0") == {
        "messaging_product": "whatsapp",
        "recipient_type": "individual",
        "to": "15550007001",
        "type": "text",
        "text": {"body": "hello", "preview_url": False},
        "biz_opaque_callback_data": "s/t/0",
    }


def test_a_key_over_the_limit_is_left_out() -> None:
    assert "biz_opaque_callback_data" in message("1", Part("x"), "k" * 512)
    assert "biz_opaque_callback_data" not in message("1", Part("x"), "k" * 513)


@pytest.mark.parametrize(("count", "text", "kind"), [(1, "May I?", "button"), (3, "May I?", "button")])
def test_up_to_three_choices_are_buttons(count: int, text: str, kind: str) -> None:
    body = message("1", Part(text, buttons=buttons(count)), "k")["interactive"]

    assert (body["type"], body["body"]) == (kind, {"text": text})
    assert [b["reply"]["id"] for b in body["action"]["buttons"]] == [f"b{number}" for number in range(count)]


@pytest.mark.parametrize(("count", "text"), [(4, "May I?"), (2, "x" * 1025), (10, "May I?")])
def test_more_choices_or_a_long_text_make_a_list(count: int, text: str) -> None:
    body = message("1", Part(text, buttons=buttons(count)), "k")["interactive"]

    assert body["type"] == "list"
    (section,) = body["action"]["sections"]
    assert [row["title"] for row in section["rows"]] == [f"Answer {number}" for number in range(count)]


def test_titles_are_cut_and_stay_different() -> None:
    body = message("1", Part("Which?", buttons=buttons(3, "Yes, and do not ask again {}")), "k")["interactive"]
    titles = [b["reply"]["title"] for b in body["action"]["buttons"]]

    assert len(set(titles)) == 3
    assert all(len(title) <= 20 for title in titles)
    assert titles[0].startswith("1 Yes, and do not")


def test_an_answer_to_a_press_quotes_it() -> None:
    body = quoting("1", "wamid.X", "Allowed.")

    assert (body["context"], body["text"]["body"]) == ({"message_id": "wamid.X"}, "Allowed.")
