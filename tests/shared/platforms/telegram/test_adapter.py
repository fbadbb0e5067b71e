"""Telegram's links, topics and logs, against the simulator."""

import base64
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import httpx
import pytest

from local.chats.simulator import Simulator
from local.chats.telegram import CHAT, TelegramOptions
from shared.domain.files import ChatFile, OutFile
from shared.domain.routes import Place
from shared.errors import Ambiguous, PlatformError, Rejected, ThreadRefused
from shared.platforms.telegram.adapter import Telegram
from shared.platforms.telegram.api import Api
from shared.ports.inbound import Pressed
from shared.ports.platforms import Button, Part
from shared.settings import Settings
from tests.shared.platforms.scripted_answers import scripted
from tests.support.secrets import FakeSecrets

FORUM = "-1001000000001"


def adapter_for(simulator: Simulator) -> Telegram:
    return adapter_at(simulator.api_url("telegram"), simulator.secrets)


def adapter_at(url: str, secrets: Mapping[str, str] | None = None) -> Telegram:
    settings = Settings("handoffs", "sessions", "queue", platform_urls={"telegram": {"api": url}})
    return Telegram(settings, FakeSecrets(secrets or {"telegram/bot_token": "9001:token"}))


@pytest.mark.parametrize(
    ("place", "link"),
    [
        (Place("telegram", "-1001234567890", "42"), "https://t.me/c/1234567890/42"),
        (Place("telegram", "-1001234567890"), "https://t.me/c/1234567890/1"),
        (Place("telegram", "-1002"), "tg://openmessage?chat_id=1002"),
        (Place("telegram", "@our_group"), "https://t.me/our_group"),
        (Place("telegram", "7001", "42"), "https://t.me/handoff_bot"),
    ],
)
def test_a_link_opens_the_place_in_telegram(simulator: Simulator, place: Place, link: str) -> None:
    assert adapter_for(simulator).link(place) == link


def test_a_private_chat_has_a_link_while_telegram_is_down(simulator: Simulator) -> None:
    adapter = adapter_for(simulator)
    simulator.stop()

    assert adapter.link(Place("telegram", "7001")) == "tg://user?id=9001"


def test_the_general_topic_is_never_named(simulator: Simulator) -> None:
    """Telegram refuses the id of this topic, so the message is sent without one."""
    adapter_for(simulator).send(Place("telegram", FORUM, "1"), Part("hello"), key="a")


@pytest.mark.parametrize(
    ("options", "home", "why"),
    [
        (TelegramOptions(topics=False), "7001", "Threaded Mode"),
        (TelegramOptions(admin=False), FORUM, "administrator"),
        (TelegramOptions(), "-1002", "no topics"),
    ],
)
def test_a_refused_topic_names_what_to_do(options: TelegramOptions, home: str, why: str) -> None:
    chats = [replace(CHAT, options=options)]
    with Simulator(chats) as simulator, pytest.raises(ThreadRefused, match=why):
        adapter_for(simulator).open_thread(Place("telegram", home), "Title", key="h", people=[])


