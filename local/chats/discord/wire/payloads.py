"""Discord's objects as JSON: users, members, messages, channels, threads, the server and the application."""

import re
from datetime import UTC, datetime
from typing import Any

from local.chats.simulator.backend import Backend
from local.chats.simulator.people import BOT, Person
from local.chats.simulator.store import Chat, Message, Thread

JSON = dict[str, Any]
TEXT, DM, PUBLIC_THREAD, PRIVATE_THREAD, FORUM = 0, 1, 11, 12, 15
TYPES = {"text": TEXT, "dm": DM, "forum": FORUM}
HAS_THREAD, EPHEMERAL, IS_VOICE_MESSAGE, HAS_SNAPSHOT = 1 << 5, 1 << 6, 1 << 13, 1 << 14
ATTACHED = ("picture", "file", "voice", "audio", "video", "sticker", "poll")
SIGNATURE = "6c"
"""Stands for the one in the address of a file."""
ALL_PERMISSIONS = str((1 << 50) - 1)


def instant(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds")


def user(person: Person) -> JSON:
    result: JSON = {
        "id": person.id,
        "username": person.handle,
        "avatar": None,
        "discriminator": "0",
        "public_flags": 0,
        "flags": 0,
        "global_name": person.name,
        "primary_guild": None,
        "clan": None,
    }
    return result | ({"bot": True} if person.key == BOT else {})


def me(backend: Backend) -> JSON:
    return user(backend.person(BOT)) | {"mfa_enabled": True, "locale": "en-US", "verified": True, "email": None}


def member(person: Person) -> JSON:
    return {
        "user": user(person),
        "nick": None,
        "avatar": None,
        "banner": None,
        "roles": [],
        "joined_at": instant(1_700_000_000),
        "premium_since": None,
        "communication_disabled_until": None,
        "deaf": False,
        "mute": False,
        "flags": 0,
        "pending": False,
    }


def message(item: Message, chat: Chat, thread: Thread | None, backend: Backend) -> JSON:
    result: JSON = {
        "type": item.extra.get("type", 0),
        "content": item.text,
        "mentions": [user(p) for p in backend.people if f"<@{p.id}>" in item.text],
        "mention_roles": [],
        "attachments": [],
        "embeds": [],
        "timestamp": instant(item.at),
        "edited_timestamp": None if item.edited_at is None else instant(item.edited_at),
        "flags": item.extra.get("flags", 0),
        "components": item.extra.get("components", []),
        "id": item.id,
        "channel_id": thread.id if thread else chat.id,
        "author": user(backend.person(item.author)),
        "pinned": False,
        "mention_everyone": item.extra.get("mention_everyone", False),
        "tts": False,
    }
    if any(item.extra.get(name) for name in ("attachments", "forwarded", "files")):
        result |= _with_beside(item, result, backend)
    if item.extra.get("nonce") is not None:
        result["nonce"] = item.extra["nonce"]
    if thread is None and item.id in chat.threads:
        result["flags"] |= HAS_THREAD
        result["thread"] = thread_channel(chat, chat.threads[item.id], backend)
    return result


def _with_beside(item: Message, plain: JSON, backend: Backend) -> JSON:
    """What a message with attachments has of its own. One that is forwarded is empty, and has them in a snapshot."""
    kinds, files = item.extra.get("attachments") or [], item.extra.get("files") or []
    content: JSON = {"attachments": [_file(file, plain["channel_id"], backend) for file in files]}
    is_voice = any(file["kind"] == "voice" for file in files)
    content["flags"] = plain["flags"] | (IS_VOICE_MESSAGE if is_voice else 0)
    if "sticker" in kinds:
        content["sticker_items"] = [{"id": "749054660769218631", "name": "Wave", "format_type": 3}]
    if "poll" in kinds:
        answers = [{"answer_id": 1, "poll_media": {"text": "now"}}]
        content["poll"] = {
            "question": {"text": "When?"},
            "answers": answers,
            "expiry": instant(2_000_000_000),
            "allow_multiselect": False,
            "layout_type": 1,
            "results": {"is_finalized": False, "answer_counts": []},
        }
    if not item.extra.get("forwarded"):
        return content
    copied = ("type", "content", "mentions", "mention_roles", "embeds", "timestamp", "edited_timestamp", "components")
    snapshot = {"message": {**{name: plain[name] for name in copied}, **content}}
    origin = {"type": 1, "channel_id": "6005000000000000005", "message_id": "1334384000000000008"}
    return {
        "content": "",
        "flags": HAS_SNAPSHOT,
        "message_reference": {**origin, "guild_id": "8001000000000000001"},
        "message_snapshots": [snapshot],
    }


def _file(file: JSON, channel: str, backend: Backend) -> JSON:
    """Discord makes names of its own from odd ones; the real name is the title."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", file["name"])[:100] or "file"
    url = f"{backend.base_url()}/discord/cdn/attachments/{channel}/{file['id']}/{name}?ex=6a&is=6b&hm={SIGNATURE}"
    kind = file["kind"]
    more = {"duration_secs": 3.0, "waveform": "AAA="} if kind == "voice" else {}
    more |= {"width": 640, "height": 480} if kind in ("picture", "video") else {}
    named = {"id": file["id"], "filename": name, "size": file["size"], "url": url, "proxy_url": url}
    return {**named, "content_type": file["type"], **more}


def channel(chat: Chat, backend: Backend) -> JSON:
    last = chat.messages[-1].id if chat.messages else None
    if chat.kind == "dm":
        recipients = [user(backend.person(key)) for key in chat.people]
        return {"id": chat.id, "type": DM, "flags": 0, "last_message_id": last, "recipients": recipients}
    result: JSON = {
        "id": chat.id,
        "type": TYPES[chat.kind],
        "flags": 0,
        "last_message_id": last,
        "guild_id": backend.options.guild,
        "name": chat.title,
        "parent_id": None,
        "rate_limit_per_user": 0,
        "topic": None,
        "position": 0,
        "permission_overwrites": [],
        "nsfw": False,
    }
    if chat.kind == "forum":
        result |= {"available_tags": [], "default_reaction_emoji": None, "default_sort_order": None}
        result |= {"default_forum_layout": 0, "default_thread_rate_limit_per_user": 0}
    return result


def thread_channel(chat: Chat, thread: Thread, backend: Backend) -> JSON:
    count = len(thread.messages)
    return {
        "id": thread.id,
        "type": PRIVATE_THREAD if thread.private else PUBLIC_THREAD,
        "flags": 0,
        "last_message_id": thread.messages[-1].id if thread.messages else None,
        "guild_id": backend.options.guild,
        "name": thread.title,
        "parent_id": chat.id,
        "rate_limit_per_user": 0,
        "owner_id": backend.person(thread.opener).id,
        "thread_metadata": {
            "archived": thread.extra["archived"],
            "archive_timestamp": instant(thread.at),
            "auto_archive_duration": thread.extra["auto_archive_duration"],
            "locked": False,
            "create_timestamp": instant(thread.at),
        },
        "message_count": count,
        "member_count": len(thread.members),
        "total_message_sent": count,
        **({"applied_tags": []} if chat.kind == "forum" else {}),
    }


def thread_member(thread: Thread, person: Person) -> JSON:
    return {"id": thread.id, "user_id": person.id, "join_timestamp": instant(thread.at), "flags": 0}


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
