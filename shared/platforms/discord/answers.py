"""Shapes of Discord's answers, by method and path."""

import re
from collections.abc import Mapping

from shared.platforms.answers import Shape

_ID = re.compile(r"[0-9]{1,20}")
_BITS = re.compile(r"[0-9]{1,40}")
_WITH_ID = {"id": _ID}

ME: Shape = _WITH_ID
REFUSAL: Shape = {"code": int, "message": str}

_ANY_CHANNEL = {"id": _ID, "type": int, "name?": str | None}
_SERVER_CHANNEL = {
    **_ANY_CHANNEL,
    "guild_id": _ID,
    "parent_id?": str | None,
    "flags?": int,
    "available_tags?": [{"id": _ID, "moderated?": bool}],
    "permission_overwrites?": [{"id": _ID, "allow": _BITS, "deny": _BITS}],
}
_DIRECT_CHANNEL = {**_ANY_CHANNEL, "recipients": [_WITH_ID]}
_FILES = {"attachments?": [{"id": _ID, "url": str}]}
_MESSAGE = {
    **_FILES,
    "message_snapshots?": [{"message": _FILES}],
    "id": _ID,
    "author": _WITH_ID,
    "content": str,
    "nonce?": str | int | None,
    "thread?": dict | None,
}

SHAPES: Mapping[str, Shape] = {
    "GET /applications/@me": {
        "id": _ID,
        "bot": {"id": _ID, "username": str},
        "interactions_endpoint_url?": str | None,
        "verify_key?": str,
        "flags?": int | None,
    },
    "PATCH /applications/@me": None,
    "PUT /applications/{application_id}/commands": [{"name": str}],
    "GET /channels/{channel_id}": (_DIRECT_CHANNEL, _SERVER_CHANNEL),
    "GET /channels/{channel_id}/messages": [_MESSAGE],
    "POST /channels/{channel_id}/messages": _WITH_ID,
    "GET /channels/{channel_id}/messages/{message_id}": _MESSAGE,
    "PATCH /channels/{channel_id}": None,
    "PATCH /channels/{channel_id}/messages/{message_id}": None,
    "POST /channels/{channel_id}/messages/{message_id}/threads": None,
    "PUT /channels/{channel_id}/thread-members/{user_id}": None,
    "POST /channels/{channel_id}/threads": _WITH_ID,
    "POST /channels/{channel_id}/typing": None,
    "POST /interactions/{interaction_id}/{interaction_token}/callback": None,
    "POST /webhooks/{application_id}/{interaction_token}": None,
    "GET /guilds/{guild_id}": {"id": _ID, "owner_id": _ID, "roles": [{"id": _ID, "permissions": _BITS}]},
    "GET /guilds/{guild_id}/members/{user_id}": {"user": _WITH_ID, "roles": [_ID]},
    "GET /guilds/{guild_id}/threads/active": {"threads": [{"id": _ID, "parent_id": _ID, "owner_id": _ID}]},
}
