"""Titles, arguments and replies with anything in them: cut, escaped, and calling nobody."""

import re
import uuid
from typing import Any

import pytest

from tests.journeys.hostile import SHARED_CHATS, Thread
from tests.support.desk import Desk, until

LONGEST = {"telegram": 128, "slack": 150, "discord": 100}
# What each platform would take for a call, wherever in a text it stands.
LIVE = {
    "telegram": re.compile(r"(?<![\w\u2060])@[A-Za-z]\w{3,}"),
    "slack": re.compile(r"<(?:@[UW]|!(?:here|channel|everyone|subteam))|(?<!\w)@(?:everyone|here|channel)\b"),
    "discord": re.compile(r"<@[!&]?\d|(?<!\w)@(?:everyone|here)\b"),
}
CALLS = "@everyone @here @channel <!here> <!channel> <@U7001> <@7001000000000000001> <@&8001000000000000001> @olivia"
TITLES = {
    "calls": CALLS,
    "markup": "# *bold* _it_ `code` ~~s~~ <b>x</b> &lt; | [l](http://evil.example) > q ||spoiler||",
    "lines": "one\ntwo\r\nthree\u2028four\x00\x1b[31mfive",
    "200 letters": "w" * 200,
    "200 emoji": "\U0001f469\u200d\U0001f4bb" * 66,
    "turned around": "\u202eevil\u2066 \u05e9\u05dc\u05d5\u05dd",
    "nothing to see": "\u200b\u2060",
}


def posted(desk: Desk, platform: str, since: int) -> list[str]:
    """Every text that the bot sent to the platform, but for whom it calls on purpose: its own person."""
    calls = [call for call in desk.service.simulator.calls[since:] if call.platform == platform]
    return [text for call in calls for text in _texts(dict(call.arguments))]


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value.replace("<@U7001>", "").replace("-# <@7001000000000000001>", "")]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in inner for text in _texts(item)]


@pytest.mark.parametrize("platform", SHARED_CHATS)
@pytest.mark.parametrize("title", TITLES)
def test_any_title_makes_a_thread_with_a_name_that_fits_and_calls_nobody(desk: Desk, platform: str, title: str) -> None:
    mark, since = uuid.uuid4().hex[:6], len(desk.service.simulator.calls)
    session_id = desk.session(title=f"{mark} {TITLES[title]}"[:200])

    done = desk.hand_over(session_id, platform, target=SHARED_CHATS[platform])

    assert done["state"] == "completed", done
    (thread,) = desk.threads(mark, platform)
    name = thread["title"]
    assert len(name.encode("utf-16-le")) // 2 <= LONGEST[platform] or len(name) <= LONGEST[platform]
    assert not re.search("[\x00-\x1f\u2028\u202a-\u202e\u2066-\u2069]", name), repr(name)
    if since < len(desk.service.simulator.calls):  # the newest are kept
        assert [text for text in posted(desk, platform, since) if _is_live(platform, text)] == []


@pytest.mark.parametrize("platform", SHARED_CHATS)
def test_what_the_agent_says_calls_nobody(desk: Desk, platform: str) -> None:
    session_id = desk.session(count=0, title=f"calls {uuid.uuid4().hex[:6]}")
    said = f"{CALLS} **{CALLS}** [{CALLS}](http://x.example) | {CALLS} |"
    body = {"epoch": 0, "after": 0, "messages": [{"role": "user", "content": said}]}
    desk.http.post(f"/sessions/{session_id}/messages", json=body).raise_for_status()

    done = desk.hand_over(session_id, platform, target=SHARED_CHATS[platform])

    assert done["state"] == "completed", done
    (thread,) = desk.threads(desk.see(session_id)["title"], platform)
    (confirmed,) = [message["text"] for message in thread["messages"] if "Confirmed" in message["text"]]
    assert "everyone" in confirmed
    assert not _is_live(platform, confirmed), confirmed


def _is_live(platform: str, text: str) -> bool:
    """Discord is told with each message that it may call nobody; it is spared the words all the same."""
    return bool(LIVE[platform].search(text))


ARGUMENTS = [
    "x" * 3000,
    "../../etc",
    "%00",
    "*",
    "[a](http://x.example)",
    "`",
    "```",
    "“”",
    "SESSION#x",
    "\u202e",
    "zz-nothing",
    "@olivia",
]


@pytest.mark.parametrize("platform", SHARED_CHATS)
def test_commands_take_any_argument(desk: Desk, platform: str) -> None:
    thread = Thread(desk, platform)
    for argument in ARGUMENTS:
        thread.say(f"/resume {argument}")
    for command in ("/status", "/help", "/handoff"):
        thread.say(f"{command} {ARGUMENTS[0]} @olivia")
    for almost in ("/", "//new", "/ new", "/newer", "/NEW_", "new", "/resumé x", "\u2215new"):
        thread.say(almost)
    thread.say("and on we go")

    until(lambda: "and on we go" in thread.words(), patience=30)
    session = desk.see(thread.session_id)
    assert session["owner"] == thread.owner
    assert not any(words.startswith("/resume ") for words in thread.words())
    assert not [text for text in thread.heard() if _is_live(platform, text)]