def test_the_token_and_messages_stay_out_of_the_log(simulator: Simulator, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    adapter = adapter_for(simulator)
    for kind in ("rate_limit", "reset", "forbidden", "server_error"):
        simulator.arm("telegram", kind)
        with pytest.raises(PlatformError):
            adapter.send(Place("telegram", "7001"), Part("a word"), key="a")
    adapter.send(Place("telegram", "7001"), Part("a word"), key="a")

    assert simulator.secrets["telegram/bot_token"] not in caplog.text
    assert "a word" not in "".join(r.getMessage() for r in caplog.records if not r.name.startswith("asyncio"))


def test_a_call_that_takes_too_long_is_ambiguous(simulator: Simulator) -> None:
    api = Api(simulator.api_url("telegram"), simulator.secrets["telegram/bot_token"], limit=0.3)
    simulator.arm("telegram", "slow", seconds=5)

    with pytest.raises(Ambiguous):
        api.send("7001", None, "hello", (), ())


def test_formatted_text_keeps_its_format_beside_buttons(simulator: Simulator) -> None:
    adapter = adapter_for(simulator)
    (part,) = adapter.render("May I run **this**?")
    asked = replace(part, buttons=(Button("allow", "Allow"),))

    message = adapter.send(Place("telegram", "7001"), asked, key="a")
    adapter.edit(Place("telegram", "7001"), message, replace(asked, buttons=(Button("deny", "Deny"),)))

    for call in [call for call in simulator.calls if call.name in ("sendMessage", "editMessageText")]:
        assert [entity["type"] for entity in call.arguments["entities"]] == ["bold"]
        assert len(call.arguments["reply_markup"]["inline_keyboard"]) == 1


def test_an_answer_to_a_press_has_one_line(simulator: Simulator) -> None:
    adapter = adapter_for(simulator)
    place = Place("telegram", "7001")
    adapter.acknowledge(Pressed("1", place, "7001", "go", "2", "17"), "Two\nlines " + "🚀" * 200)
    adapter.acknowledge(Pressed("1", place, "7001", "go", "2", "17"), " ")

    first, second = [call.arguments for call in simulator.calls if call.name == "answerCallbackQuery"]
    assert first["text"].startswith("Two lines 🚀")
    assert len(first["text"].encode("utf-16-le")) // 2 <= 200
    assert "text" not in second


def test_a_topic_is_closed_and_no_other_chat(simulator: Simulator) -> None:
    adapter = adapter_for(simulator)
    topic = adapter.open_thread(Place("telegram", FORUM), "Fix", key="a", people=[])
    for place in (topic, topic, topic.home):
        adapter.close_thread(place)
    assert [call.name for call in simulator.calls].count("closeForumTopic") == 2


@pytest.mark.parametrize(
    "path", ["../bot9001:other/getMe", "/etc/hostname", "//evil.example/x", "a/../../b", "a?b", "a%2e", "", "C:x"]
)
def test_a_path_of_a_file_that_telegram_would_not_name_is_not_asked(path: str) -> None:
    answer = {"ok": True, "result": {"file_id": "A1", "file_unique_id": "A", "file_path": path}}
    with scripted({"getFile": answer}) as url:
        adapter = adapter_at(f"{url}/bot")
        with pytest.raises(Rejected, match="does not say where"):
            b"".join(adapter.fetch_file(Place("telegram", "7001"), ChatFile("file", "A1"), limit=9))


def test_a_picture_that_telegram_refuses_is_posted_as_a_document(simulator: Simulator) -> None:
    place, file = Place("telegram", "7001"), OutFile("plot.png", "image/png", 4, lambda: iter([b"none"]))
    message = adapter_for(simulator).send_file(place, file, Part("A plot"), key="a")

    methods = [call.name for call in simulator.calls if call.name.startswith("send")]
    assert methods == ["sendPhoto", "sendDocument"]
    (chat,) = [chat for chat in simulator.state()["platforms"]["telegram"]["chats"] if chat["id"] == "7001"]
    assert [(one["id"], one["text"], one["files"][0]["size"]) for one in chat["messages"]] == [(message, "A plot", 4)]


def test_a_file_over_telegrams_limit_for_bots_says_so(simulator: Simulator) -> None:
    data = base64.b64encode(bytes(20 * 2**20 + 1)).decode()
    simulator.say("telegram", "7001", "", files=[{"name": "a", "type": "text/plain", "data": data}])
    (call,) = [update for update in simulator_updates(simulator) if "document" in update["message"]]
    file = ChatFile("file", call["message"]["document"]["file_id"])

    with pytest.raises(Rejected, match="too big"):
        adapter_for(simulator).fetch_file(Place("telegram", "7001"), file, limit=10**9)


def simulator_updates(simulator: Simulator) -> list[dict[str, Any]]:
    """What a bot that polls gets."""
    url = f"{simulator.api_url('telegram')}{simulator.secrets['telegram/bot_token']}/getUpdates"
    found: list[dict[str, Any]] = httpx.get(url, trust_env=False).json()["result"]
    return found
