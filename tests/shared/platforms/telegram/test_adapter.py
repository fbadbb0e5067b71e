"""Telegram's links, topics and logs, against the simulator."""

from dataclasses import replace

import pytest

from local.chats.simulator import Simulator
from local.chats.telegram import CHAT, TelegramOptions
from shared.domain.routes import Place
from shared.errors import Ambiguous, PlatformError, ThreadRefused
from shared.platforms.telegram.adapter import Telegram
from shared.platforms.telegram.api import Api
from shared.ports.inbound import Pressed
from shared.ports.platforms import Button, Part
from shared.settings import Settings
from tests.support.secrets import FakeSecrets

FORUM = "-1001000000001"


def adapter_for(simulator: Simulator) -> Telegram:
    urls = {"telegram": {"api": simulator.api_url("telegram")}}
    return Telegram(Settings("handoffs", "sessions", "queue", platform_urls=urls), FakeSecrets(simulator.secrets))


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
