"""The simulator's page in Chromium: live updates, links, messages, faults, phone, keyboard, dark mode."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from local.chats import CHATS
from local.chats.simulator import Simulator
from local.chats.simulator.files import SAMPLES
from tests.support.browser import DOWN, ENTER, ESCAPE, NULL, SHIFT, TAB, Browser, missing
from tests.support.webhook_receiver import WebhookReceiver

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(missing() is not None, reason=missing() or ""),
]
DISCORD_HOME = "6001000000000000001"
CONTRAST = (Path(__file__).parent / "contrast.js").read_text()
NASTY = "<img src=x onerror=\"document.title='owned'\"> **<script>alert(1)</script>** `<b>` & done"


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    with Browser() as running:
        yield running


@pytest.fixture
def browser(window: Browser) -> Iterator[Browser]:
    window.resize(1280, 860)
    yield window
    complaints = window.complaints()
    window.open("about:blank")
    assert complaints == []


def telegram(simulator: Simulator, method: str, **arguments: Any) -> Any:
    url = f"{simulator.api_url('telegram')}{simulator.secrets['telegram/bot_token']}/{method}"
    return httpx.post(url, json=arguments).json()["result"]


def topic(simulator: Simulator, title: str = "Handoff — tea") -> str:
    return str(telegram(simulator, "createForumTopic", chat_id=7001, name=title)["message_thread_id"])


def slack(simulator: Simulator, **arguments: Any) -> str:
    headers = {"Authorization": f"Bearer {simulator.secrets['slack/bot_token']}"}
    answer = httpx.post(f"{simulator.api_url('slack')}chat.postMessage", json=arguments, headers=headers).json()
    return str(answer["ts"])


def look(browser: Browser, url: str) -> None:
    browser.open(url)
    browser.until(lambda: browser.text("#live-text") == "live")


def test_all_platforms_and_their_homes_are_listed(simulator: Simulator, browser: Browser) -> None:
    look(browser, simulator.url)
    assert browser.texts("#places h2") == [chat.spec.title for chat in CHATS]
    homes = "return [...document.querySelectorAll('#places .home')].map(e => e.parentElement.querySelector('.title').innerText)"
    assert browser.run(homes) == [chat.title for one in CHATS for chat in one.chats if chat.id == one.homes["owner"]]


def test_a_new_thread_appears_and_its_link_opens_it(simulator: Simulator, browser: Browser) -> None:
    look(browser, simulator.url)
    thread = topic(simulator)
    browser.until(lambda: "Handoff — tea" in browser.texts("#places .thread .title"))
    browser.until(lambda: "New on Telegram" in browser.text("#toast"))
    look(browser, simulator.link_url("telegram", "7001", thread))
    assert browser.text("#talk-title") == "Handoff — tea"
    telegram(simulator, "sendMessage", chat_id=7001, message_thread_id=thread, text="Here I am")
    browser.until(lambda: browser.texts(".message .text") == ["Here I am"])
    assert browser.run("return document.title") == "Handoff — tea · Chat simulator"


def test_a_link_to_a_discord_thread_needs_no_channel(simulator: Simulator, browser: Browser) -> None:
    headers = {"Authorization": f"Bot {simulator.secrets['discord/bot_token']}"}
    url = f"{simulator.api_url('discord')}/channels/{DISCORD_HOME}/threads"
    thread = httpx.post(url, json={"name": "Cache", "type": 11}, headers=headers).json()["id"]
    look(browser, simulator.link_url("discord", thread))
    assert browser.text("#talk-title") == "Cache"
    assert "agents" in browser.text("#crumbs")


def test_a_link_to_a_missing_thread_is_explained(simulator: Simulator, browser: Browser) -> None:
    look(browser, simulator.link_url("telegram", "7001", "999"))
    assert "does not exist yet" in browser.text("#empty")


def test_a_sent_message_reaches_the_bot_and_clears_the_box(
    simulator: Simulator, browser: Browser, receiver: WebhookReceiver
) -> None:
    simulator.webhook_url = receiver.url
    thread = topic(simulator)
    look(browser, simulator.link_url("telegram", "7001", thread))
    browser.type("#words", f"two{SHIFT}{ENTER}{NULL}lines{ENTER}")
    browser.until(lambda: browser.texts(".from-owner .text") == ["two\nlines"])
    browser.until(lambda: browser.run("return document.getElementById('words').value") == "")
    message = receiver.next().json["message"]
    assert (message["text"], message["message_thread_id"]) == ("two\nlines", int(thread))


def test_a_chosen_picture_is_sent_and_shown(
    simulator: Simulator, browser: Browser, receiver: WebhookReceiver, tmp_path: Path
) -> None:
    simulator.webhook_url = receiver.url
    (tmp_path / "plan.png").write_bytes(SAMPLES["picture"][2])
    (tmp_path / "run.txt").write_bytes(b"words")
    look(browser, simulator.link_url("slack", "C0HOME"))
    browser.type("#files", f"{tmp_path / 'plan.png'}\n{tmp_path / 'run.txt'}")
    browser.type("#words", f"look{ENTER}")

    browser.until(lambda: browser.run("return document.querySelector('.files img')?.naturalWidth") == 1)
    assert browser.texts(".from-owner .files a") == ["", "run.txt (5 B)"]
    assert browser.texts(".from-owner .text") == ["look"]
    files = receiver.next().json["event"]["files"]
    assert [(file["name"], file["mimetype"], file["size"]) for file in files] == [
        ("plan.png", "image/png", len(SAMPLES["picture"][2])),
        ("run.txt", "text/plain", 5),
    ]


def test_the_stranger_can_write_in_their_chats(
    simulator: Simulator, browser: Browser, receiver: WebhookReceiver
) -> None:
    simulator.webhook_url = receiver.url
    look(browser, simulator.link_url("slack", "C0HOME"))
    browser.run("document.getElementById('speaker').value = 'stranger'")
    browser.type("#words", "let me in")
    browser.click("#send")
    browser.until(lambda: browser.texts(".from-stranger .name") == ["Sam Stranger"])
    assert receiver.next().json["event"]["user"] == "U7002"
    look(browser, simulator.link_url("telegram", "7001"))
    assert browser.texts("#speaker option") == ["Olivia Owner"]


def test_an_unsent_message_stays_in_the_box(simulator: Simulator, browser: Browser) -> None:
    thread = topic(simulator)
    look(browser, simulator.link_url("telegram", "7001", thread))
    browser.run("window.fetch = () => Promise.reject(new Error('no way'))")
    browser.type("#words", f"important{ENTER}")
    browser.until(lambda: "Not sent: no way" in browser.text("#problem"))
    assert browser.run("return document.getElementById('words').value") == "important"


@pytest.mark.parametrize("platform", ["telegram", "slack"])
def test_messages_are_never_markup(simulator: Simulator, browser: Browser, platform: str) -> None:
    if platform == "telegram":
        thread = topic(simulator, NASTY[:128])
        telegram(simulator, "sendMessage", chat_id=7001, message_thread_id=thread, text=NASTY)
        simulator.say("telegram", "7001", NASTY, thread=thread)
        look(browser, simulator.link_url("telegram", "7001", thread))
    else:
        thread = slack(simulator, channel="C0HOME", text=NASTY)
        slack(simulator, channel="C0HOME", thread_ts=thread, markdown_text=NASTY)
        simulator.say("slack", "C0HOME", NASTY, thread=thread)
        look(browser, simulator.link_url("slack", "C0HOME", thread))
    browser.until(lambda: len(browser.texts(".message")) >= 2)
    assert browser.run("return document.querySelectorAll('#talk img, #talk script, #talk b, #places img').length") == 0
    assert browser.run("return document.title.startsWith('owned')") is False
    for shown in browser.texts(".message .text"):
        assert "<img src=x onerror=" in shown
        assert "<script>alert(1)</script>" in shown


def test_formatting_is_shown(simulator: Simulator, browser: Browser) -> None:
    seed = slack(simulator, channel="C0HOME", text="seed")
    text = "**bold** and `code`\n```\nfenced *text*\n```\nafter"
    slack(simulator, channel="C0HOME", thread_ts=seed, markdown_text=text)
    look(browser, simulator.link_url("slack", "C0HOME", seed))
    browser.until(lambda: len(browser.texts(".message")) == 2)
    assert (browser.text(".text strong"), browser.text(".text code")) == ("bold", "code")
    assert browser.text(".text pre") == "fenced *text*"
    entities = [{"type": "bold", "offset": 3, "length": 4}]
    telegram(simulator, "sendMessage", chat_id=7001, text="😀 bold 😀", entities=entities)
    look(browser, simulator.link_url("telegram", "7001"))
    browser.until(lambda: browser.text(".text strong") == "bold")


def test_a_mention_shows_the_name(simulator: Simulator, browser: Browser) -> None:
    seed = slack(simulator, channel="C0HOME", text="Handoff for <@U7001> & <@U404>")
    look(browser, simulator.link_url("slack", "C0HOME", seed))
    assert browser.text(".message .text") == "Handoff for @Olivia Owner & @U404"
    assert browser.text("#talk-title") == "Handoff for @Olivia Owner & @U404"


def test_typing_is_shown_until_the_message_arrives(simulator: Simulator, browser: Browser) -> None:
    thread = topic(simulator)
    look(browser, simulator.link_url("telegram", "7001", thread))
    telegram(simulator, "sendChatAction", chat_id=7001, message_thread_id=thread, action="typing")
    browser.until(lambda: browser.text("#typing") == "Handoff is typing")
    telegram(simulator, "sendMessage", chat_id=7001, message_thread_id=thread, text="…")
    browser.until(lambda: browser.text("#typing") == "")
    message = telegram(simulator, "sendMessage", chat_id=7001, message_thread_id=thread, text="draft")["message_id"]
    telegram(simulator, "editMessageText", chat_id=7001, message_id=message, text="final")
    browser.until(lambda: browser.texts(".message .text") == ["…", "final"])
    assert "edited" in browser.texts(".message .who")[1]


def test_a_button_is_pressed_and_its_answer_shown(
    simulator: Simulator, browser: Browser, receiver: WebhookReceiver
) -> None:
    simulator.webhook_url = receiver.url
    thread = topic(simulator)
    keys = [{"text": "Allow", "callback_data": "allow", "style": "primary"}, {"text": "<b>No", "callback_data": "deny"}]
    markup = {"inline_keyboard": [keys]}
    where = {"chat_id": 7001, "message_thread_id": thread}
    message = telegram(simulator, "sendMessage", **where, text="May I?", reply_markup=markup)["message_id"]
    look(browser, simulator.link_url("telegram", "7001", thread))
    browser.until(lambda: browser.texts(".buttons button") == ["Allow", "<b>No"])

    browser.click(".buttons button.default")
    query = receiver.next().json["callback_query"]
    assert (query["data"], query["from"]["id"], query["message"]["message_id"]) == ("deny", 7001, message)

    telegram(simulator, "answerCallbackQuery", callback_query_id=query["id"], text="Denied & noted.")
    browser.until(lambda: browser.texts(".answers li") == ["only Olivia Owner sees this: Denied & noted."])
    telegram(simulator, "editMessageText", chat_id=7001, message_id=message, text="Denied")
    browser.until(lambda: browser.texts(".buttons button") == [])
    assert "edited" in browser.text(".message .who")


def test_a_press_that_fails_is_explained(simulator: Simulator, browser: Browser) -> None:
    markup = {"inline_keyboard": [[{"text": "Allow", "callback_data": "allow"}]]}
    telegram(simulator, "sendMessage", chat_id=7001, text="May I?", reply_markup=markup)
    look(browser, simulator.link_url("telegram", "7001"))
    browser.until(lambda: browser.texts(".buttons button") == ["Allow"])
    browser.run("window.fetch = () => Promise.reject(new Error('no way'))")
    browser.click(".buttons button")
    browser.until(lambda: browser.text("#problem") == "Not pressed: no way.")


def test_unread_messages_are_counted(simulator: Simulator, browser: Browser) -> None:
    look(browser, simulator.link_url("telegram", "7001"))
    slack(simulator, channel="C0GENERAL", text="one")
    slack(simulator, channel="C0GENERAL", text="two")
    browser.until(lambda: browser.text("a[href='#/slack/C0GENERAL'] .badge").startswith("2"))
    browser.click("a[href='#/slack/C0GENERAL']")
    browser.until(lambda: browser.texts("#places .badge") == [])


def test_a_slack_message_can_be_answered_in_a_thread(simulator: Simulator, browser: Browser) -> None:
    slack(simulator, channel="C0HOME", text="Anybody?")
    look(browser, simulator.link_url("slack", "C0HOME"))
    browser.click(".replies")
    browser.until(lambda: browser.text("#talk-title") == "Anybody?")
    browser.type("#words", f"Me{ENTER}")
    browser.until(lambda: browser.texts(".message .text") == ["Anybody?", "Me"])
    browser.click("#crumbs a")
    browser.until(lambda: browser.text(".replies") == "1 reply")


def test_faults_can_be_armed_and_disarmed(simulator: Simulator, browser: Browser) -> None:
    look(browser, simulator.link_url("telegram", "7001"))
    assert "Everything works" in browser.text("#armed")
    browser.click("[data-kind='forbidden']")
    browser.until(lambda: "Telegram: Forbidden, 1 ×" in browser.text("#armed"))
    url = f"{simulator.api_url('telegram')}{simulator.secrets['telegram/bot_token']}/sendMessage"
    assert httpx.post(url, json={"chat_id": 7001, "text": "x"}).status_code == 403
    browser.until(lambda: "Everything works" in browser.text("#armed"))
    browser.run(
        "document.getElementById('fault-count').value = '3'; document.getElementById('fault-seconds').value = '9'"
    )
    browser.click("#fault-platforms label[data-platform='discord']")
    browser.click("[data-kind='rate_limit']")
    browser.until(lambda: "Discord: Rate limit, 3 ×" in browser.text("#armed"))
    browser.click("#armed button")
    browser.until(lambda: "Everything works" in browser.text("#armed"))


def test_a_phone_shows_one_column_without_side_scroll(simulator: Simulator, browser: Browser) -> None:
    browser.resize(390, 844, phone=True)
    thread = topic(simulator, "A title that is much longer than a phone is wide, and then some")
    wide = "word " * 30 + "\n" + "x" * 200
    code = {"type": "pre", "offset": 0, "length": len(wide)}
    telegram(simulator, "sendMessage", chat_id=7001, message_thread_id=thread, text=wide, entities=[code])
    look(browser, simulator.url)
    visible = "return [...document.querySelectorAll('#places, #talk')].filter(e => e.checkVisibility()).map(e => e.id)"
    sideways = "return document.documentElement.scrollWidth - innerWidth"
    assert (browser.run(visible), browser.run(sideways)) == (["places"], 0)
    browser.click(f"a[href='#/telegram/7001/{thread}']")
    browser.until(lambda: browser.run(visible) == ["talk"])
    small = "return ['#send', '#words', '#back', '#faults-toggle'].map(s => document.querySelector(s).getBoundingClientRect())"
    assert all(box["height"] >= 40 and box["right"] <= 390 for box in browser.run(small))
    assert browser.run(sideways) == 0
    browser.click("#faults-toggle")
    assert browser.run("return document.querySelector('#faults').getBoundingClientRect().right") <= 390
    browser.press(ESCAPE)
    assert browser.run("return document.querySelector('#faults').checkVisibility()") is False
    browser.click("#back")
    browser.until(lambda: browser.run(visible) == ["places"])


def test_everything_can_be_done_from_the_keyboard(simulator: Simulator, browser: Browser) -> None:
    look(browser, simulator.url)
    browser.press(TAB)
    assert browser.run("return document.activeElement.className") == "skip"
    browser.press(TAB)
    browser.press(DOWN)
    browser.press(ENTER)
    browser.until(lambda: browser.text("#talk-title") == "Project forum")
    browser.until(lambda: browser.run("return document.activeElement.id") == "words")
    browser.press(f"hello{ENTER}")
    browser.until(lambda: browser.texts(".from-owner .text") == ["hello"])


@pytest.mark.parametrize("dark", [False, True])
def test_text_has_contrast_in_light_and_dark(simulator: Simulator, browser: Browser, *, dark: bool) -> None:
    browser.prefer("dark" if dark else "light")
    thread = topic(simulator)
    simulator.say("telegram", "7001", "hello", thread=thread)
    simulator.say("telegram", "-1002", "hello", user="stranger")
    keys = [{"text": style, "callback_data": style, "style": style} for style in ("primary", "danger")]
    markup = {"inline_keyboard": [[*keys, {"text": "default", "callback_data": "x"}]]}
    telegram(simulator, "sendMessage", chat_id=7001, message_thread_id=thread, text="May I?", reply_markup=markup)
    for place in (("7001", thread), ("-1002", None)):
        look(browser, simulator.link_url("telegram", *place))
        browser.until(lambda: browser.text(".message .text") == "hello")
        assert browser.run(CONTRAST) == []
    lightness = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert lightness == ("rgb(20, 22, 26)" if dark else "rgb(246, 247, 249)")


def test_all_files_are_local_and_a_lost_connection_shows(simulator: Simulator, browser: Browser) -> None:
    look(browser, simulator.link_url("telegram", "7001"))
    loaded = browser.run("return performance.getEntriesByType('resource').map(e => new URL(e.name).origin)")
    assert set(loaded) == {simulator.url}
    assert len(loaded) > 5
    simulator.stop()
    browser.until(lambda: "trying again" in browser.text("#live"))
    browser.complaints()  # the browser says so in its console too, rightly
