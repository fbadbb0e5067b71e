"""Webhooks of Telegram: verification, and the message in an update."""

import hmac
import json
import re
from collections.abc import Mapping
from typing import Any

from shared.domain.routes import Place
from shared.platforms.telegram import SPEC
from shared.ports.inbound import Inbound, Parsed

_NAMED_COMMAND = re.compile(r"(/[a-z]+)@(\w+)", re.ASCII | re.IGNORECASE)
SECRET_HEADER = "x-telegram-bot-api-secret-token"  # noqa: S105  # the header's name, no secret


def is_from_telegram(headers: Mapping[str, str], secret: str | None) -> bool:
    """Whether the request carries the secret that was given to setWebhook. Never, while no secret is set."""
    given = headers.get(SECRET_HEADER, "")
    return bool(secret) and hmac.compare_digest(given.encode("utf-8", "replace"), str(secret).encode())


def parse(raw: bytes) -> Parsed:
    """The message of a person in an update, or why it is ignored."""
    try:
        update = json.loads(raw)
        message = update.get("message")
        if message is None:
            return Parsed(ignored=f"an update of another kind: {_kind(update)}")
        return _parse_message(message)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return Parsed(ignored="not an update that Telegram would send")


def _parse_message(message: Mapping[str, Any]) -> Parsed:
    sender = message.get("from")
    if sender is None:
        return Parsed(ignored="a message without a sender")
    if sender["is_bot"]:
        return Parsed(ignored="a message of a bot")
    if message.get("is_automatic_forward"):
        return Parsed(ignored="a channel's post, forwarded by Telegram")
    text = message.get("text") or message.get("caption")
    if not isinstance(text, str) or not text.strip():
        return Parsed(ignored="a message without text")
    text, addressee = _command(text)
    chat, person = _integer(message["chat"]["id"]), _integer(sender["id"])
    # A reply outside topics carries a thread id too; only a topic's message says that it is one.
    thread = str(_integer(message["message_thread_id"])) if message.get("is_topic_message") else None
    inbound = Inbound(
        event_id=f"{_integer(message['message_id']):020d}",
        place=Place(SPEC.name, str(chat), thread),
        sender=str(person),
        text=text,
        private=chat == person,
        addressee=addressee,
    )
    return Parsed((inbound,))


def _integer(value: Any) -> int:
    """A number as Telegram sends it, with at most 52 bits. Raises ValueError for anything else."""
    if type(value) is not int or abs(value) >= 2**52:
        raise ValueError("not a number that Telegram would send")
    return value


def _command(text: str) -> tuple[str, str | None]:
    """In groups Telegram's clients write `/status@the_bot`: the command, and the bot that it is for."""
    named = _NAMED_COMMAND.match(text)
    return (named[1] + text[named.end() :], named[2]) if named else (text, None)


def _kind(update: Mapping[str, Any]) -> str:
    kinds = sorted(key for key in update if key != "update_id" and key.isidentifier() and len(key) < 40)
    return ", ".join(kinds[:3]) or "empty"
