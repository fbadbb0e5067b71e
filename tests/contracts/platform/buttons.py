"""Buttons below messages, presses of them, and the answers to presses."""

from dataclasses import replace

import pytest

from shared.domain.routes import Place
from shared.ports.inbound import Parsed
from shared.ports.platforms import Button, Part
from tests.contracts.platform.case import PlatformTests
from tests.contracts.platform.harness import PlatformHarness
from tests.support.waiting import eventually

ASKED = Part(
    "May I run *the tests*?", buttons=(Button("allow-1", "Allow", "primary"), Button("deny-1", "Deny", "danger"))
)
SHOWN = [{"id": "allow-1", "label": "Allow"}, {"id": "deny-1", "label": "Deny"}]


class EditedButtons(PlatformTests):
    """For platforms with buttons and edits."""

    def test_buttons_are_sent_changed_and_edited_away(self, at: PlatformHarness, home: Place) -> None:
        place = self.open(at, home)
        message = at.platform.send(place, ASKED, key="a")
        assert at.posted(home, place)[-1]["buttons"] == SHOWN

        other = replace(ASKED, buttons=(Button("later", "Später 🕐"),))
        for part in (other, other):  # an equal edit succeeds
            at.platform.edit(place, message, part)
            assert at.posted(home, place)[-1]["buttons"] == [{"id": "later", "label": "Später 🕐"}]

        for part in (Part(ASKED.text), Part(ASKED.text), Part("Done")):
            at.platform.edit(place, message, part)
            last = at.posted(home, place)[-1]
            assert (last["id"], last["text"], last.get("buttons", [])) == (message, part.text, [])

        at.platform.edit(place, message, ASKED)
        assert at.posted(home, place)[-1]["buttons"] == SHOWN


class SomeButtons(PlatformTests):
    """For platforms with buttons."""

    def test_buttons_are_shown_with_their_labels(self, at: PlatformHarness, home: Place) -> None:
        place = self.open(at, home)
        at.platform.send(place, ASKED, key="a")

        assert at.posted(home, place)[-1]["buttons"] == SHOWN

    def test_a_message_shows_as_many_buttons_as_are_allowed(self, at: PlatformHarness, home: Place) -> None:
        place = self.open(at, home)
        many = tuple(
            Button(f"{number:064}", f"Answer {number}") for number in range(at.platform.capabilities.most_buttons)
        )

        at.platform.send(place, Part("Which?", buttons=many), key="a")

        assert [button["id"] for button in at.posted(home, place)[-1]["buttons"]] == [button.id for button in many]

    def test_a_long_label_is_cut(self, at: PlatformHarness) -> None:
        place = self.open(at, self.first_home)

        at.platform.send(place, Part("Which?", buttons=(Button("a", "A long answer 👩‍👩‍👧 " * 20),)), key="a")

        [button] = at.posted(self.first_home, place)[-1]["buttons"]
        assert button["label"].startswith("A long answer")
        assert button["label"].endswith("…")

    def test_every_part_of_a_long_reply_can_have_buttons(self, at: PlatformHarness, home: Place) -> None:
        place = self.open(at, home)
        before = len(at.posted(home, place))
        buttons = tuple(Button(f"{number:064}", f"{number} {'word ' * 15}") for number in range(5))
        words = "\n".join(f"- item {number}: **bold**, `code` & <tags>" for number in range(800))

        parts = [replace(part, buttons=buttons) for part in at.platform.render(words)]
        for number, part in enumerate(parts):
            at.platform.send(place, part, key=f"turn#{number}")

        arrived = at.posted(home, place)[before:]
        assert [message["text"] for message in arrived] == [part.text for part in parts]
        assert [len(message["buttons"]) for message in arrived] == [5] * len(parts)

    def test_a_press_names_button_message_place_and_person(self, at: PlatformHarness, home: Place) -> None:
        place = self.open(at, home)
        message = at.platform.send(place, ASKED, key="a")

        for user in at.people_at(home):
            at.press(home, place, message, "deny-1", user=user)
            pressed = at.next_press()

            assert (pressed.button, pressed.message) == ("deny-1", message)
            assert pressed.place.route == place.route
            assert pressed.sender == self.chat.people[user]
            assert pressed.private is (len(at.people_at(home)) == 1)

    def test_presses_sort_in_their_order(self, at: PlatformHarness) -> None:
        place = self.open(at, self.first_home)
        message = at.platform.send(place, ASKED, key="a")
        ids = []
        for _ in range(6):
            at.press(self.first_home, place, message, "allow-1")
            ids.append(at.next_press().event_id)

        assert len(set(ids)) == 6
        assert ids == sorted(ids)

    def test_the_person_who_pressed_is_answered(self, at: PlatformHarness, home: Place) -> None:
        place = self.open(at, home)
        message = at.platform.send(place, ASKED, key="a")

        at.answer_press(home, place, message, "allow-1", "Allowed & done.")

        eventually(lambda: {"to": "owner", "text": "Allowed & done."} in at.acknowledged(home, place, message))

    def test_a_long_answer_to_a_press_is_cut(self, at: PlatformHarness) -> None:
        place = self.open(at, self.first_home)
        message = at.platform.send(place, ASKED, key="a")

        at.answer_press(self.first_home, place, message, "allow-1", "Too long. 🚀 " * 500)

        answers = eventually(lambda: at.acknowledged(self.first_home, place, message))
        assert [answer for answer in answers if answer["text"].startswith("Too long. 🚀 Too long.")]

    def test_answering_a_press_never_raises(self, at: PlatformHarness) -> None:
        place = self.open(at, self.first_home)
        message = at.platform.send(place, ASKED, key="a")
        at.press(self.first_home, place, message, "allow-1")
        pressed = at.next_press()

        for text in ("", " ", "\x00", "\ud83d", "@everyone"):
            at.platform.acknowledge(pressed, text)
        for handle in ("x", "0", "9" * 30, "http://127.0.0.1:1/x", "a/b/c", "1/2/three", "../../x"):
            at.platform.acknowledge(replace(pressed, handle=handle), "Done")
        for kind in ("rate_limit", "reset", "forbidden", "server_error"):
            for on in ("send", "read"):
                at.arm(kind, on=on, seconds=77)
                at.platform.acknowledge(pressed, "Done")
        at.simulator.stop()
        at.platform.acknowledge(pressed, "Done")


