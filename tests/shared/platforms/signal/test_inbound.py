"""Events in the form that signal-cli sends."""

import json
from typing import Any

import pytest

from local.chats.signal import ACCOUNT, GROUP, OWNER
from shared.domain.routes import Place
from shared.platforms.signal.inbound import SIGNATURE, TIME, chat_of_group, group_of_chat, is_from_relay, parse, sign
from shared.ports.inbound import Inbound
from tests.shared.platforms.signal.samples import GROUP_INFO, event, said
from tests.support.webhooks import message_in

NOW = 1_790_000_000_000
SECRET = "a secret of relay and service"


def read(content: dict[str, Any], **more: Any) -> Inbound:
    return message_in(parse(json.dumps(event(NOW, content, **more)).encode(), ACCOUNT))


def test_only_what_the_relay_signed_just_now_is_accepted() -> None:
    headers = sign(SECRET, b"{}", now=NOW)
    assert is_from_relay(headers, b"{}", SECRET, now=NOW)
    assert is_from_relay(headers, b"{}", SECRET, now=NOW + 299_000)
    assert not is_from_relay(headers, b"{}", SECRET, now=NOW + 400_000)
    assert not is_from_relay(headers, b"{} ", SECRET, now=NOW)
    assert not is_from_relay(headers, b"{}", "another", now=NOW)
    assert not is_from_relay(sign("", b"{}", now=NOW), b"{}", "", now=NOW)
    assert not is_from_relay(headers, b"{}", None, now=NOW)
    for odd in ("", "soon", "-1", "1e9", "9" * 40, "٣" * 8):
        assert not is_from_relay({**headers, TIME: odd}, b"{}", SECRET, now=NOW)
    assert not is_from_relay({TIME: headers[TIME], SIGNATURE: "ü"}, b"{}", SECRET, now=NOW)


def test_a_message_is_said_in_the_chat_with_its_person() -> None:
    found = read(said(NOW, "go on"))
    assert (found.place, found.sender, found.text, found.private) == (Place("signal", OWNER), OWNER, "go on", True)


def test_a_message_in_a_group_is_said_there() -> None:
    found = read(said(NOW, "go on", groupInfo=GROUP_INFO))
    assert (found.place, found.sender, found.private) == (Place("signal", GROUP), OWNER, False)


def test_ids_sort_by_time_and_differ_by_person() -> None:
    other = "70030000-eeee-4eee-8eee-000000000003"
    ids = [read(said(NOW + number)).event_id for number in (0, 1, 10)]
    assert ids == sorted(ids)
    assert read(said(NOW), person=other).event_id != ids[0]


def test_the_id_of_a_group_has_one_form() -> None:
    assert group_of_chat(OWNER) is None
    assert chat_of_group(str(group_of_chat(GROUP))) == GROUP
    for odd in ("", "?", "QUJD", "x" * 44):
        with pytest.raises(ValueError):  # noqa: PT011  # of base64, or of the length
            chat_of_group(odd)
