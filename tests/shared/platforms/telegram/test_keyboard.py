"""The layout of buttons below a message on Telegram."""

from shared.platforms.telegram.adapter import rows
from shared.ports.platforms import Button


def labels(*texts: str) -> list[list[str]]:
    buttons = [Button(f"b{number}", text) for number, text in enumerate(texts)]
    return [[button["text"] for button in row] for row in rows(buttons)]


def test_short_labels_share_a_row() -> None:
    assert labels("Allow", "Always", "Deny") == [["Allow", "Always", "Deny"]]


def test_a_label_that_would_be_cut_has_its_own_row() -> None:
    assert labels("Allow", "Allow for this session", "Deny") == [["Allow", "Allow for this session"], ["Deny"]]
    assert labels("Yes, and do not ask again", "No, tell me more") == [
        ["Yes, and do not ask again"],
        ["No, tell me more"],
    ]


def test_many_buttons_fill_several_rows_in_order() -> None:
    assert labels(*"123456789") == [["1", "2", "3", "4"], ["5", "6", "7", "8"], ["9"]]


def test_a_button_has_telegrams_fields() -> None:
    given = [Button("a", "Allow", "primary"), Button("d", "Deny", "danger"), Button("l", "Later")]

    assert rows(given) == [
        [
            {"text": "Allow", "callback_data": "a", "style": "primary"},
            {"text": "Deny", "callback_data": "d", "style": "danger"},
            {"text": "Later", "callback_data": "l"},
        ]
    ]
    assert rows([]) == []
