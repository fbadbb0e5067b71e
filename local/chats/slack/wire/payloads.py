"""Slack's objects as JSON: messages, channels, users."""

import html
from typing import Any

from local.chats.simulator.backend import Backend
from local.chats.simulator.people import BOT
from local.chats.simulator.store import Chat, Message, Thread

JSON = dict[str, Any]
ATTACHED = ("picture", "file", "voice", "audio", "video")


def escaped(text: str, backend: Backend) -> str:
    """A person's text as Slack sends it: three characters escaped, the bot's @name as a mention."""
    bot = backend.person(BOT)
    return html.escape(text, quote=False).replace(f"@{bot.handle}", f"<@{bot.id}>")


def unescaped(text: str) -> str:
    """A bot's text as people see it."""
    return html.unescape(text)


def message(item: Message, backend: Backend, *, thread: Thread | None = None, metadata: bool = False) -> JSON:
    """A message; `thread` is the thread that it belongs to or started."""
    options, person = backend.options, backend.person(item.author)
    result: JSON = {"type": "message", "user": person.id, "ts": item.id, "team": options.team}
    if item.author == BOT:
        result |= {
            "bot_id": options.bot,
            "app_id": options.app,
            "text": item.extra.get("summary", item.text),
            "bot_profile": {
                "id": options.bot,
                "app_id": options.app,
                "name": person.name,
                "team_id": options.team,
                "deleted": False,
            },
        }
    else:
        result |= {"client_msg_id": item.extra["client_msg_id"], "text": escaped(item.text, backend)}
    result["blocks"] = item.extra.get("blocks") or [_rich_text(result["text"])]
    files = [_file(file, person.id, backend) for file in item.extra.get("files") or ()]
    if item.extra.get("forwarded"):
        result |= {"text": "", "attachments": [_shared(result["text"], files, backend)]}
    elif files:
        result |= {"subtype": "file_share", "files": files, "upload": False}
    if item.edited_at is not None:
        result["edited"] = {"user": person.id, "ts": f"{item.edited_at:.6f}"}
    if metadata and item.extra.get("metadata"):
        result["metadata"] = item.extra["metadata"]
    if thread is not None:
        result |= _in_thread(item, thread, backend)
    return result


def file_id(file: JSON) -> str:
    return f"F{file['id']:0>14}"


def file_address(number: str, backend: Backend) -> JSON:
    url = f"{backend.base_url()}/slack/files/{number}"
    return {"url_private": url, "url_private_download": f"{url}/download"}


def _file(file: JSON, owner: str, backend: Backend) -> JSON:
    named = {"id": file_id(file), "name": file.get("stored") or file["name"], "title": file["name"], "mode": "hosted"}
    recorded = {"subtype": "slack_audio"} if file["kind"] == "voice" else {}
    told = {"size": file["size"], "user": owner, "mimetype": file["type"], "filetype": file["type"].partition("/")[2]}
    return {**named, **told, **recorded, **file_address(file["id"], backend)}


def _shared(text: str, files: list[JSON], backend: Backend) -> JSON:
    """A message of another channel, as it is shown below the comment of the person who forwards it."""
    author = backend.person("stranger")
    return {
        "id": 1,
        "ts": "1780000000.000100",
        "channel_id": "C0GENERAL",
        "author_id": author.id,
        "author_name": author.name,
        "from_url": "https://handoff.slack.com/archives/C0GENERAL/p1780000000000100",
        "is_msg_unfurl": True,
        "is_share": True,
        "text": text,
        "fallback": f"[May 28th, 2026] {author.handle}: {text}" if text else "[no preview available]",
        **({"files": files} if files else {}),
    }


def _in_thread(item: Message, thread: Thread, backend: Backend) -> JSON:
    if item.id != thread.id:
        return {"thread_ts": thread.id, "parent_user_id": backend.person(thread.opener).id}
    users = list(dict.fromkeys(backend.person(reply.author).id for reply in thread.messages))
    return {
        "thread_ts": thread.id,
        "reply_count": len(thread.messages),
        "reply_users_count": len(users),
        "reply_users": users,
        "latest_reply": thread.messages[-1].id if thread.messages else thread.id,
        "is_locked": False,
        "subscribed": True,
    }


def _rich_text(text: str) -> JSON:
    section = {"type": "rich_text_section", "elements": [{"type": "text", "text": text}]}
    return {"type": "rich_text", "block_id": "b1", "elements": [section]}


def channel(chat: Chat, backend: Backend) -> JSON:
    direct = chat.kind == "im"
    result: JSON = {
        "id": chat.id,
        "created": 1_700_000_000,
        "is_im": direct,
        "is_channel": not direct,
        "is_group": False,
        "is_mpim": False,
        "is_private": direct,
        "is_archived": False,
        "is_org_shared": False,
        "context_team_id": backend.options.team,
    }
    if direct:
        return result | {"user": backend.person(chat.people[0]).id, "is_open": True}
    return result | {
        "name": chat.title,
        "name_normalized": chat.title,
        "is_general": chat.title == "general",
        "is_member": True,
        "creator": backend.person(chat.people[0]).id,
        "topic": {"value": "", "creator": "", "last_set": 0},
        "purpose": {"value": "", "creator": "", "last_set": 0},
        "num_members": len(chat.people) + 1,
    }
