"""The simulated Telegram, checked against aiogram's models of the Bot API."""

import asyncio
from typing import Any

import aiogram.methods
import httpx
import pytest
import telegram
from aiogram import Bot
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.exceptions import TelegramBadRequest, TelegramForbiddenError, TelegramRetryAfter
from aiogram.types import (
    CallbackQuery,
    ChatMemberAdministrator,
    ForumTopic,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    Message,
    MessageEntity,
    Update,
)

from local.chats.simulator import Simulator
from local.chats.telegram.wire.api import Telegram
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


@pytest.mark.parametrize("kind", Telegram.attachments)
def test_attachments_match_aiograms_models(simulator: Simulator, receiver: WebhookReceiver, kind: str) -> None:
    simulator.webhook_url = receiver.url
    simulator.say("telegram", str(HOME), "look", attachments=[kind], forwarded=True)
    update = Update.model_validate(receiver.next().json)
    message = update.message
    assert message is not None
    assert message.forward_origin is not None
    assert message.content_type != "text"
    assert (message.text, message.caption) == (None, "look")
    assert unknown_fields(update) == []


@pytest.mark.parametrize("in_topic", [True, False])
def test_presses_match_aiograms_models(simulator: Simulator, receiver: WebhookReceiver, *, in_topic: bool) -> None:
    allow = InlineKeyboardButton(text="Allow", callback_data="allow", style="primary")
    keyboard = InlineKeyboardMarkup(inline_keyboard=[[allow]])

    async def ask() -> Message:
        async with aiogram_bot(simulator) as bot:
            thread = (await bot.create_forum_topic(FORUM, "Here")).message_thread_id if in_topic else None
            return await bot.send_message(FORUM, "May I?", message_thread_id=thread, reply_markup=keyboard)

    async def answer(query: CallbackQuery) -> Message | bool:
        async with aiogram_bot(simulator) as bot:
            assert await bot.answer_callback_query(query.id, text="Allowed")
            with pytest.raises(TelegramBadRequest, match="query is too old"):
                await bot.answer_callback_query("17", text="Allowed")
            with pytest.raises(TelegramBadRequest, match="TOO_LONG"):
                await bot.answer_callback_query(query.id, text="x" * 201)
            return await bot.edit_message_text("Allowed", chat_id=FORUM, message_id=asked.message_id)

    asked = asyncio.run(ask())
    assert asked.reply_markup is not None
    assert asked.reply_markup.model_dump() == keyboard.model_dump()
    simulator.webhook_url = receiver.url
    thread = str(asked.message_thread_id) if in_topic else None
    simulator.press("telegram", str(FORUM), str(asked.message_id), "allow", thread=thread, user="stranger")
    update = Update.model_validate(receiver.next().json)
    query = update.callback_query

    assert query is not None
    assert unknown_fields(update) == []
    assert (query.data, query.from_user.id) == ("allow", STRANGER)
    assert query.message is not None
    assert (query.message.message_id, query.message.chat.id) == (asked.message_id, FORUM)
    edited = asyncio.run(answer(query))
    assert isinstance(edited, Message)
    assert edited.reply_markup is None


@pytest.mark.parametrize(
    ("button", "error"),
    [
        ({"text": "x", "callback_data": "é" * 33}, "BUTTON_DATA_INVALID"),
        ({"text": "x", "callback_data": ""}, "BUTTON_DATA_INVALID"),
        ({"text": " ", "callback_data": "x"}, "non-empty"),
        ({"text": "x", "callback_data": "x", "style": "loud"}, "style"),
    ],
)
def test_odd_buttons_are_refused(simulator: Simulator, button: dict[str, str], error: str) -> None:
    url = f"{simulator.api_url('telegram')}{simulator.secrets['telegram/bot_token']}/sendMessage"
    markup = {"inline_keyboard": [[button]]}

    answer = httpx.post(url, json={"chat_id": HOME, "text": "x", "reply_markup": markup}).json()

    assert error in answer["description"]


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


def button_row(*buttons: telegram.InlineKeyboardButton) -> telegram.InlineKeyboardMarkup:
    return telegram.InlineKeyboardMarkup([buttons])


def test_recorded_calls_match_those_of_aiogram(simulator: Simulator) -> None:
    async def work() -> None:
        async with telegram.Bot(simulator.secrets["telegram/bot_token"], base_url=simulator.api_url("telegram")) as bot:
            topic = await bot.create_forum_topic(HOME, "Tea")
            bold = telegram.MessageEntity("bold", 0, 4)
            sent = await bot.send_message(HOME, "Here", message_thread_id=topic.message_thread_id, entities=[bold])
            button = telegram.InlineKeyboardButton("Go", callback_data="go", style="danger")
            await bot.edit_message_text("There", HOME, sent.message_id, reply_markup=button_row(button))
            await bot.send_chat_action(HOME, "typing", message_thread_id=topic.message_thread_id)

    asyncio.run(work())
    calls = [call for call in simulator.calls if call.name != "getMe"]
    assert [c.name for c in calls] == ["createForumTopic", "sendMessage", "editMessageText", "sendChatAction"]
    for call in calls:
        method = getattr(aiogram.methods, call.name[0].upper() + call.name[1:])
        assert set(call.arguments) <= set(method.model_fields)
        method.model_validate(call.arguments)
