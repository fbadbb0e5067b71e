"""Telegram in local runs."""

import secrets
from dataclasses import dataclass

from local.chats.spec import ChatKind, LocalChat, LocalRelay, RelayOption, SeededChat
from shared.platforms.telegram import SPEC


@dataclass(frozen=True)
class TelegramOptions:
    """`topics`: the bot has Threaded Mode (topics in private chats). `admin`: it may manage topics in the forum."""

    topics: bool = True
    admin: bool = True


def _secrets() -> dict[str, str]:
    return {
        "telegram/bot_token": f"9001:{secrets.token_urlsafe(26)[:35]}",
        "telegram/webhook_secret": secrets.token_hex(16),
    }


CHAT = LocalChat(
    SPEC,
    people={"owner": "7001", "stranger": "7002", "bot": "9001"},
    chats=(
        SeededChat("7001", "Olivia and the bot", "private", ("owner",)),
        SeededChat("-1001000000001", "Project forum", "forum"),
        SeededChat("-1002", "Friends", "group"),
        SeededChat("7002", "Sam and the bot", "private", ("stranger",)),
    ),
    homes={"owner": "7001", "other": "-1001000000001"},
    wire="local.chats.telegram.wire.api:Telegram",
    api_url="http://{host}/telegram/bot",
    title_limit=128,
    kinds={
        "private": ChatKind("private chat", "private", "@"),
        "forum": ChatKind("forum", "forum", "≡", is_forum=True),
        "group": ChatKind("group", "group", threads=False),
    },
    tint=("#17689f", "#5bb5f0"),
    markup="entities",
    relay=LocalRelay(
        "local.chats.telegram.relay:TelegramRelay",
        secrets=("telegram/bot_token", "telegram/webhook_secret"),
        shared_secrets=("telegram/webhook_secret",),
        options=(RelayOption("replace_webhook", "Telegram: remove the webhook that is set for the bot", is_flag=True),),
    ),
    options=TelegramOptions(),
    make_secrets=_secrets,
    user_id_is_home=True,
    mentions=("@everyone", "@here", "@stranger"),
)