class Presses(PlatformTests):
    """Webhooks of presses, as the simulator sends them."""

    def test_a_redelivered_press_is_the_same_press(self, at: PlatformHarness) -> None:
        place = self.open(at, self.first_home)
        message = at.platform.send(place, ASKED, key="a")
        at.press(self.first_home, place, message, "allow-1")
        first = at.next_press()
        at.arm("redeliver", count=2)
        at.press(self.first_home, place, message, "deny-1")

        later = [at.next_press() for _ in range(3)]  # two redeliveries of the first or the second, and the second
        second = max(later, key=lambda pressed: pressed.event_id)
        assert second.button == "deny-1"
        assert all(pressed in (first, second) for pressed in later)

    @pytest.mark.parametrize("odd", [b"x" * 65, b"", b"a b", "\u00e9".encode(), b"\\u0000", b"%00", b"\\ud83d"])
    def test_a_press_of_an_odd_button_is_ignored(self, at: PlatformHarness, odd: bytes) -> None:
        place = self.open(at, self.first_home)
        message = at.platform.send(place, ASKED, key="a")
        at.press(self.first_home, place, message, "allow-1")
        request = at.press_request()
        assert b"allow-1" in request.body

        parsed = at.platform.parse(replace(request, body=request.body.replace(b"allow-1", odd)))

        if odd != b"%00" or b"%22" in request.body:  # in JSON it is three visible characters
            assert parsed.events == ()

    def test_a_press_is_parsed_only_as_a_whole(self, at: PlatformHarness) -> None:
        place = self.open(at, self.first_home)
        message = at.platform.send(place, ASKED, key="a")
        at.press(self.first_home, place, message, "allow-1")
        request = at.press_request()

        for end in range(0, len(request.body), 7):
            parsed = at.platform.parse(replace(request, body=request.body[:end]))
            assert isinstance(parsed, Parsed)
            assert parsed.events == ()

    def test_a_forged_press_is_not_verified(self, at: PlatformHarness) -> None:
        place = self.open(at, self.first_home)
        message = at.platform.send(place, ASKED, key="a")
        at.press(self.first_home, place, message, "allow-1")
        request = at.press_request()

        for name in list(at.secrets.values):
            at.secrets.values[name] = "another secret"
        assert not at.platform.verify(request, now=0)
        assert not at.platform.verify(replace(request, headers={}), now=0)


class NoButtons(PlatformTests):
    """A platform without buttons shows the message without them."""

    def test_buttons_are_left_out(self, at: PlatformHarness, home: Place) -> None:
        place = self.open(at, home)
        message = at.platform.send(place, ASKED, key="a")
        at.platform.edit(place, message, replace(ASKED, text="May I?"))

        last = at.posted(home, place)[-1]
        assert (last["id"], last["text"]) == (message, "May I?")
        assert "buttons" not in last
