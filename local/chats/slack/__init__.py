"""Slack in local runs."""

import secrets
from dataclasses import dataclass

from local.chats.spec import ChatKind, LocalChat, LocalRelay, SeededChat
from shared.platforms.slack import SPEC

# The scopes of an app that was made from the manifest in docs/platforms/slack.md.
SCOPES = (
    *("chat:write", "channels:history", "groups:history", "im:history", "mpim:history"),
    *("channels:read", "groups:read", "im:read", "mpim:read"),
    *("im:write", "app_mentions:read", "files:read", "files:write", "commands"),
)


@dataclass(frozen=True)
class SlackOptions:
    """The workspace and the app."""

    team: str = "T0HANDOFF"
    app: str = "A0HANDOFF"
    bot: str = "B0HANDOFF"
    scopes: tuple[str, ...] = SCOPES


def _secrets() -> dict[str, str]:
    return {
        "slack/bot_token": f"xoxb-{secrets.token_hex(16)}",
        "slack/app_token": f"xapp-1-A0HANDOFF-{secrets.token_hex(16)}",
        "slack/signing_secret": secrets.token_hex(16),
    }


CHAT = LocalChat(
    SPEC,
    people={"owner": "U7001", "stranger": "U7002", "bot": "U9001"},
    chats=(
        SeededChat("C0HOME", "agents", "channel"),
        SeededChat("D0OWNER", "Olivia and the bot", "im", ("owner",)),
        SeededChat("C0GENERAL", "general", "channel"),
        SeededChat("D0STRANGER", "Sam and the bot", "im", ("stranger",)),
    ),
    homes={"owner": "C0HOME", "other": "C0GENERAL"},
    wire="local.chats.slack.wire.api:Slack",
    api_url="http://{host}/slack/api/",
    title_limit=150,
    kinds={
        "channel": ChatKind("channel", "channel", names_people=True),
        "im": ChatKind("direct messages", "direct", "@"),
    },
    tint=("#7a2d7b", "#d79ad8"),
    reply_threads=True,
    relay=LocalRelay(
        "local.chats.slack.relay:SlackRelay",
        secrets=("slack/app_token", "slack/signing_secret"),
        shared_secrets=("slack/signing_secret",),
    ),
    options=SlackOptions(),
    make_secrets=_secrets,
    mentions=("@everyone", "@here", "<!here>", "<!channel>", "<@U7002>"),
)
