"""The Discord server and the application as JSON."""

from typing import Any

from local.chats.discord.wire.payloads import ALL_PERMISSIONS, user
from local.chats.simulator.backend import Backend
from local.chats.simulator.people import BOT

JSON = dict[str, Any]


def guild(backend: Backend) -> JSON:
    guild_id = backend.options.guild
    everyone: JSON = {
        "id": guild_id,
        "name": "@everyone",
        "description": None,
        "permissions": ALL_PERMISSIONS,
        "position": 0,
        "color": 0,
        "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
        "hoist": False,
        "managed": False,
        "mentionable": False,
        "icon": None,
        "unicode_emoji": None,
        "flags": 0,
    }
    return {
        "id": guild_id,
        "name": "Handoff",
        "icon": None,
        "owner_id": backend.person("owner").id,
        "features": [],
        "verification_level": 0,
        "default_message_notifications": 0,
        "explicit_content_filter": 0,
        "mfa_level": 0,
        "nsfw_level": 0,
        "preferred_locale": "en-US",
        "premium_tier": 0,
        "system_channel_id": None,
        "roles": [everyone],
        "emojis": [],
        "stickers": [],
    }


def application(backend: Backend) -> JSON:
    return {
        "id": backend.options.application,
        "name": "Handoff",
        "icon": None,
        "description": "",
        "type": None,
        "bot": user(backend.person(BOT)),
        "bot_public": False,
        "bot_require_code_grant": False,
        "verify_key": backend.secret("public_key"),
        "flags": 1 << 19,
        "flags_new": str(1 << 19),
        "redirect_uris": [],
        "interactions_endpoint_url": backend.webhook(),
        "role_connections_verification_url": None,
        "owner": user(backend.person("owner")),
        "approximate_guild_count": 1,
        "approximate_user_install_count": 0,
        "approximate_user_authorization_count": 0,
        "explicit_content_filter": 0,
        "team": None,
        "eligible_oauth2_scopes": [],
    }
