"""What Discord's webhooks say: interactions from Discord itself, messages of its Gateway from our relay."""

import json
import re
from collections.abc import Mapping
from typing import Any

from shared.domain.commands import COMMANDS
from shared.domain.routes import Place
from shared.ports.inbound import Answer, Ignored, Inbound

PING, APPLICATION_COMMAND = 1, 2
PONG, REPLY = 1, 4
ONLY_FOR_THE_SENDER = 1 << 6
# A plain message and a reply to one; every other type is Discord's own: a pin, a boost, a thread that was opened.
_SPOKEN = frozenset({0, 19})

SAY = "say"
_QUOTE_LIMIT = 1800


def parse(raw: bytes, *, relayed: bool) -> Inbound | Answer | Ignored:
    """What a verified webhook says; `relayed` tells whose signature it carries."""
    try:
        event = json.loads(raw)
        return _dispatched(event) if relayed else _interaction(event)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return Ignored(f"not what Discord sends ({type(error).__name__})")


def _dispatched(event: Mapping[str, Any]) -> Inbound | Answer | Ignored:
    """An event of the Gateway. Interactions come this way where no address is set for them."""
    if event["t"] == "MESSAGE_CREATE":
        return _message(event["d"])
    if event["t"] == "INTERACTION_CREATE":
        return _interaction(event["d"])
    return Ignored("neither a message nor a command")


def _message(message: Mapping[str, Any]) -> Inbound | Ignored:
    author = message["author"]
    if author.get("bot") or author.get("system") or message.get("webhook_id"):
        return Ignored("written by a bot")
    if message["type"] not in _SPOKEN:
        return Ignored(f"a message of type {message['type']}, which nobody wrote")
    text = _without_mention(message["content"], message.get("mentions", ()))
    if not text:
        return Ignored("a message without text")
    return Inbound(_in_order(message["id"]), Place("discord", message["channel_id"]), author["id"], text)


def _interaction(event: Mapping[str, Any]) -> Inbound | Answer | Ignored:
    if event["type"] == PING:
        return Answer({"type": PONG})
    if event["type"] != APPLICATION_COMMAND:
        return Ignored(f"an interaction of type {event['type']}")
    command = event["data"]["name"]
    argument = " ".join(str(option["value"]) for option in event["data"].get("options", ())).strip()
    if command == SAY:
        text, answer = argument, _reply(_quoted(argument))
    elif command in COMMANDS:
        text = f"/{command} {argument}".rstrip()
        answer = _reply(f"Received: /{command}", flags=ONLY_FOR_THE_SENDER)
    else:
        return _reply("This command is not known here. Try /help.", flags=ONLY_FOR_THE_SENDER)
    if not text:
        return _reply("There was no text in this. Try /say with a text.", flags=ONLY_FOR_THE_SENDER)
    user = event["member"]["user"] if event.get("member") else event["user"]
    return Inbound(_in_order(event["id"]), Place("discord", event["channel_id"]), user["id"], text, answer)


def _reply(content: str, *, flags: int = 0) -> Answer:
    return Answer({"type": REPLY, "data": {"content": content, "flags": flags, "allowed_mentions": {"parse": []}}})


def _quoted(text: str) -> str:
    """What was said, for all in the thread to see: a command's own text is shown to nobody."""
    shown = text if len(text) <= _QUOTE_LIMIT else text[: _QUOTE_LIMIT - 1] + "…"
    quoted = "\n".join(f"> {line}" for line in shown.splitlines())
    return quoted if len(quoted) <= 2000 else quoted[:1999] + "…"


def _without_mention(text: str, mentions: Any) -> str:
    """The text without the bot's name at its start: in a busy channel that is how people call it."""
    bots = "|".join(re.escape(user["id"]) for user in mentions if user.get("bot"))
    return re.sub(rf"^\s*<@!?(?:{bots})>[\s,:]*", "", text).strip() if bots else text.strip()


def _in_order(snowflake: str) -> str:
    """Snowflakes count time: with equal lengths they sort by it as text too."""
    return str(int(snowflake)).zfill(20)
