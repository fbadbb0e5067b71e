"""What is particular to Telegram and to Slack: real links, named homes, literal titles, too rich a message."""

from dataclasses import replace

import pytest

from local.chats.simulator import Simulator
from local.chats.telegram import CHAT, TelegramOptions
from shared.domain.routes import Place
from shared.errors import Ambiguous, Rejected, ThreadRefused
from shared.platforms.slack.adapter import Slack
from shared.platforms.slack.api import Api as SlackApi
from shared.platforms.telegram.adapter import Telegram
from shared.platforms.telegram.api import Api as TelegramApi
from shared.ports.platforms import Part
from shared.settings import Settings
from tests.support.secrets import FakeSecrets

REAL = Settings("handoffs", "sessions", "queue")


def telegram(simulator: Simulator) -> Telegram:
    settings = replace(REAL, platform_urls={"telegram": {"api": simulator.api_url("telegram")}})
    return Telegram(settings, FakeSecrets(simulator.secrets))


def slack(simulator: Simulator) -> Slack:
    settings = replace(REAL, platform_urls={"slack": {"api": simulator.api_url("slack")}})
    return Slack(settings, FakeSecrets(simulator.secrets))


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
def test_telegram_links_open_the_place_in_telegram(simulator: Simulator, place: Place, link: str) -> None:
    assert telegram(simulator).link(place) == link


def test_a_private_chat_has_a_link_even_when_telegram_cannot_be_asked(simulator: Simulator) -> None:
    adapter = telegram(simulator)
    simulator.stop()

    assert adapter.link(Place("telegram", "7001")) == "tg://user?id=9001"


def test_slack_links_open_the_thread_in_its_workspace(simulator: Simulator) -> None:
    adapter = slack(simulator)

    thread = "https://handoff.slack.com/archives/C0HOME/p1790000000000100?thread_ts=1790000000.000100&cid=C0HOME"
    assert adapter.link(Place("slack", "C0HOME", "1790000000.000100")) == thread
    assert adapter.link(Place("slack", "C0HOME")) == "https://handoff.slack.com/archives/C0HOME"


def test_a_channel_has_a_link_even_when_slack_cannot_be_asked(simulator: Simulator) -> None:
    adapter = slack(simulator)
    simulator.stop()

    assert adapter.link(Place("slack", "C0HOME")) == "https://slack.com/app_redirect?channel=C0HOME"


def test_a_slack_home_named_by_its_person_is_the_channel_that_replies_come_from(simulator: Simulator) -> None:
    adapter = slack(simulator)
    home = Place("slack", "U7001")

    place = adapter.open_thread(home, "Title", key="h1", people=["U7001"])

    assert place.chat == "D0OWNER"
    assert adapter.find_thread(home, key="h1") == place


def test_a_slack_thread_calls_its_person_and_takes_the_title_literally(simulator: Simulator) -> None:
    slack(simulator).open_thread(Place("slack", "C0HOME"), "<b> *x* & <!here>", key="h", people=["U7001", "; DROP"])

    [channel] = [c for c in simulator.state()["platforms"]["slack"]["chats"] if c["id"] == "C0HOME"]
    assert channel["messages"][0]["text"] == "&lt;b&gt; *x* &amp; &lt;\u2060!here&gt; <@U7001>"


def test_what_slack_finds_too_rich_is_posted_as_plain_text(simulator: Simulator) -> None:
    adapter = slack(simulator)

    message = adapter.send(Place("slack", "C0HOME"), Part("x" * 12_500), key="a")

    assert adapter.find_message(Place("slack", "C0HOME"), key="a") == message


def test_a_message_far_back_in_a_long_thread_is_found(simulator: Simulator) -> None:
    adapter = slack(simulator)
    place = adapter.open_thread(Place("slack", "C0HOME"), "Title", key="h", people=[])
    adapter.send(place, Part("first"), key="first")
    for n in range(250):
        simulator.say("slack", "C0HOME", f"word {n}", thread=place.thread)
    last = adapter.send(place, Part("last"), key="last")

    assert adapter.find_message(place, key="last") == last
    assert adapter.find_thread(place.home, key="h") == place


def test_telegram_never_names_the_general_topic(simulator: Simulator) -> None:
    """Telegram refuses topic 1, though it is there: it is the forum itself."""
    adapter = telegram(simulator)

    adapter.send(Place("telegram", "-1001000000001", "1"), Part("hello"), key="a")


@pytest.mark.parametrize(
    ("options", "home", "why"),
    [
        (TelegramOptions(topics=False), "7001", "Threaded Mode"),
        (TelegramOptions(admin=False), "-1001000000001", "administrator"),
        (TelegramOptions(), "-1002", "no topics"),
    ],
)
def test_telegram_says_what_to_do_where_it_cannot_open_a_topic(options: TelegramOptions, home: str, why: str) -> None:
    with Simulator([replace(CHAT, options=options)]) as simulator, pytest.raises(ThreadRefused, match=why):
        telegram(simulator).open_thread(Place("telegram", home), "Title", key="h", people=[])


def test_a_wrong_token_is_final_and_not_repeated_in_the_error(simulator: Simulator) -> None:
    for adapter, home in ((telegram(simulator), "7001"), (slack(simulator), "C0HOME")):
        name = f"{adapter.name}/bot_token"
        adapter._secrets.values[name] = "9001:wrong-token"

        with pytest.raises(Rejected, match="does not accept the bot's token") as rejected:
            adapter.send(Place(adapter.name, home), Part("hello"), key="a")
        assert "wrong-token" not in str(rejected.value)


def test_telegrams_token_stays_out_of_the_log(simulator: Simulator, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    adapter = telegram(simulator)
    for kind in ("rate_limit", "reset", "forbidden", "server_error"):
        simulator.arm("telegram", kind)
        with pytest.raises(Exception):  # noqa: B017, PT011  # whichever: the log is what matters here
            adapter.send(Place("telegram", "7001"), Part("a word"), key="a")
    adapter.send(Place("telegram", "7001"), Part("a word"), key="a")

    assert simulator.secrets["telegram/bot_token"] not in caplog.text
    assert "a word" not in "".join(r.getMessage() for r in caplog.records if not r.name.startswith("asyncio"))


def test_a_call_that_takes_too_long_is_ambiguous(simulator: Simulator) -> None:
    given = simulator.secrets
    on_telegram = TelegramApi(simulator.api_url("telegram"), given["telegram/bot_token"], limit=0.3)
    on_slack = SlackApi(simulator.api_url("slack"), given["slack/bot_token"], seconds=1)

    simulator.arm("telegram", "slow", seconds=5)
    with pytest.raises(Ambiguous):
        on_telegram.send("7001", None, "hello", ())
    simulator.arm("slack", "slow", seconds=5)
    with pytest.raises(Ambiguous):
        on_slack.post("C0HOME", None, "hello", {"event_type": "x", "event_payload": {}})


def test_connections_that_went_stale_while_nobody_looked_do_no_harm() -> None:
    """As after a function was frozen: the other side closed the connection long ago."""
    first = Simulator()
    first.start()
    adapters = (telegram(first), "7001"), (slack(first), "C0HOME")
    port = int(first.url.rpartition(":")[2])
    for adapter, home in adapters:
        adapter.send(Place(adapter.name, home), Part("before"), key="a")
    first.stop()

    second = Simulator(secrets=first.secrets)
    second.start(port)
    try:
        for adapter, home in adapters:
            adapter.send(Place(adapter.name, home), Part("after"), key="b")
    finally:
        second.stop()
