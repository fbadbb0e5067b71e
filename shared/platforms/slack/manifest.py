"""The manifest of a Slack app with exactly the needed rights, and the link that opens Slack with it."""

import json
from typing import Any
from urllib.parse import quote

NEW_APP = "https://api.slack.com/apps?new_app=1&manifest_json="
SCOPES = {
    "chat:write": "post, edit, show that the agent is at work",
    "channels:history": "read public channels that the app is in, find a post again",
    "groups:history": "the same in private channels",
    "im:history": "the same in direct messages",
    "mpim:history": "the same in group messages",
    "channels:read": "see what kind of chat an id is, and whose, before posting there",
    "groups:read": "the same in private channels",
    "im:read": "the same in direct messages",
    "mpim:read": "the same in group messages",
    "im:write": "open the direct message with you, when that is your home",
    "app_mentions:read": "be mentioned",
    "files:read": "read the files that people post to the bot",
    "files:write": "post files of the agent",
    "commands": "the slash commands",
}
"""Each scope, and what it is for."""
EVENTS = ("message.channels", "message.groups", "message.im", "message.mpim", "app_mention")
_COMMANDS = {
    "/resume": ("Bring a session here", "[title or id]"),
    "/sethome": ("Let handoffs arrive in this channel", ""),
}


def manifest(webhook_url: str = "") -> dict[str, Any]:
    """For Slack to post to this URL, or without one, for Socket Mode."""
    url = {"url": webhook_url} if webhook_url else {}
    request_url = {"request_url": webhook_url} if webhook_url else {}
    return {
        "display_information": {"name": "Handoff"},
        "features": {
            "app_home": {"messages_tab_enabled": True, "messages_tab_read_only_enabled": False},
            "bot_user": {"display_name": "handoff", "always_online": True},
            "slash_commands": [
                {
                    "command": command,
                    "description": description,
                    **({"usage_hint": hint} if hint else {}),
                    "should_escape": False,
                    **url,
                }
                for command, (description, hint) in _COMMANDS.items()
            ],
        },
        "oauth_config": {"scopes": {"bot": list(SCOPES)}},
        "settings": {
            "event_subscriptions": {"bot_events": list(EVENTS), **request_url},
            "interactivity": {"is_enabled": True, **request_url},
            "socket_mode_enabled": not webhook_url,
        },
    }


def new_app_url(webhook_url: str = "") -> str:
    """Opens Slack's page for a new app, with the manifest filled in."""
    return NEW_APP + quote(json.dumps(manifest(webhook_url), separators=(",", ":")), safe="")
