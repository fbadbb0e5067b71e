"""Titles, arguments and replies with any text in them: cut to length, escaped, and without mentions."""

import re
import uuid
from typing import Any

import pytest

from local.chats import CHATS
from tests.support.api_user import ApiUser
from tests.support.chat_thread import shared_thread
from tests.support.platform_cases import CASES, PLATFORMS, SHARED_CHATS, THREADED
from tests.support.waiting import eventually

OWNERS = " ".join(f"<@{chat.people['owner']}>" for chat in CHATS if "@" not in chat.people["owner"])
MENTIONS = f"@everyone @here @channel <!here> <!channel> {OWNERS} <@&8001000000000000001> @olivia"
TITLES = {
    "mentions": MENTIONS,
    "markup": "# *bold* _it_ `code` ~~s~~ <b>x</b> &lt; | [l](http://evil.example) > q ||spoiler||",
    "lines": "one\ntwo\r\nthree\u2028four\x00\x1b[31mfive",
    "200 letters": "w" * 200,
    "200 emoji": "\U0001f469\u200d\U0001f4bb" * 66,
    "right to left": "\u202eevil\u2066 \u05e9\u05dc\u05d5\u05dd",
    "invisible": "\u200b\u2060",
}
ARGUMENTS = [
    *("x" * 3000, "../../etc", "%00", "*", "[a](http://x.example)", "`", "```"),
    *("“”", "SESSION#x", "\u202e", "zz-nothing", "@olivia"),
]


def texts_since(user: ApiUser, platform: str, last: object) -> list[str]:
    """Every text that the bot sent to the platform after the call `last`, without the mentions that it means."""
    calls = user.service.simulator.calls
    newer = calls[next((number + 1 for number, call in enumerate(calls) if call is last), 0) :]
    texts = [text for call in newer if call.platform == platform for text in _texts(dict(call.arguments))]
    for mention in CASES[platform].own_mentions:
        texts = [text.replace(mention, "") for text in texts]
    return texts


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in inner for text in _texts(item)]


def mentions_in(platform: str, texts: list[str]) -> list[str]:
    return [text for text in texts if CASES[platform].mention.search(text)]


@pytest.mark.parametrize("platform", THREADED)
@pytest.mark.parametrize("title", TITLES)
def test_a_thread_title_mentions_no_one(user: ApiUser, platform: str, title: str) -> None:
    mark, calls = uuid.uuid4().hex[:6], user.service.simulator.calls
    session_id = user.create_session(title=f"{mark} {TITLES[title]}"[:200])

    done = user.hand_off(session_id, platform, target=SHARED_CHATS[platform])

    assert done["state"] == "completed", done
    (thread,) = user.threads(mark, platform)
    assert not re.search("[\x00-\x1f\u2028\u202a-\u202e\u2066-\u2069]", thread["title"]), repr(thread["title"])
    sent = texts_since(user, platform, calls[-1] if calls else None)
    assert any(mark in text for text in sent)
    assert mentions_in(platform, sent) == []


@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_agents_reply_mentions_no_one(user: ApiUser, platform: str) -> None:
    session_id = user.create_session(count=0, title=(title := f"mentions {uuid.uuid4().hex[:6]}"))
    said = f"{MENTIONS} **{MENTIONS}** [{MENTIONS}](http://x.example) | {MENTIONS} |"
    body = {"epoch": 0, "after": 0, "messages": [{"role": "user", "content": said}]}
    user.http.post(f"/sessions/{session_id}/messages", json=body).raise_for_status()

    done = user.hand_off(session_id, platform, target=SHARED_CHATS.get(platform))

    assert done["state"] == "completed", done
    (thread,) = user.threads(title, platform)
    (confirmed,) = [message["text"] for message in thread["messages"] if "Confirmed" in message["text"]]
    assert "everyone" in confirmed
    assert mentions_in(platform, [confirmed]) == []


@pytest.mark.parametrize("platform", PLATFORMS)
def test_commands_accept_any_argument(user: ApiUser, platform: str) -> None:
    thread = shared_thread(user, platform)
    for argument in ARGUMENTS:
        thread.say(f"/resume {argument}")
    for command in ("/status", "/help", "/handoff"):
        thread.say(f"{command} {ARGUMENTS[0]} @olivia")
    for almost in ("/", "//new", "/ new", "/newer", "/NEW_", "new", "/resumé x", "\u2215new"):
        thread.say(almost)
    thread.say("and on we go")

    eventually(lambda: "and on we go" in thread.contents(), within=30)
    assert thread.session()["owner"] == thread.route
    assert not any(text.startswith("/resume ") for text in thread.contents())
    assert mentions_in(platform, thread.bot_texts()) == []
