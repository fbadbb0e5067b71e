"""What the simulator holds, as JSON: the documented state, and the fuller scene that its page shows."""

from datetime import UTC, datetime
from typing import Any

from local.chats.simulator.faults import Fault, Faults
from local.chats.simulator.store import Change, Chat, Message, Store, Thread
from local.chats.simulator.world import PLATFORMS, World

JSON = dict[str, Any]


def instant(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def message_state(message: Message) -> JSON:
    return {"id": message.id, "from": message.author, "text": message.text, "at": instant(message.at)}


def thread_state(thread: Thread) -> JSON:
    return {"id": thread.id, "title": thread.title, "messages": [message_state(m) for m in thread.messages]}


def chat_state(chat: Chat) -> JSON:
    return {
        "id": chat.id,
        "title": chat.title,
        "threads": [thread_state(t) for t in chat.threads.values()],
        "messages": [message_state(m) for m in chat.messages],
    }


def state(store: Store) -> JSON:
    """`{platforms: {name: {chats: [{id, title, threads: [{id, title, messages}], messages}]}}}`, and no more."""
    return {"platforms": {name: {"chats": [chat_state(c) for c in store.chats(name)]} for name in PLATFORMS}}


def scene(store: Store, world: World, faults: Faults) -> JSON:
    """The state with what a page needs besides: kinds, people, who types until when, armed faults."""

    def thread_scene(chat: Chat, thread: Thread) -> JSON:
        shown = [message_scene(message) for message in thread.messages]
        return thread_state(thread) | {"messages": shown, "people": chat.who_sees(thread)}

    def chat_scene(chat: Chat) -> JSON:
        result = chat_state(chat) | {"kind": chat.kind, "home": chat.home, "people": list(chat.people)}
        result["threads"] = [thread_scene(chat, t) for t in chat.threads.values()]
        result["messages"] = [message_scene(m) for m in chat.messages]
        result["typing"] = {thread or "": instant(until) for thread, until in store.typing_in(chat).items()}
        return result

    return {
        "platforms": {name: {"chats": [chat_scene(c) for c in store.chats(name)]} for name in PLATFORMS},
        "people": {person.key: person.name for person in world.people},
        "mentions": {name: {person.ids[name]: person.name for person in world.people} for name in PLATFORMS},
        "faults": [fault_scene(fault) for fault in faults.armed],
    }


def message_scene(message: Message) -> JSON:
    """A message with its looks: edited, formatted (Telegram's entities), or for one person only (Discord)."""
    return message_state(message) | {
        "edited": message.edited_at is not None,
        "entities": message.extra.get("entities") or [],
        "private": bool(message.extra.get("flags", 0) & 64),
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
    """One change, small enough to send for every message."""
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
