"""The simulator's content as JSON: the documented state, and the scene with all that the page shows."""

from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from local.chats.simulator.backend import Backend
from local.chats.simulator.faults import Fault, Faults
from local.chats.simulator.files import state_of
from local.chats.simulator.people import names
from local.chats.simulator.store import Change, Chat, Message, Store, Thread

JSON = dict[str, Any]


def instant(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def message_state(message: Message) -> JSON:
    """A message; `files`, `buttons`, the answers to presses, `attachments` and `forwarded` only where there are any."""
    result: JSON = {"id": message.id, "from": message.author, "text": message.text, "at": instant(message.at)}
    result |= {name: message.extra[name] for name in ("attachments", "forwarded") if message.extra.get(name)}
    if files := message.extra.get("files"):
        result["files"] = [state_of(file) for file in files]
    if message.buttons:
        result["buttons"] = [{"id": button["id"], "label": button["label"]} for button in message.buttons]
    if message.acknowledged:
        result["acknowledged"] = [dict(answer) for answer in message.acknowledged]
    return result


def thread_state(thread: Thread) -> JSON:
    messages = [message_state(message) for message in thread.messages]
    return {"id": thread.id, "title": thread.title, "members": sorted(thread.members), "messages": messages}


def chat_state(chat: Chat) -> JSON:
    return {
        "id": chat.id,
        "title": chat.title,
        "threads": [thread_state(t) for t in chat.threads.values()],
        "messages": [message_state(m) for m in chat.messages],
    }


def state(store: Store, platforms: Iterable[str]) -> JSON:
    """`{platforms: {name: {chats: [{id, title, threads: [{id, title, messages}], messages}]}}}`."""
    return {"platforms": {name: {"chats": [chat_state(c) for c in store.chats(name)]} for name in platforms}}


def scene(store: Store, backends: Iterable[Backend], faults: Faults) -> JSON:
    """The state with what only the page needs: names, kinds of chats, people, typing, armed faults."""

    def thread_scene(chat: Chat, thread: Thread) -> JSON:
        shown = [message_scene(message) for message in thread.messages]
        return thread_state(thread) | {"messages": shown, "people": chat.who_sees(thread)}

    def chat_scene(chat: Chat) -> JSON:
        result = chat_state(chat) | {"kind": chat.kind, "home": chat.home, "people": list(chat.people)}
        result["threads"] = [thread_scene(chat, t) for t in chat.threads.values()]
        result["messages"] = [message_scene(m) for m in chat.messages]
        result["typing"] = {thread or "": instant(until) for thread, until in store.typing_in(chat).items()}
        return result

    def platform_scene(backend: Backend) -> JSON:
        platform = backend.platform
        return {
            "title": platform.spec.title,
            "markup": platform.markup,
            "reply_threads": platform.reply_threads,
            "kinds": {name: asdict(kind) for name, kind in platform.kinds.items()},
            "mentions": {person.id: person.name for person in backend.people},
            "chats": [chat_scene(chat) for chat in backend.chats()],
        }

    return {
        "platforms": {backend.name: platform_scene(backend) for backend in backends},
        "people": names(),
        "faults": [fault_scene(fault) for fault in faults.armed],
    }


def message_scene(message: Message) -> JSON:
    """A message with its format, its buttons' styles, and whether it was edited or is visible to one person only."""
    return message_state(message) | {
        "buttons": list(message.buttons),
        "edited": message.edited_at is not None,
        "entities": message.extra.get("entities") or [],
        "private": bool(message.extra.get("private")),
        "files": [{**state_of(file), "id": file["id"]} for file in message.extra.get("files") or ()],
    }


def fault_scene(fault: Fault) -> JSON:
    return {
        "platform": fault.platform,
        "kind": fault.kind,
        "count": fault.count,
        "seconds": fault.seconds,
        "on": fault.on,
    }


def change_scene(change: Change) -> JSON:
    """One change, as the page applies it to its scene."""
    result: JSON = {
        "kind": change.kind,
        "platform": change.chat.platform,
        "chat": change.chat.id,
        "thread": change.thread_id,
    }
    if change.title is not None:
        result["title"] = change.title
    if change.people is not None:
        result["people"] = list(change.people)
    if change.message is not None:
        result["message"] = message_scene(change.message)
    if change.until is not None:
        result["until"] = instant(change.until)
    if change.kind == "chat":
        result |= {"type": change.chat.kind, "people": list(change.chat.people), "home": change.chat.home}
    return result
