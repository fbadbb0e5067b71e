"""Slack's methods for files: an upload in three steps, what is known of a file, and its bytes."""

from typing import Any

from aiohttp import web

from local.chats.simulator.backend import Backend
from local.chats.simulator.files import PAGE, SentFile, form_of
from local.chats.simulator.people import BOT
from local.chats.slack.wire import payloads
from local.chats.slack.wire.arguments import Arguments, SlackError
from local.chats.slack.wire.conversations import Conversations
from local.chats.slack.wire.posting import Posting

JSON = dict[str, Any]
MAX_COMMENT = 4_000


class Files:
    """An upload is announced, filled, and then shared in a channel, where it becomes a message."""

    def __init__(self, backend: Backend, conversations: Conversations, posting: Posting) -> None:
        self._backend, self._conversations, self._posting = backend, conversations, posting
        self._announced: dict[str, JSON] = {}
        self._shares: dict[str, JSON] = {}

    def announce(self, arguments: Arguments) -> JSON:
        name, length = arguments.text("filename"), arguments.integer("length", 0)
        if not name or length <= 0:
            raise SlackError("invalid_arguments")
        kept = self._backend.store.files.keep(name, "application/octet-stream", b"")
        self._announced[kept["id"]] = {"length": length, "name": name}
        url = f"{self._backend.base_url()}/slack/upload/{kept['id']}"
        return {"upload_url": url, "file_id": payloads.file_id(kept)}

    async def upload(self, request: web.Request) -> web.Response:
        announced = self._announced.get(request.match_info["file"])
        file = (await form_of(request)).get("file")
        if announced is None or not isinstance(file, SentFile) or file.size != announced["length"]:
            return web.Response(status=400, text="no such upload, or one of another length")
        # Slack looks into a file to tell its type.
        announced["kept"] = self._backend.store.files.keep(announced["name"], file.type, file.data)
        return web.Response(text=f"OK - {file.size}")

    def complete(self, arguments: Arguments) -> JSON:
        chat = self._conversations.joined(self._conversations.channel(arguments.text("channel_id")))
        thread_ts, comment = arguments.text("thread_ts"), arguments.text("initial_comment")
        if len(comment) > MAX_COMMENT:
            raise SlackError("msg_too_long")
        named = arguments.parsed("files", "invalid_arguments")
        ids = [str(file["id"]) for file in named]
        announced = [self._announced.get(one.lstrip("F").lstrip("0")) for one in ids]
        if not announced or not all(one and "kept" in one for one in announced):
            raise SlackError("file_not_found")
        # As for messages, a reply to one that is deleted becomes a message of the channel.
        _, parent = self._conversations.parent(chat, thread_ts) if thread_ts else (None, None)
        thread = self._backend.store.thread_of(chat, thread_ts) if parent else None
        kept = [{**one["kept"], "stored": one["name"]} for one in announced if one]
        shown = [{**file, "name": title.get("title") or file["name"]} for file, title in zip(kept, named, strict=True)]
        text = payloads.unescaped(comment)
        message = self._posting.say(chat, thread, BOT, text, summary=text, blocks=None, files=shown)
        entry = {"ts": message.id, **({"thread_ts": thread.id} if thread else {})}
        kind = "private" if chat.kind == "im" else "public"
        self._shares |= {one: {kind: {chat.id: [entry]}} for one in ids}
        return {"files": [{"id": file["id"], "title": file.get("title", "")} for file in named]}

    def info(self, arguments: Arguments) -> JSON:
        asked = arguments.text("file")
        number = asked.lstrip("F").lstrip("0")
        if "files:read" not in self._backend.options.scopes:
            raise SlackError("missing_scope")
        if self._backend.store.files.content(number) is None:
            raise SlackError("file_not_found")
        address = payloads.file_address(number, self._backend)
        return {"file": {"id": asked, **address, "shares": self._shares.get(asked, {})}}

    async def download(self, request: web.Request) -> web.StreamResponse:
        """Without a token that may read files, Slack answers with a page to log in."""
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if token != self._backend.secret("bot_token") or "files:read" not in self._backend.options.scopes:
            return web.Response(body=PAGE, content_type="text/html")
        return await self._backend.download(request, request.match_info["file"])
