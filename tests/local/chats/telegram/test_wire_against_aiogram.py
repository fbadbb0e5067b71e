"""The simulated Telegram, checked against aiogram's models of the Bot API."""

import asyncio
from typing import Any

import aiogram.methods
import pytest
import telegram
from aiogram import Bot
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.exceptions import TelegramBadRequest, TelegramForbiddenError, TelegramRetryAfter
from aiogram.types import ChatMemberAdministrator, ForumTopic, Message, MessageEntity, Update

from local.chats.simulator import Simulator
from tests.support.webhook_receiver import WebhookReceiver

HOME, FORUM, GROUP, STRANGER = 7001, -1001000000001, -1002, 7002


def aiogram_bot(simulator: Simulator) -> Bot:
    base = f"{simulator.api_url('telegram')}{{token}}/{{method}}"
    session = AiohttpSession(api=TelegramAPIServer(base=base, file=base))
    return Bot(simulator.secrets["telegram/bot_token"], session=session)


def unknown_fields(model: Any) -> list[str]:
    """Fields that aiogram does not know, anywhere below: its models keep them aside instead of failing."""
    found = list(getattr(model, "model_extra", None) or {})
    for name in type(model).model_fields:
        value = getattr(model, name)
        for item in value if isinstance(value, list) else [value]:
            if hasattr(type(item), "model_fields"):
                found += [f"{name}.{inner}" for inner in unknown_fields(item)]
    return found


def test_answers_match_aiograms_models(simulator: Simulator) -> None:
    async def work() -> list[Any]:
        async with aiogram_bot(simulator) as bot:
            topic = await bot.create_forum_topic(FORUM, "Handoff — tea")
            bold = MessageEntity(type="bold", offset=0, length=4)
            sent = await bot.send_message(
                FORUM, "Here I am", message_thread_id=topic.message_thread_id, entities=[bold]
            )
            edited = await bot.edit_message_text("There", chat_id=FORUM, message_id=sent.message_id)
            assert isinstance(topic, ForumTopic)
            assert isinstance(edited, Message)
            assert [(e.type, e.offset, e.length) for e in sent.entities or []] == [("bold", 0, 4)]
            chats = [await bot.get_chat(chat) for chat in (HOME, FORUM, GROUP)]
            members = [await bot.get_chat_member(FORUM, user) for user in (bot.id, HOME)]
            assert isinstance(members[0], ChatMemberAdministrator)
            assert await bot.send_chat_action(FORUM, "typing", message_thread_id=topic.message_thread_id)
            assert await bot.edit_forum_topic(FORUM, topic.message_thread_id, name="Handoff — coffee")
            return [await bot.get_me(), topic, sent, edited, *chats, *members, await bot.get_webhook_info()]

    answers = asyncio.run(work())
    known_to_be_left_out = {"all_members_are_administrators", "chat.all_members_are_administrators"}
    assert set().union(*map(unknown_fields, answers)) <= known_to_be_left_out


@pytest.mark.parametrize(
    ("chat", "user", "in_topic"),
    [
        (HOME, "owner", True),
        (HOME, "owner", False),
        (FORUM, "stranger", True),
        (FORUM, "owner", False),
        (GROUP, "owner", False),
        (STRANGER, "stranger", False),
    ],
)
def test_updates_match_aiograms_models(
    simulator: Simulator, receiver: WebhookReceiver, chat: int, user: str, *, in_topic: bool
) -> None:
    async def open_topic() -> str:
        async with aiogram_bot(simulator) as bot:
            return str((await bot.create_forum_topic(chat, "Here")).message_thread_id)

    thread = asyncio.run(open_topic()) if in_topic else None
    simulator.webhook_url = receiver.url
    simulator.say("telegram", str(chat), "/resume tea 🍵", thread=thread, user=user)
    update = Update.model_validate(receiver.next().json)
    message = update.message
    assert message is not None
    assert message.from_user is not None
    assert unknown_fields(update) in ([], ["message.chat.all_members_are_administrators"])
    assert (message.chat.id, message.from_user.is_bot, message.text) == (chat, False, "/resume tea 🍵")
    assert message.message_thread_id == (int(thread) if thread else None)
    assert message.is_topic_message == (True if thread else None)
    assert [e.type for e in message.entities or []] == ["bot_command"]
    assert (message.reply_to_message is not None) == (in_topic and chat == FORUM)


def test_errors_match_aiograms_models(simulator: Simulator) -> None:
    async def work() -> None:
        async with aiogram_bot(simulator) as bot:
            simulator.arm("telegram", "rate_limit", seconds=9)
            with pytest.raises(TelegramRetryAfter) as limited:
                await bot.send_message(HOME, "x")
            assert limited.value.retry_after == 9
            simulator.arm("telegram", "forbidden")
            with pytest.raises(TelegramForbiddenError):
                await bot.send_message(HOME, "x")
            with pytest.raises(TelegramBadRequest, match="message thread not found"):
                await bot.send_message(HOME, "x", message_thread_id=99)

    asyncio.run(work())


def test_recorded_calls_match_those_of_aiogram(simulator: Simulator) -> None:
    async def work() -> None:
        async with telegram.Bot(simulator.secrets["telegram/bot_token"], base_url=simulator.api_url("telegram")) as bot:
            topic = await bot.create_forum_topic(HOME, "Tea")
            bold = telegram.MessageEntity("bold", 0, 4)
            sent = await bot.send_message(HOME, "Here", message_thread_id=topic.message_thread_id, entities=[bold])
            await bot.edit_message_text("There", HOME, sent.message_id)
            await bot.send_chat_action(HOME, "typing", message_thread_id=topic.message_thread_id)

    asyncio.run(work())
    calls = [call for call in simulator.calls if call.name != "getMe"]
    assert [c.name for c in calls] == ["createForumTopic", "sendMessage", "editMessageText", "sendChatAction"]
    for call in calls:
        method = getattr(aiogram.methods, call.name[0].upper() + call.name[1:])
        assert set(call.arguments) <= set(method.model_fields)
        method.model_validate(call.arguments)
