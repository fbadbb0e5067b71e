"""The simulated Telegram with python-telegram-bot as its client."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

import httpx
import pytest
import telegram
from telegram.error import BadRequest, Conflict, Forbidden
from telegram.request import HTTPXRequest

from local.chats.simulator import Simulator
from local.chats.telegram import CHAT, TelegramOptions
from tests.support.webhook_receiver import WebhookReceiver

HOME, FORUM, GROUP = 7001, -1001000000001, -1002
T = TypeVar("T")
Work = Callable[[telegram.Bot], Awaitable[T]]


def with_bot(simulator: Simulator, work: Work[T]) -> T:
    async def run() -> T:
        polls = HTTPXRequest(connection_pool_size=2)
        token, url = simulator.secrets["telegram/bot_token"], simulator.api_url("telegram")
        async with telegram.Bot(token, base_url=url, get_updates_request=polls) as bot:
            return await work(bot)

    return asyncio.run(run())


def chat_state(simulator: Simulator, chat: int) -> dict[str, Any]:
    return next(c for c in simulator.state()["platforms"]["telegram"]["chats"] if c["id"] == str(chat))


@pytest.mark.parametrize("chat", [HOME, FORUM])
def test_a_topic_holds_its_messages(simulator: Simulator, chat: int) -> None:
    async def work(bot: telegram.Bot) -> telegram.Message:
        topic = await bot.create_forum_topic(chat, "Handoff — tea 🍵")
        return await bot.send_message(chat, "Here I am.", message_thread_id=topic.message_thread_id)

    message = with_bot(simulator, work)
    (thread,) = chat_state(simulator, chat)["threads"]
    assert thread["title"] == "Handoff — tea 🍵"
    assert thread["id"] == str(message.message_thread_id)
    assert [(m["id"], m["from"], m["text"]) for m in thread["messages"]] == [
        (str(message.message_id), "bot", "Here I am.")
    ]
    assert message.is_topic_message


def test_get_me_reports_topics_in_private_chats(simulator: Simulator) -> None:
    async def work(bot: telegram.Bot) -> tuple[telegram.User, telegram.ChatMember]:
        return await bot.get_me(), await bot.get_chat_member(FORUM, bot.id)

    me, member = with_bot(simulator, work)
    assert me.has_topics_enabled
    assert isinstance(member, telegram.ChatMemberAdministrator)
    assert member.can_manage_topics


async def _long_topic(bot: telegram.Bot) -> None:
    await bot.create_forum_topic(GROUP, "x")


async def _general(bot: telegram.Bot) -> None:
    await bot.send_message(FORUM, "x", message_thread_id=1)


async def _edit_same(bot: telegram.Bot) -> None:
    sent = await bot.send_message(HOME, "same")
    await bot.edit_message_text("same", HOME, sent.message_id)


async def _unknown_chat(bot: telegram.Bot) -> None:
    await bot.send_message(4711, "x")


async def _empty(bot: telegram.Bot) -> None:
    await bot.send_message(HOME, "   ")


async def _too_long(bot: telegram.Bot) -> None:
    await bot.send_message(HOME, "😀" * 2049)


async def _edit_too_long(bot: telegram.Bot) -> None:
    sent = await bot.send_message(HOME, "short")
    await bot.edit_message_text("x" * 4097, HOME, sent.message_id)


async def _edit_missing(bot: telegram.Bot) -> None:
    await bot.edit_message_text("x", HOME, 999)


async def _entity_beyond(bot: telegram.Bot) -> None:
    await bot.send_message(HOME, "abc", entities=[telegram.MessageEntity("bold", 1, 5)])


@pytest.mark.parametrize(
    ("work", "text"),
    [
        (_long_topic, "The chat is not a forum"),
        (_general, "Message thread not found"),
        (_edit_same, "Message is not modified: specified new message content and reply markup are exactly the same"),
        (_unknown_chat, "Chat not found"),
        (_empty, "Message text is empty"),
        (_too_long, "Message is too long"),
        (_edit_too_long, "MESSAGE_TOO_LONG"),
        (_edit_missing, "Message to edit not found"),
        (_entity_beyond, "Entity beginning at UTF-16 offset 1 ends after the end of the text at UTF-16 offset 6"),
    ],
)
def test_errors_have_telegrams_texts(simulator: Simulator, work: Work[None], text: str) -> None:
    with pytest.raises(BadRequest) as refused:
        with_bot(simulator, work)
    assert refused.value.message.lower().startswith(text.lower())  # the SDK changes the case


def test_the_length_limit_counts_utf16_units(simulator: Simulator) -> None:
    async def work(bot: telegram.Bot) -> telegram.Message:
        return await bot.send_message(HOME, "😀" * 2048)

    assert with_bot(simulator, work).text == "😀" * 2048


@pytest.mark.parametrize(
    ("options", "chat", "text"),
    [
        (TelegramOptions(topics=False), HOME, "The chat is not a forum"),
        (TelegramOptions(admin=False), FORUM, "Not enough rights to create a topic"),
    ],
)
def test_a_rejected_topic_names_the_reason(options: TelegramOptions, chat: int, text: str) -> None:
    async def work(bot: telegram.Bot) -> None:
        await bot.create_forum_topic(chat, "x")

    with Simulator([replace(CHAT, options=options)]) as simulator, pytest.raises(BadRequest, match=text):
        with_bot(simulator, work)


def test_a_forbidden_call_has_telegrams_text(simulator: Simulator) -> None:
    async def work(bot: telegram.Bot) -> None:
        await bot.send_message(FORUM, "x")

    simulator.arm("telegram", "forbidden")
    with pytest.raises(Forbidden, match="kicked from the supergroup"):
        with_bot(simulator, work)
    assert chat_state(simulator, FORUM)["messages"] == []


def test_a_rate_limit_has_retry_after(simulator: Simulator) -> None:
    simulator.arm("telegram", "rate_limit", seconds=41)
    url = f"{simulator.api_url('telegram')}{simulator.secrets['telegram/bot_token']}/sendMessage"
    answer = httpx.post(url, json={"chat_id": HOME, "text": "x"})
    assert answer.status_code == 429
    assert answer.headers["Retry-After"] == "41"
    assert answer.json() == {
        "ok": False,
        "error_code": 429,
        "description": "Too Many Requests: retry after 41",
        "parameters": {"retry_after": 41},
    }


def test_a_slow_call_still_succeeds(simulator: Simulator) -> None:
    async def work(bot: telegram.Bot) -> None:
        with pytest.raises(telegram.error.TimedOut):
            await bot.send_message(HOME, "late", read_timeout=0.05)
        await bot.send_message(HOME, "later", read_timeout=5)

    simulator.arm("telegram", "slow", seconds=0.3)
    simulator.arm("telegram", "slow", seconds=0.6)
    with_bot(simulator, work)
    assert [m["text"] for m in chat_state(simulator, HOME)["messages"]] == ["late", "later"]


def test_a_poll_waits_confirms_and_ends_an_older_one(simulator: Simulator) -> None:
    async def work(bot: telegram.Bot) -> tuple[telegram.Update, ...]:
        polls = {asyncio.create_task(bot.get_updates(timeout=20)) for _ in range(2)}
        (older,), (newer,) = await asyncio.wait(polls, return_when=asyncio.FIRST_COMPLETED)
        with pytest.raises(Conflict, match="terminated by other getUpdates request"):
            await older
        await asyncio.to_thread(simulator.say, "telegram", str(GROUP), "hello")
        (update,) = await newer
        return (update, *await bot.get_updates(offset=update.update_id + 1))

    (update,) = with_bot(simulator, work)
    assert update.message is not None
    assert (update.message.text, update.message.chat.id) == ("hello", GROUP)


def test_polling_and_a_webhook_exclude_each_other(simulator: Simulator) -> None:
    async def work(bot: telegram.Bot) -> tuple[str, str]:
        await bot.set_webhook("https://example.org/hook", secret_token="abc")
        before = await bot.get_webhook_info()
        with pytest.raises(Conflict, match="while webhook is active"):
            await bot.get_updates()
        await bot.delete_webhook()
        await bot.get_updates()
        return before.url, (await bot.get_webhook_info()).url

    assert with_bot(simulator, work) == ("https://example.org/hook", "")


def test_redelivery_repeats_a_confirmed_update(simulator: Simulator) -> None:
    async def work(bot: telegram.Bot) -> list[list[int]]:
        first = await bot.get_updates()
        second = await bot.get_updates(offset=first[0].update_id + 1)
        third = await bot.get_updates(offset=first[0].update_id + 1)
        return [[u.update_id for u in updates] for updates in (first, second, third)]

    simulator.arm("telegram", "redeliver")
    simulator.say("telegram", str(HOME), "once")
    first, second, third = with_bot(simulator, work)
    assert first == second
    assert third == []


def test_waiting_updates_are_sent_once_a_webhook_is_set(simulator: Simulator, receiver: WebhookReceiver) -> None:
    simulator.say("telegram", str(HOME), "early")
    simulator.webhook_url = receiver.url
    call = receiver.next()
    assert call.path == "/webhooks/telegram"
    assert call.headers["x-telegram-bot-api-secret-token"] == simulator.secrets["telegram/webhook_secret"]
    assert call.json["message"]["text"] == "early"


def test_an_update_is_retried_and_blocks_the_next(simulator: Simulator, receiver: WebhookReceiver) -> None:
    receiver.answer(503, 503, 503, 200)
    simulator.webhook_url = receiver.url
    simulator.say("telegram", str(HOME), "one")
    simulator.say("telegram", str(HOME), "two")
    texts = [receiver.next().json["message"]["text"] for _ in range(5)]
    assert texts == ["one", "one", "one", "one", "two"]


def test_redelivery_repeats_an_update_as_often_as_armed(simulator: Simulator, receiver: WebhookReceiver) -> None:
    simulator.webhook_url = receiver.url
    simulator.arm("telegram", "redeliver", 100)
    simulator.say("telegram", str(HOME), "again and again")
    simulator_ids = {receiver.next().json["update_id"] for _ in range(101)}
    assert len(simulator_ids) == 1
    simulator.say("telegram", str(HOME), "once")
    assert receiver.next().json["message"]["text"] == "once"
