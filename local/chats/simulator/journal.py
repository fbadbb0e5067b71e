"""A journal of the simulated chats in a file, from which the next simulator continues. Each change is one line."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from local.chats.simulator.store import Change, Chat, Message, NotFound, Store, Thread

Line = dict[str, Any]


class Journal:
    """Writes what changes in a store. A line is written when its change is made, so SIGKILL loses none."""

    def __init__(self, path: Path, store: Store) -> None:
        """Brings the store to where the journal ends, then begins a new one, without what is over."""
        for line in _lines(path):
            _apply(store, line)
        fresh = path.with_name(f"{path.name}.new")
        self._file = _open_private(fresh)
        for chat in store.all_chats():
            self._write_chat(chat)
        self._file.flush()
        fresh.replace(path)
        self._forget = store.listen(self._changed)

    def close(self) -> None:
        self._forget()
        self._file.close()

    def _changed(self, change: Change) -> None:
        if change.kind != "typing":
            self._write(_line_of(change))
            self._file.flush()

    def _write_chat(self, chat: Chat) -> None:
        self._write(_line_of(Change("chat", chat)))
        for message in chat.messages:
            self._write(_line_of(Change("message", chat, None, message)))
        for thread in chat.threads.values():
            self._write(_line_of(Change("thread", chat, thread.id)))
            for message in thread.messages:
                self._write(_line_of(Change("message", chat, thread.id, message)))

    def _write(self, line: Line) -> None:
        self._file.write(json.dumps(line, separators=(",", ":")) + "\n")


def _open_private(path: Path) -> TextIO:
    return os.fdopen(os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC, 0o600), "w", encoding="utf-8")


def _lines(path: Path) -> list[Line]:
    """All whole lines: the last one may have been cut off."""
    try:
        text = path.read_text("utf-8")
    except (OSError, ValueError):
        return []
    found = []
    for line in text.splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def _line_of(change: Change) -> Line:
    chat, thread = change.chat, change.chat.threads.get(change.thread_id or "")
    line: Line = {"kind": change.kind, "platform": chat.platform, "chat": chat.id, "thread": change.thread_id}
    if change.kind == "chat":
        line["is"] = {"title": chat.title, "kind": chat.kind, "people": list(chat.people), "home": chat.home}
    elif change.kind == "thread" and thread is not None:
        line["is"] = {**asdict(thread), "messages": [], "members": sorted(thread.members)}
    elif change.message is not None:
        line["is"] = asdict(change.message)
    return line


def _apply(store: Store, line: Line) -> None:
    """Make a change again. One that fits nothing, because a chat is not simulated any more, is ignored."""
    kind, found = line["kind"], line.get("is")
    if kind == "chat" and found is not None:
        store.restore(Chat(line["platform"], line["chat"], **{**found, "people": tuple(found["people"])}))
        return
    try:
        chat = store.chat(line["platform"], line["chat"])
        if kind == "thread" and found is not None:
            _apply_thread(chat, Thread(**{**found, "members": set(found["members"])}))
            return
        thread = store.thread(chat, line["thread"]) if line["thread"] is not None else None
    except (NotFound, TypeError):
        return
    if kind == "gone":
        _remove(chat, thread, found)
    elif found is not None:
        _apply_message(thread or chat, Message(**found))


def _apply_thread(chat: Chat, thread: Thread) -> None:
    known = chat.threads.get(thread.id)
    thread.messages = known.messages if known else []
    chat.threads[thread.id] = thread


def _apply_message(place: Chat | Thread, message: Message) -> None:
    at = next((number for number, known in enumerate(place.messages) if known.id == message.id), len(place.messages))
    place.messages[at : at + 1] = [message]


def _remove(chat: Chat, thread: Thread | None, message: Line | None) -> None:
    """A chat that was removed is there again: the next simulator starts with all its chats."""
    if message is not None:
        place = thread or chat
        place.messages[:] = [known for known in place.messages if known.id != message["id"]]
    elif thread is not None:
        chat.threads.pop(thread.id, None)
